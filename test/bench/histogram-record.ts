import { Histogram as PromHistogram, Registry } from 'prom-client';
import { TOKEN_GAP_SECONDS_BOUNDARIES } from '../../src/metrics/boundaries.ts';
import type { Candidate, Work } from './candidate.ts';
import { onBoundMeter, plainSdk } from './metering.ts';
import { collectTotals, promTotals, type Totals, type TotalsByName } from './totals.ts';

const BOUNDARIES = [...TOKEN_GAP_SECONDS_BOUNDARIES];
const NAME = 'latency';
const ATTRIBUTES = Object.freeze({ model_name: 'bench', engine: '0' });

/** Latencies from 5 ms up, most of them below 50 ms. */
const VALUES = Float64Array.from({ length: 1024 }, (_, index) => 0.005 + ((index * 389) % 1024) ** 4 / 1e12);

/** Recording a sample into a histogram with two attributes. */
export function histogramRecord(): Work {
  return {
    title: 'One record of a histogram with two attributes',
    item: 'record',
    itemsPerUnit: VALUES.length,
    unitsPerRound: 250,
    reference: 'last',
    candidates: [ofOpenTelemetry, ofPromClient, ofBoundMeter],
  };
}

function ofOpenTelemetry(): Candidate {
  const { provider, reader } = plainSdk();
  const advice = { explicitBucketBoundaries: BOUNDARIES };
  const histogram = provider.getMeter('bench').createHistogram(NAME, { advice });
  return {
    name: 'OpenTelemetry API and SDK',
    run: () => {
      for (let index = 0; index < VALUES.length; index += 1) histogram.record(VALUES[index]!, ATTRIBUTES);
    },
    counts: async () => countsOf(await collectTotals(reader)),
  };
}

function ofPromClient(): Candidate {
  const labelNames = Object.keys(ATTRIBUTES);
  const histogram = new PromHistogram({
    name: NAME,
    help: NAME,
    labelNames,
    buckets: BOUNDARIES,
    registers: [new Registry()],
  });
  const bound = histogram.labels(ATTRIBUTES);
  return {
    name: 'prom-client, bound labels',
    run: () => {
      for (let index = 0; index < VALUES.length; index += 1) bound.observe(VALUES[index]!);
    },
    counts: async () => countsOf(await promTotals([histogram])),
  };
}

function ofBoundMeter(): Candidate {
  const { provider, reader } = onBoundMeter();
  const advice = { explicitBucketBoundaries: BOUNDARIES };
  const bound = provider.getMeter('bench').createHistogram(NAME, { advice }).bind(ATTRIBUTES);
  return {
    name: 'BoundMeterProvider, bound',
    run: () => {
      for (let index = 0; index < VALUES.length; index += 1) bound.record(VALUES[index]!);
    },
    counts: async () => countsOf(await collectTotals(reader)),
  };
}

function countsOf(totals: TotalsByName): Readonly<Record<keyof Totals, number>> {
  const { count, sum, positions } = totals.get(NAME)!;
  return { count, sum, positions };
}
