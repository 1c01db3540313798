import { MeterProvider, type ViewOptions } from '@opentelemetry/sdk-metrics';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { VllmInstrumentation } from '../../src/instrumentation.ts';
import { boundariesFor } from '../../src/metrics/boundaries.ts';
import { catalogue } from '../../src/metrics/catalogue/index.ts';
import { instrumentName, type HistogramMetric } from '../../src/metrics/metric.ts';
import { vllmViews, type VllmView } from '../../src/metrics/views.ts';
import type { Reading } from '../support/reading.ts';
import { TestReader } from '../support/test-reader.ts';

/** The first collection of a service with one engine, its token buckets sized as said. */
async function firstReading(views: ViewOptions[], maxModelLen?: number): Promise<Reading> {
  const reader = new TestReader();
  const vllm = new VllmInstrumentation({ modelName: 'test-model', maxModelLen });
  vllm.setMeterProvider(new MeterProvider({ readers: [reader], views }));
  vllm.engine(0);
  return reader.read();
}

const histograms = catalogue.filter((metric): metric is HistogramMetric => metric.kind === 'histogram');

describe('vllmViews', () => {
  it("is assignable to the SDK's ViewOptions", () => {
    expectTypeOf<VllmView>().toExtend<ViewOptions>();
  });

  it('holds one View per metric and no attribute processor, so that a record costs the same with it', () => {
    const views = vllmViews();
    expect(views.map(({ name }) => name)).toEqual(catalogue.map(({ name }) => name));
    for (const view of views) expect(view).not.toHaveProperty('attributesProcessors');
  });

  it.each([
    { views: 'without a length', own: undefined, viewed: undefined, effective: undefined },
    {
      views: "without a length, the instrumentation's own being 8192",
      own: 8192,
      viewed: undefined,
      effective: 8192,
    },
    { views: 'for 4096', own: undefined, viewed: 4096, effective: 4096 },
    { views: "for 4096, the instrumentation's own being 8192", own: 8192, viewed: 4096, effective: 4096 },
  ])("give vLLM's names and buckets: $views", async ({ own, viewed, effective }) => {
    const reading = await firstReading(vllmViews({ maxModelLen: viewed }), own);
    const collected = histograms.filter(({ name }) => reading.names.includes(name));
    expect(collected).toHaveLength(19);
    for (const metric of collected) {
      expect([metric.name, reading.boundaries(metric.name)]).toEqual([
        metric.name,
        boundariesFor(metric, effective),
      ]);
    }
    for (const name of reading.names) expect(catalogue.map((metric) => metric.name)).toContain(name);
  });

  it.each([undefined, 8192])(
    'are not needed for the right buckets: advice carries them for a length of %s',
    async (maxModelLen) => {
      const reading = await firstReading([], maxModelLen);
      const collected = histograms.filter((metric) => reading.names.includes(instrumentName(metric)));
      expect(collected).toHaveLength(19);
      for (const metric of collected) {
        expect([metric.name, reading.boundaries(instrumentName(metric))]).toEqual([
          metric.name,
          boundariesFor(metric, maxModelLen),
        ]);
      }
    },
  );

  it('carry the description and no unit, which translators would turn into a suffix', async () => {
    const reading = await firstReading(vllmViews());
    for (const { descriptor } of reading.metrics) {
      expect(descriptor.unit).toBe('');
      expect(descriptor.description).toBe(
        catalogue.find(({ name }) => name === descriptor.name)?.description,
      );
    }
  });

  it('leave a namesake of another meter alone', async () => {
    const reader = new TestReader();
    const provider = new MeterProvider({ readers: [reader], views: vllmViews() });
    provider.getMeter('somebody else').createCounter('vllm.num_preemptions').add(1);
    expect((await reader.read()).names).toEqual(['vllm.num_preemptions']);
  });

  it('refuse a length that is none', () => {
    expect(() => vllmViews({ maxModelLen: 0 })).toThrow(TypeError);
  });

  it('give each caller a list of its own', () => {
    const views = vllmViews();
    views[0]!.aggregation!.options.boundaries.push(1e9);
    expect(vllmViews()[0]!.aggregation!.options.boundaries).not.toContain(1e9);
  });
});
