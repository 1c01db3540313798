import { ROOT_CONTEXT } from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { describe, expect, it } from 'vitest';
import { Drops } from '../../src/metrics/drops.ts';
import { SeriesStore } from '../../src/metrics/series-store.ts';
import { vllmViews } from '../../src/metrics/views.ts';
import { BASE } from '../support/reading.ts';
import { TestReader } from '../support/test-reader.ts';

const RUNNING = 'vllm:num_requests_running';
const PREEMPTIONS = 'vllm:num_preemptions';
const HISTOGRAM = 'vllm:request_num_preemptions';
const OTHER = { ...BASE, engine: '1' };

function startStore(): { store: SeriesStore; reader: TestReader } {
  const store = new SeriesStore(new Drops(), undefined);
  const reader = new TestReader();
  store.connect(new MeterProvider({ readers: [reader], views: vllmViews() }));
  return { store, reader };
}

describe('a group of series', () => {
  it('adds series of every kind to its store', async () => {
    const { store, reader } = startStore();
    const group = store.group();
    group.counter(PREEMPTIONS, BASE).add(2);
    group.gauge(RUNNING, BASE).set(3);
    group.histogram(HISTOGRAM, BASE).record(4, ROOT_CONTEXT);
    const reading = await reader.read();
    expect(reading.value(PREEMPTIONS)).toBe(2);
    expect(reading.value(RUNNING)).toBe(3);
    expect(reading.histogram(HISTOGRAM)).toMatchObject({ count: 1, sum: 4 });
  });

  it('refuses what its store refuses', () => {
    const group = startStore().store.group();
    expect(() => group.counter(RUNNING, BASE)).not.toThrow();
    expect(() => group.counter(HISTOGRAM, BASE)).toThrow(TypeError);
    expect(() => group.histogram(RUNNING, BASE)).toThrow(TypeError);
    expect(() => group.gauge('vllm:no_such_metric', BASE)).toThrow(TypeError);
  });

  it('drops one series, which is observed no more, and no other of the metric', () => {
    const { store } = startStore();
    const group = store.group();
    const kept = group.gauge(RUNNING, BASE);
    const dropped = group.gauge(RUNNING, OTHER);
    expect([...store.numbers(RUNNING)]).toEqual([kept, dropped]);
    group.drop(dropped);
    group.drop(dropped);
    expect([...store.numbers(RUNNING)]).toEqual([kept]);
  });

  it('drops no series of another group', () => {
    const { store } = startStore();
    const theirs = store.group().gauge(RUNNING, BASE);
    store.group().drop(theirs);
    expect([...store.numbers(RUNNING)]).toEqual([theirs]);
  });

  it('drops all its series when it is closed, and those of no other group', async () => {
    const { store, reader } = startStore();
    const [group, other] = [store.group(), store.group()];
    const theirs = [other.counter(PREEMPTIONS, OTHER), other.gauge(RUNNING, OTHER)];
    group.counter(PREEMPTIONS, BASE);
    group.gauge(RUNNING, BASE);
    const histogram = group.histogram(HISTOGRAM, BASE);
    histogram.record(1, ROOT_CONTEXT);
    group.close();
    group.close();
    histogram.record(1, ROOT_CONTEXT);
    expect([PREEMPTIONS, RUNNING].flatMap((name) => [...store.numbers(name)])).toEqual(theirs);
    // The SDK keeps what was recorded; nothing is added.
    expect((await reader.read()).histogram(HISTOGRAM)).toMatchObject({ count: 1 });
  });

  it('leaves a closed histogram out where another provider arrives', async () => {
    const { store } = startStore();
    const group = store.group();
    const histogram = group.histogram(HISTOGRAM, BASE);
    group.close();
    const next = new TestReader();
    store.connect(new MeterProvider({ readers: [next], views: vllmViews() }));
    histogram.record(1, ROOT_CONTEXT);
    expect((await next.read()).names).not.toContain(HISTOGRAM);
  });

  it('that was closed takes new series, to be dropped once more', () => {
    const { store } = startStore();
    const group = store.group();
    group.close();
    group.gauge(RUNNING, BASE);
    expect([...store.numbers(RUNNING)]).toHaveLength(1);
    group.close();
    expect([...store.numbers(RUNNING)]).toEqual([]);
  });
});
