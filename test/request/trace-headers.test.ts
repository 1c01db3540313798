import { context, propagation, ROOT_CONTEXT, trace, TraceFlags } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { withTraceHeaders, type TraceHeaders } from '../../src/request/trace-headers.ts';
import { startService } from '../support/service.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;

/** Two headers of one name are one with both values, to the Fetch API. */
function twoParents(): Headers {
  const headers = new Headers({ traceparent: TRACEPARENT });
  headers.append('traceparent', TRACEPARENT);
  return headers;
}

describe('W3C headers that travel with a request', () => {
  it.each<[string, TraceHeaders]>([
    ['a traceparent', { traceparent: TRACEPARENT }],
    ['one in another case', { TraceParent: TRACEPARENT }],
    ['one in capitals', { TRACEPARENT }],
    ['one in a list', { traceparent: [TRACEPARENT] }],
    ['one in a list beside what is no text', { traceparent: [7, TRACEPARENT, null] as unknown as string[] }],
    ['one with space around it', { traceparent: ` ${TRACEPARENT}\t` }],
    ['a future version', { traceparent: `cc-${TRACE}-${SPAN}-01` }],
    ['a future version with more behind the flags', { traceparent: `cc-${TRACE}-${SPAN}-01-what-comes` }],
    ['other headers beside it', { host: 'gateway', traceparent: TRACEPARENT, traceback: 'no' }],
    ['one in the Headers of the Fetch API', new Headers({ TraceParent: TRACEPARENT })],
    [
      'one in the headers of a Request',
      new Request('http://test/', { headers: { traceparent: TRACEPARENT } }).headers,
    ],
    ['one beside a header named get', { get: 'nothing', traceparent: TRACEPARENT }],
    ['one in a list that get gives', { get: () => [TRACEPARENT] as unknown as string }],
    ['one in a map', new Map([['traceparent', TRACEPARENT]]) as Pick<Headers, 'get'>],
  ])('name the parent: %s', (_, traceHeaders) => {
    const { engine, traced } = startService();
    engine.startRequest({ traceHeaders }).end();
    expect(traced.span.spanContext().traceId).toBe(TRACE);
    expect(traced.span.parentSpanContext).toMatchObject({
      traceId: TRACE,
      spanId: SPAN,
      traceFlags: TraceFlags.SAMPLED,
      isRemote: true,
    });
  });

  it.each<[string, unknown]>([
    ['no traceparent', {}],
    ['undefined as one', { traceparent: undefined }],
    ['null as one', { traceparent: null }],
    ['a number as one', { traceparent: 7 }],
    ['an object as one', { traceparent: {} }],
    ['a list of numbers as one', { traceparent: [7] }],
    ['an empty one', { traceparent: '' }],
    ['two of them', { traceparent: [TRACEPARENT, TRACEPARENT] }],
    ['the forbidden version ff', { traceparent: `ff-${TRACE}-${SPAN}-01` }],
    ['more behind the flags of version 00', { traceparent: `${TRACEPARENT}-more` }],
    ['trailing dash in version 00', { traceparent: `${TRACEPARENT}-` }],
    ['garbage glued to the flags of a future version', { traceparent: `cc-${TRACE}-${SPAN}-01x` }],
    ['capital hex digits', { traceparent: TRACEPARENT.toUpperCase() }],
    ['a trace id of zeros', { traceparent: `00-${'0'.repeat(32)}-${SPAN}-01` }],
    ['a span id of zeros', { traceparent: `00-${TRACE}-${'0'.repeat(16)}-01` }],
    ['a trace id that is too short', { traceparent: `00-${TRACE.slice(1)}-${SPAN}-01` }],
    ['no flags', { traceparent: `00-${TRACE}-${SPAN}` }],
    ['a string for the headers', TRACEPARENT],
    ['a number for the headers', 7],
    ['a symbol for the headers', Symbol('headers')],
    ['null for the headers', null],
    ['a list for the headers', ['traceparent', TRACEPARENT]],
    ['Headers of the Fetch API without one', new Headers({ host: 'gateway' })],
    ['two in the Headers of the Fetch API', twoParents()],
    ['a get that gives a number', { get: () => 7 }],
    ['a get that gives an object', { get: () => ({}) }],
    ['a get that gives nothing', { get: () => undefined }],
  ])('are passed over, leaving the active span as the parent: %s', (_, traceHeaders) => {
    const { engine, traced } = startService();
    const parent = traced.tracer.startSpan('caller');
    context.with(trace.setSpan(ROOT_CONTEXT, parent), () => {
      engine.startRequest({ traceHeaders: traceHeaders as TraceHeaders }).end();
    });
    expect(traced.span.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
  });

  it('win over the active span', () => {
    const { engine, traced } = startService();
    context.with(trace.setSpan(ROOT_CONTEXT, traced.tracer.startSpan('caller')), () => {
      engine.startRequest({ traceHeaders: { traceparent: TRACEPARENT } }).end();
    });
    expect(traced.span.parentSpanContext?.spanId).toBe(SPAN);
  });

  it.each([
    ['vendor=1,other=2', { vendor: '1', other: '2' }],
    [['vendor=1', 'other=2'], { vendor: '1', other: '2' }],
  ])('carry the tracestate %j on', (tracestate, expected) => {
    const { engine } = startService();
    const request = engine.startRequest({
      traceHeaders: { traceparent: TRACEPARENT, TraceState: tracestate },
    });
    const state = request.span!.spanContext().traceState;
    expect(Object.fromEntries(Object.keys(expected).map((key) => [key, state?.get(key)]))).toEqual(expected);
  });

  it('carry on the tracestate of Headers of the Fetch API', () => {
    const { engine } = startService();
    const headers = new Headers({ traceparent: TRACEPARENT });
    headers.append('tracestate', 'vendor=1');
    headers.append('tracestate', 'other=2');
    const request = engine.startRequest({ traceHeaders: headers });
    expect(request.span!.spanContext().traceState?.serialize()).toBe('vendor=1,other=2');
  });

  it.each<[string, TraceHeaders]>([
    [
      'of which one fails',
      {
        get traceparent(): never {
          throw new Error('gone');
        },
      },
    ],
    [
      'whose get fails',
      {
        get: () => {
          throw new Error('gone');
        },
      },
    ],
  ])('never keep a request from starting, which is counted: headers %s', (_, traceHeaders) => {
    const { engine, traced, dropped } = startService();
    engine.startRequest({ traceHeaders }).end();
    expect(traced.span.parentSpanContext).toBeUndefined();
    expect(dropped()).toEqual({ invalidValue: 1 });
  });

  it('survive a tracestate that is none', () => {
    const { engine, traced } = startService();
    const traceHeaders = { traceparent: TRACEPARENT, tracestate: 5 } as unknown as TraceHeaders;
    engine.startRequest({ traceHeaders }).end();
    expect(traced.span.parentSpanContext?.spanId).toBe(SPAN);
  });

  it('work without a tracer provider, and reach the next service unchanged', () => {
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    onTestFinished(() => propagation.disable());
    for (const [flags, sent] of [
      ['00', '00'],
      ['01', '01'],
      ['03', '03'],
    ]) {
      const carrier: Record<string, string> = {};
      const traceparent = `00-${TRACE}-${SPAN}-${flags}`;
      propagation.inject(withTraceHeaders(ROOT_CONTEXT, { traceparent }), carrier);
      expect(carrier.traceparent).toBe(`00-${TRACE}-${SPAN}-${sent}`);
    }
  });

  it('with flags that nobody knows yet are passed on without those, as W3C asks', () => {
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    onTestFinished(() => propagation.disable());
    const carrier: Record<string, string> = {};
    propagation.inject(withTraceHeaders(ROOT_CONTEXT, { traceparent: `00-${TRACE}-${SPAN}-ff` }), carrier);
    expect(carrier.traceparent).toBe(`00-${TRACE}-${SPAN}-03`);
  });
});
