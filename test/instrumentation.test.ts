import { context, metrics, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { registerInstrumentations, type Instrumentation } from '@opentelemetry/instrumentation';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import { VllmInstrumentation } from '../src/instrumentation.ts';
import { vllmViews } from '../src/metrics/views.ts';
import type { VllmInstrumentationOptions } from '../src/options.ts';
import { getRequest, recordPreemption } from '../src/request/request-context.ts';
import { captureDiag } from './support/captured-diag.ts';
import { message, output } from './support/messages.ts';
import { all, counts, endings, PER_ENGINE_REQUEST } from './support/per-request.ts';
import { occurred, startService, useContextManager } from './support/service.ts';
import { TestReader } from './support/test-reader.ts';
import { Traced } from './support/traced.ts';

const PREEMPTIONS = 'vllm:request_num_preemptions';

function newProvider(reader: TestReader): MeterProvider {
  return new MeterProvider({ readers: [reader], views: vllmViews() });
}

function newInstrumentation(options: Partial<VllmInstrumentationOptions> = {}): VllmInstrumentation {
  return new VllmInstrumentation({ modelName: 'test-model', ...options });
}

beforeEach(() => {
  metrics.disable();
  trace.disable();
  context.disable();
});

describe('the options of VllmInstrumentation', () => {
  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'VllmInstrumentation takes an object with at least modelName; got undefined'],
    ['null', null, 'VllmInstrumentation takes an object with at least modelName; got null'],
    ['a string', 'model', 'VllmInstrumentation takes an object with at least modelName; got model'],
    [
      'no modelName',
      {},
      'modelName must be a non-empty string, the name the model is served under; got undefined',
    ],
    [
      'an empty modelName',
      { modelName: '' },
      'modelName must be a non-empty string, the name the model is served under; got ""',
    ],
    [
      'a modelName that is no string',
      { modelName: 7 },
      'modelName must be a non-empty string, the name the model is served under; got 7',
    ],
    [
      'a maxModelLen of 0',
      { modelName: 'm', maxModelLen: 0 },
      "maxModelLen must be a whole number of tokens, 1 or more (the model's context length); got 0",
    ],
    [
      'a maxModelLen that is text',
      { modelName: 'm', maxModelLen: '4096' },
      'maxModelLen must be a whole number of tokens, 1 or more (the model\'s context length); got "4096"',
    ],
    ['enabled as text', { modelName: 'm', enabled: 'yes' }, 'enabled must be true or false; got "yes"'],
    [
      'a spanKind that is none',
      { modelName: 'm', spanKind: 9 },
      "spanKind must be one of the OpenTelemetry API's SpanKind values; got 9",
    ],
    [
      'a spanKind by its name',
      { modelName: 'm', spanKind: 'SERVER' },
      'spanKind must be one of the OpenTelemetry API\'s SpanKind values; got "SERVER"',
    ],
    [
      'a clock of one hand',
      { modelName: 'm', clock: { wallSeconds: () => 1 } },
      'clock must be an object with wallSeconds() and monotonicSeconds(); got [object Object]',
    ],
    [
      'no clock',
      { modelName: 'm', clock: null },
      'clock must be an object with wallSeconds() and monotonicSeconds(); got null',
    ],
  ])('refuse %s, saying what is allowed and what came', (_, options, text) => {
    expect(() => new VllmInstrumentation(options as VllmInstrumentationOptions)).toThrow(new TypeError(text));
  });

  it('need no more than the name of the model', () => {
    expect(newInstrumentation().status()).toEqual({
      enabled: true,
      meterProvider: false,
      contextPropagates: false,
      engines: 0,
      requestsInFlight: 0,
      dropped: expect.objectContaining({ providerError: 0 }) as object,
    });
  });

  it.each([SpanKind.INTERNAL, SpanKind.SERVER, SpanKind.CLIENT])('take the span kind %i', (spanKind) => {
    expect(newInstrumentation({ spanKind }).getConfig()).toEqual({ enabled: true });
  });
});

describe('registration', () => {
  it("implements OpenTelemetry's Instrumentation", () => {
    expectTypeOf<VllmInstrumentation>().toExtend<Instrumentation>();
    expect(newInstrumentation()).toMatchObject({
      instrumentationName: 'opentelemetry-instrumentation-vllm',
      instrumentationVersion: '0.1.0',
    });
  });

  it('hands the providers over', async () => {
    useContextManager();
    const reader = new TestReader();
    const traced = new Traced();
    const vllm = newInstrumentation();
    registerInstrumentations({
      instrumentations: [vllm],
      meterProvider: newProvider(reader),
      tracerProvider: traced.provider,
    });
    expect(vllm.status()).toMatchObject({ enabled: true, meterProvider: true, contextPropagates: true });
    vllm.engine(0).startRequest().end();
    expect((await reader.read()).histogram(PREEMPTIONS)).toMatchObject({ count: 1 });
    expect(traced.span.name).toBe('llm_request');
  });

  it('before there are providers, as NodeSDK does it, loses no request that starts after', async () => {
    const reader = new TestReader();
    const traced = new Traced();
    const vllm = newInstrumentation();
    const engine = vllm.engine(0);
    registerInstrumentations({ instrumentations: [vllm] });
    useContextManager();
    expect(vllm.status().meterProvider).toBe(false);
    metrics.setGlobalMeterProvider(newProvider(reader));
    vllm.setMeterProvider(metrics.getMeterProvider());
    trace.setGlobalTracerProvider(traced.provider);
    expect(vllm.status().meterProvider).toBe(true);
    const request = engine.startRequest();
    request.run(() => recordPreemption());
    request.end();
    expect((await reader.read()).histogram(PREEMPTIONS)).toMatchObject({ count: 1, sum: 1 });
    expect(traced.span.name).toBe('llm_request');
  });

  it('before there are providers goes on looking for the global ones, should nobody hand them over', async () => {
    const reader = new TestReader();
    const vllm = newInstrumentation();
    registerInstrumentations({ instrumentations: [vllm] });
    metrics.setGlobalMeterProvider(newProvider(reader));
    vllm.engine(0).startRequest().end();
    expect((await reader.read()).histogram(PREEMPTIONS)).toMatchObject({ count: 1 });
  });

  it('by a real NodeSDK works from its start to its shutdown', async () => {
    const reader = new TestReader();
    const exporter = new InMemorySpanExporter();
    const vllm = newInstrumentation();
    const sdk = new NodeSDK({
      instrumentations: [vllm],
      metricReaders: [reader],
      spanProcessors: [new SimpleSpanProcessor({ exporter })],
      views: vllmViews(),
      autoDetectResources: false,
    });
    sdk.start();
    expect(vllm.status()).toMatchObject({ enabled: true, meterProvider: true, contextPropagates: true });
    const request = vllm.engine(0).startRequest();
    request.run(() => recordPreemption());
    vllm.engine(0).startRequest();
    request.end();
    vllm.disable();
    const reading = await reader.read();
    expect(endings(reading)).toEqual({ stop: 1, abort: 1 });
    expect(reading.histogram(PREEMPTIONS)).toMatchObject({ count: 2, sum: 1 });
    expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['llm_request', 'llm_request']);
    await sdk.shutdown();
  });

  it('may happen twice, with the same providers or with others', async () => {
    const readers = [new TestReader(), new TestReader()];
    const vllm = newInstrumentation();
    const first = newProvider(readers[0]!);
    for (const meterProvider of [first, first, newProvider(readers[1]!)]) {
      registerInstrumentations({ instrumentations: [vllm], meterProvider });
    }
    vllm.engine(0).startRequest().end();
    expect((await readers[1]!.read()).histogram(PREEMPTIONS)).toMatchObject({ count: 1 });
    expect((await readers[0]!.read()).names).toEqual([]);
    expect(occurred(vllm)).toEqual({});
  });

  it('is undone by what it returns: requests in flight end as aborts', async () => {
    const reader = new TestReader();
    const vllm = newInstrumentation();
    const unregister = registerInstrumentations({
      instrumentations: [vllm],
      meterProvider: newProvider(reader),
    });
    vllm.engine(0).startRequest();
    unregister();
    expect(vllm.status()).toMatchObject({ enabled: false, requestsInFlight: 0 });
    expect(endings(await reader.read())).toEqual({ abort: 1 });
  });
});

describe('the global MeterProvider, without registration,', () => {
  it('is followed, also when it is set after the engines and requests', async () => {
    const reader = new TestReader();
    const vllm = newInstrumentation();
    const engine = vllm.engine(0);
    const before = engine.startRequest();
    before.recordPreemption();
    metrics.setGlobalMeterProvider(newProvider(reader));
    const after = engine.startRequest();
    after.end('length');
    before.end('stop');
    const reading = await reader.read();
    expect(endings(reading)).toEqual({ stop: 1, length: 1 });
    expect(counts(reading, PER_ENGINE_REQUEST)).toEqual(all(PER_ENGINE_REQUEST, 2));
    expect(reading.value('vllm:num_preemptions')).toBe(1);
  });

  it('gets the sample of a request that started before it came, though nothing else happens', async () => {
    const reader = new TestReader();
    const request = newInstrumentation().engine(0).startRequest();
    metrics.setGlobalMeterProvider(newProvider(reader));
    request.end();
    const reading = await reader.read();
    expect(counts(reading, PER_ENGINE_REQUEST)).toEqual(all(PER_ENGINE_REQUEST, 1));
  });

  it.each<[string, (vllm: VllmInstrumentation) => void]>([
    ['a request starts', (vllm) => void vllm.engine(0).startRequest()],
    ['a span is adopted', (vllm) => void vllm.adopt(new Traced().tracer.startSpan('server'))],
    ['a message is observed', (vllm) => vllm.observe({ outputs: [] })],
    ['statistics are recorded', (vllm) => vllm.engine(0).recordSchedulerStats({ num_running_reqs: 1 })],
  ])('is found when %s', async (_, act) => {
    const reader = new TestReader();
    const vllm = newInstrumentation();
    vllm.engine(0);
    metrics.setGlobalMeterProvider(newProvider(reader));
    act(vllm);
    expect(vllm.status().meterProvider).toBe(true);
    expect((await reader.read()).histogram(PREEMPTIONS).count).toBe(0);
  });

  it('is followed to another one in its place', async () => {
    const [first, second] = [new TestReader(), new TestReader()];
    const vllm = newInstrumentation();
    metrics.setGlobalMeterProvider(newProvider(first));
    vllm.engine(0).startRequest().end();
    metrics.disable();
    metrics.setGlobalMeterProvider(newProvider(second));
    vllm.engine(0).startRequest().end();
    expect((await second.read()).histogram(PREEMPTIONS).count).toBe(1);
    expect((await second.read()).value('vllm:request_success', { finished_reason: 'stop' })).toBe(2);
  });

  it('does not replace one that was handed over', async () => {
    const [own, global] = [new TestReader(), new TestReader()];
    const vllm = newInstrumentation();
    vllm.setMeterProvider(newProvider(own));
    metrics.setGlobalMeterProvider(newProvider(global));
    vllm.engine(0).startRequest().end();
    expect((await own.read()).histogram(PREEMPTIONS).count).toBe(1);
    expect((await global.read()).names).toEqual([]);
  });

  it('shows up in the status, and gets the series of engines that start none', async () => {
    const vllm = new VllmInstrumentation({ modelName: 'test-model' });
    vllm.engine(0);
    const reader = new TestReader();
    metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader], views: vllmViews() }));
    expect(vllm.status().meterProvider).toBe(true);
    expect((await reader.read()).value('vllm:num_preemptions')).toBe(0);
  });

  it('has a TracerProvider beside it that is found, also when it is set later', () => {
    const traced = new Traced();
    const vllm = newInstrumentation();
    vllm.engine(0).startRequest().end();
    trace.setGlobalTracerProvider(traced.provider);
    vllm.engine(0).startRequest().end();
    expect(traced.spans).toHaveLength(1);
  });

  it('may be missing for good: requests live and end, and nothing is dropped', () => {
    const vllm = newInstrumentation();
    const request = vllm.engine(0).startRequest();
    expect(request.recordTokens(1)).toBe(true);
    expect(request.end()).toBe(true);
    expect(vllm.status()).toMatchObject({ meterProvider: false, requestsInFlight: 0 });
    expect(occurred(vllm)).toEqual({});
  });
});

describe('disable', () => {
  it('ends every request in flight as an abort, its choices and adopted spans too, on every engine', async () => {
    const { vllm, engine, traced, clock, read } = startService();
    const span = traced.tracer.startSpan('server');
    const requests = [
      engine.startRequest(),
      engine.startRequest({ n: 3 }),
      vllm.adopt(span),
      vllm.engine(5).startRequest(),
    ];
    engine.startRequest().end('length');
    clock.wall += 2;
    vllm.disable();
    expect(requests.map(({ ended }) => ended)).toEqual([true, true, true, true]);
    expect(vllm.status().requestsInFlight).toBe(0);
    const reading = await read();
    expect(endings(reading)).toEqual({ length: 1, abort: 5 });
    expect(endings(reading, { engine: '5' })).toEqual({ abort: 1 });
    expect(counts(reading, PER_ENGINE_REQUEST)).toEqual(all(PER_ENGINE_REQUEST, 6));
    expect(reading.histogram('vllm:request_params_n')).toMatchObject({ count: 4, sum: 6 });
    expect(span.isRecording()).toBe(true);
  });

  it('records nothing from then on, while requests go on working', async () => {
    const { vllm, engine, traced, read, dropped } = startService();
    vllm.disable();
    const request = engine.startRequest({ requestId: 'r', n: 2 });
    request.run(() => expect(getRequest()).toBe(request));
    expect(request.choices[0]!.recordPreemption()).toBe(true);
    expect(request.choices[0]!.recordTokens(3)).toBe(true);
    expect(request.numPreemptions).toBe(1);
    expect(request.end()).toBe(true);
    vllm.observe({ ...message(1, output('0_r', 1)), scheduler_stats: { num_running_reqs: 3 } });
    engine.recordSchedulerStats({ num_running_reqs: 3 });
    const span = traced.tracer.startSpan('server');
    vllm.adopt(span);
    span.end();
    const reading = await read();
    expect(endings(reading)).toEqual({});
    expect(reading.histogram(PREEMPTIONS).count).toBe(0);
    expect(reading.value('vllm:num_preemptions')).toBe(0);
    expect(reading.value('vllm:generation_tokens')).toBe(0);
    expect(reading.value('vllm:num_requests_running')).toBe(0);
    expect(traced.spans.map(({ name }) => name)).toEqual(['server']);
    expect(vllm.status().requestsInFlight).toBe(0);
    expect(dropped()).toEqual({});
  });

  it('hands a parent on to what starts inside a request that is not recorded', () => {
    const { vllm, engine, traced } = startService();
    vllm.disable();
    const parent = traced.tracer.startSpan('caller');
    const request = context.with(trace.setSpan(ROOT_CONTEXT, parent), () => engine.startRequest());
    request.run(() => traced.tracer.startSpan('inside').end());
    expect(traced.span.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
  });

  it('is undone by enable, for the requests that start from then on', async () => {
    const { vllm, engine, read } = startService();
    vllm.disable();
    const unrecorded = engine.startRequest();
    vllm.enable();
    unrecorded.end('error');
    engine.startRequest().end('length');
    expect(endings(await read())).toEqual({ length: 1 });
    expect(vllm.status().enabled).toBe(true);
  });

  it('may be called twice, as may enable', async () => {
    const { vllm, engine, read } = startService();
    vllm.disable();
    vllm.disable();
    vllm.enable();
    vllm.enable();
    engine.startRequest().end();
    expect((await read()).histogram(PREEMPTIONS).count).toBe(1);
  });

  it("before the provider's shutdown loses no sample, and keeps the numbers readable", async () => {
    const { vllm, engine, provider, read } = startService();
    engine.startRequest().recordPreemption();
    vllm.disable();
    const reading = await read();
    expect(reading.value('vllm:num_preemptions')).toBe(1);
    expect(reading.histogram(PREEMPTIONS)).toMatchObject({ count: 1, sum: 1 });
    await (provider as MeterProvider).shutdown();
    vllm.enable();
    expect(engine.startRequest().end()).toBe(true);
  });

  it('keeps what was handed over meanwhile for the next enable', async () => {
    const { vllm, engine } = startService();
    const reader = new TestReader();
    vllm.disable();
    vllm.setMeterProvider(newProvider(reader));
    expect((await reader.read()).names).toEqual([]);
    vllm.enable();
    engine.startRequest().end();
    expect((await reader.read()).histogram(PREEMPTIONS).count).toBe(1);
  });
});

describe('enabled: false', () => {
  it('records nothing, and registration does not change that', async () => {
    const reader = new TestReader();
    const vllm = newInstrumentation({ enabled: false });
    registerInstrumentations({ instrumentations: [vllm], meterProvider: newProvider(reader) });
    vllm.enable();
    vllm.engine(0).startRequest().end();
    expect((await reader.read()).names).toEqual([]);
    expect(vllm.status().enabled).toBe(false);
    expect(vllm.getConfig()).toEqual({ enabled: false });
  });

  it('is changed by setConfig, both ways', async () => {
    const reader = new TestReader();
    const vllm = newInstrumentation({ enabled: false });
    registerInstrumentations({ instrumentations: [vllm], meterProvider: newProvider(reader) });
    vllm.setConfig({ enabled: true });
    const engine = vllm.engine(0);
    engine.startRequest().end('length');
    engine.startRequest();
    vllm.setConfig({ enabled: false });
    expect(vllm.getConfig()).toEqual({ enabled: false });
    engine.startRequest().end('error');
    expect(endings(await reader.read())).toEqual({ length: 1, abort: 1 });
    vllm.setConfig();
    expect(vllm.getConfig()).toEqual({ enabled: true });
    engine.startRequest().end('stop');
    expect(endings(await reader.read())).toEqual({ length: 1, abort: 1, stop: 1 });
  });

  it('follows no global provider', async () => {
    const reader = new TestReader();
    metrics.setGlobalMeterProvider(newProvider(reader));
    const vllm = newInstrumentation({ enabled: false });
    vllm.engine(0).startRequest().end();
    vllm.observe({ scheduler_stats: {} });
    expect((await reader.read()).names).toEqual([]);
  });
});

describe('status', () => {
  it('counts engines and the engine requests in flight', () => {
    const { vllm, engine } = startService();
    engine.startRequest();
    engine.startRequest({ n: 3 });
    const ended = vllm.engine(9).startRequest();
    expect(vllm.status()).toMatchObject({ engines: 2, requestsInFlight: 5 });
    ended.end();
    expect(vllm.status()).toMatchObject({ engines: 2, requestsInFlight: 4 });
  });

  it('counts drops that are said once each', () => {
    const { vllm, engine } = startService();
    const said = captureDiag();
    for (let count = 0; count < 3; count += 1) vllm.observe(message(1, output('nobody', 1)));
    engine.startRequest({ n: -1 }).end();
    expect(occurred(vllm)).toEqual({ unknownRequest: 3, invalidValue: 1 });
    expect(said).toEqual([
      'opentelemetry-instrumentation-vllm: unknownRequest: nobody (further ones are only counted in status().dropped)',
      'opentelemetry-instrumentation-vllm: invalidValue: n of a request: -1 (further ones are only counted in status().dropped)',
    ]);
  });
});
