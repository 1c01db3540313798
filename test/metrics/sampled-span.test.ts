import { createContextKey, ROOT_CONTEXT, trace, type Context, type Span } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { sampledSpan } from '../../src/metrics/sampled-span.ts';

const SAMPLED = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 };

const inSpan = (spanContext: object): Context =>
  trace.setSpanContext(ROOT_CONTEXT, { ...SAMPLED, ...spanContext });

describe('sampledSpan', () => {
  it('gives the span of a Context where it is sampled, whatever other flags it has', () => {
    expect(sampledSpan(inSpan({}))).toEqual(SAMPLED);
    expect(sampledSpan(inSpan({ traceFlags: 3 }))).toEqual({ ...SAMPLED, traceFlags: 3 });
  });

  it.each<[string, Context | undefined]>([
    ['no Context', undefined],
    ['the root Context', ROOT_CONTEXT],
    ['a Context without a span', ROOT_CONTEXT.setValue(createContextKey('other'), 1)],
    ['a span that is not sampled', inSpan({ traceFlags: 0 })],
    ['a span of which only another flag is set', inSpan({ traceFlags: 2 })],
    ['a trace id of zeros', inSpan({ traceId: '0'.repeat(32) })],
    ['a span id that is no id', inSpan({ spanId: 'b7ad6b716920333"' })],
  ])('gives nothing for %s', (_what, context) => {
    expect(sampledSpan(context)).toBeUndefined();
  });

  it('gives nothing for a span that throws', () => {
    const span = {
      spanContext: () => {
        throw new Error('no longer');
      },
    } as unknown as Span;
    expect(sampledSpan(trace.setSpan(ROOT_CONTEXT, span))).toBeUndefined();
  });
});
