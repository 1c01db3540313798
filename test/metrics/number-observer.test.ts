import { describe, expect, it } from 'vitest';
import { VllmInstrumentation } from '../../src/instrumentation.ts';
import { endings } from '../support/per-request.ts';
import { startService } from '../support/service.ts';

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

describe('many engines', () => {
  it('of which the SDK would leave some out by default all have their series', async () => {
    const { vllm, read } = startService();
    for (let index = 0; index < 450; index += 1) vllm.engine(index).startRequest().end('stop');
    const points = (await read()).points('vllm:request_success');
    expect(points).toHaveLength(450 * 5);
    expect(points.reduce((sum, { value }) => sum + (value as number), 0)).toBe(450);
  });
});
