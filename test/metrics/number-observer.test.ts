import { setImmediate as nextTurn } from 'node:timers/promises';
import { AggregationTemporality, MeterProvider } from '@opentelemetry/sdk-metrics';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { VllmInstrumentation } from '../../src/instrumentation.ts';
import { numberObserverOf } from '../../src/metrics/number-observer.ts';
import { endings } from '../support/per-request.ts';
import { startService } from '../support/service.ts';
import { TestReader } from '../support/test-reader.ts';

describe('two instrumentations of one model and engine on one provider', () => {
  it('add their counters up, as their histograms do', async () => {
    const { engine, provider, read } = startService();
    const other = new VllmInstrumentation({ modelName: 'test-model' });
    other.setMeterProvider(provider);
    const preempted = engine.startRequest();
    preempted.recordPreemption();
    preempted.recordPreemption();
    preempted.end('stop');
    other.engine(0).startRequest().end('length');
    const reading = await read();
    expect(reading.histogram('vllm:request_num_preemptions')).toMatchObject({ count: 2, sum: 2 });
    expect(reading.value('vllm:num_preemptions')).toBe(2);
    expect(endings(reading)).toEqual({ stop: 1, length: 1 });
  });

  it('keep what the first counted when it is disabled and the second takes over', async () => {
    const { vllm, engine, provider, read } = startService();
    engine.startRequest().end('stop');
    vllm.disable();
    const next = new VllmInstrumentation({ modelName: 'test-model' });
    next.setMeterProvider(provider);
    next.engine(0).startRequest().end('stop');
    expect(endings(await read())).toEqual({ stop: 2 });
  });

  it('show the gauge that was set by the one that came last', async () => {
    const { engine, provider, read } = startService();
    engine.recordSchedulerStats({ num_running_reqs: 5 });
    const other = new VllmInstrumentation({ modelName: 'test-model' });
    other.setMeterProvider(provider);
    other.engine(0).recordSchedulerStats({ num_running_reqs: 7 });
    expect((await read()).value('vllm:num_requests_running')).toBe(7);
  });

  it('show the first alone again when the second has left for another provider', async () => {
    const { engine, provider, read } = startService();
    engine.recordSchedulerStats({ num_running_reqs: 5 });
    const other = new VllmInstrumentation({ modelName: 'test-model' });
    other.setMeterProvider(provider);
    other.engine(0);
    other.setMeterProvider(startService().provider);
    expect((await read()).value('vllm:num_requests_running')).toBe(5);
  });
});

describe('two readers of one provider at the same time', () => {
  it('are observed for one after the other, so that a counter never seems to have fallen', async () => {
    let millis = 0;
    const now = vi.spyOn(performance, 'now').mockImplementation(() => millis);
    onTestFinished(() => now.mockRestore());
    const first = new TestReader(AggregationTemporality.DELTA);
    const second = new TestReader(AggregationTemporality.DELTA);
    const provider = new MeterProvider({ readers: [first, second] });
    let collections = 0;
    let value = 100;
    numberObserverOf(provider, provider.getMeter('test')).add({
      beforeCollection: () => void (collections += 1),
      numbers: (name) => {
        // Each metric takes the first one a slice of time, and the second, which begins later, none.
        if (collections === 1) millis += 5;
        if (name !== 'vllm:num_preemptions') return [];
        value += 1;
        return [{ value, attributes: { model_name: 'test-model', engine: '0' } }];
      },
    });
    const readings = await Promise.all([first.read(), nextTurn().then(() => second.read())]);
    expect(readings.map((reading) => reading.value('vllm.num_preemptions'))).toEqual([101, 102]);
    expect((await first.read()).value('vllm.num_preemptions')).toBe(2);
    expect((await second.read()).value('vllm.num_preemptions')).toBe(2);
  });

  it('are both observed for, also where the first one cannot take it', async () => {
    const { provider } = startService();
    const meter = provider.getMeter('test');
    const observe = vi.spyOn(meter, 'addBatchObservableCallback').mockReturnValue();
    numberObserverOf({ getMeter: () => meter }, meter).add({
      beforeCollection: () => {},
      numbers: (name) => (name === 'vllm:num_preemptions' ? [{ value: 7, attributes: {} }] : []),
    });
    const callback = observe.mock.calls[0]![0];
    const refused = callback({
      observe: () => {
        throw new Error('no more');
      },
    });
    const values: number[] = [];
    const taken = callback({ observe: (_metric, value) => void values.push(value) });
    await expect(refused).rejects.toThrow('no more');
    await taken;
    expect(values).toEqual([7]);
  });
});

describe('many engines', () => {
  it('of which the SDK would leave some out by default all have their series', async () => {
    const { vllm, read } = startService();
    for (let index = 0; index < 450; index += 1) vllm.engine(index).startRequest().end('stop');
    const points = (await read()).points('vllm:request_success');
    expect(points).toHaveLength(450 * 5);
    expect(points.reduce((sum, { value }) => sum + (value as number), 0)).toBe(450);
  });
});
