import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { boundariesFor, oneTwoFive } from '../../src/metrics/boundaries.ts';
import { catalogue } from '../../src/metrics/catalogue/index.ts';
import { instrumentName, type HistogramMetric } from '../../src/metrics/metric.ts';
import { SCOPE_NAME, SCOPE_VERSION } from '../../src/metrics/scope.ts';

/** One row of the parity reference. */
interface ReferenceMetric {
  readonly name: string;
  readonly kind: string;
  readonly tier: string;
  readonly labels: readonly string[];
  readonly label_values?: Readonly<Record<string, readonly string[] | string>>;
  readonly buckets?: readonly number[] | { readonly default: readonly number[] };
  readonly meaning: string;
}

const REFERENCE = new URL('../../../shared/vllm/catalogue.json', import.meta.url);
const available = existsSync(REFERENCE);
const reference = available ? (JSON.parse(readFileSync(REFERENCE, 'utf8')) as ReferenceMetric[]) : [];

const histograms = catalogue.filter((metric): metric is HistogramMetric => metric.kind === 'histogram');
const byName = new Map(catalogue.map((metric) => [metric.name as string, metric]));

describe('the catalogue beside the parity reference', () => {
  it('has every metric and no other', ({ skip }) => {
    skip(!available, 'no ../shared/vllm/catalogue.json beside this checkout: nothing was compared');
    expect([...byName.keys()].toSorted()).toEqual(reference.map(({ name }) => name).toSorted());
  });

  it.each(reference)(
    '$name has its kind, labels and label values',
    ({ name, kind, labels, label_values }) => {
      const metric = byName.get(name);
      expect(metric?.kind).toBe(kind);
      // A label that is described in words stands for names which vary by deployment.
      const fixed = labels.filter((label) => !label.includes(' '));
      expect(metric?.labels.toSorted()).toEqual(fixed.toSorted());
      expect(metric?.openLabels !== undefined).toBe(fixed.length < labels.length);
      const closed = Object.entries(label_values ?? {}).filter(([, values]) => typeof values !== 'string');
      expect(metric?.labelValues ?? {}).toEqual(Object.fromEntries(closed));
    },
  );

  it.each(reference.filter(({ kind }) => kind === 'histogram'))(
    '$name has its buckets',
    ({ name, buckets }) => {
      const metric = byName.get(name) as HistogramMetric;
      if (buckets !== undefined && 'default' in buckets) {
        expect(buckets).toEqual({ rule: '1-2-5', cap: 'max_model_len', default: metric.boundaries });
        expect(boundariesFor(metric, 40_960)).toEqual(oneTwoFive(40_960));
      } else {
        expect(metric.boundaries).toEqual(buckets);
        expect(boundariesFor(metric, 40_960)).toEqual(buckets);
      }
      expect(boundariesFor(metric, undefined)).toEqual(metric.boundaries);
    },
  );

  it.each(reference)('$name is described in words of our own', ({ name, meaning }) => {
    const description = byName.get(name)?.description ?? '';
    expect(description.toLowerCase()).not.toBe(meaning.toLowerCase());
    expect(description.length).toBeGreaterThan(10);
  });
});

describe('the catalogue', () => {
  it.each(histograms)('$name has boundaries that are finite, positive, ascending and unique', (metric) => {
    for (const maxModelLen of [undefined, 1, 4096, 1_000_000]) {
      const boundaries = boundariesFor(metric, maxModelLen);
      expect(boundaries.length).toBeGreaterThan(0);
      for (const [position, boundary] of boundaries.entries()) {
        expect(boundary).toBeGreaterThan(boundaries[position - 1] ?? 0);
        expect(boundary).toBeLessThan(Infinity);
      }
    }
  });

  it.each(catalogue)('$name has a valid instrument name and label names', (metric) => {
    expect(metric.name).toMatch(/^vllm:[a-z][a-z0-9_]*$/);
    // OpenTelemetry's instrument name syntax, at most 255 characters.
    expect(instrumentName(metric)).toMatch(/^[A-Za-z][\w./-]{0,254}$/);
    for (const label of metric.labels) expect(label).toMatch(/^[a-z][a-z0-9_]*$/);
    for (const label of Object.keys(metric.labelValues ?? {})) expect(metric.labels).toContain(label);
  });

  it('gives each metric a name and an instrument of its own', () => {
    expect(byName.size).toBe(catalogue.length);
    expect(new Set(catalogue.map(instrumentName)).size).toBe(catalogue.length);
  });

  it('has no counter that spells the _total which the exposition adds', () => {
    const counters = catalogue.filter(({ kind }) => kind === 'counter');
    expect(counters.filter(({ name }) => name.endsWith('_total'))).toEqual([]);
  });
});

describe('the instrumentation scope', () => {
  it('is the name and version of the package', () => {
    const manifest = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as unknown;
    expect(manifest).toMatchObject({ name: SCOPE_NAME, version: SCOPE_VERSION });
  });
});
