import { AggregationType, InstrumentType, MeterProvider, type ViewOptions } from '@opentelemetry/sdk-metrics';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { catalogue } from '../../src/metrics/catalogue/index.ts';
import { checkViews, type ViewConflict, type ViewSelector } from '../../src/metrics/check-views.ts';
import { SCOPE_NAME, SCOPE_VERSION } from '../../src/metrics/scope.ts';
import { vllmViews } from '../../src/metrics/views.ts';
import { TestReader } from '../support/test-reader.ts';

const METRIC = 'vllm:request_num_preemptions';
const INSTRUMENT = 'vllm.request_num_preemptions';
const ours = vllmViews().find(({ name }) => name === METRIC)!;
const OURS = vllmViews().length;

/** What the real SDK makes of one recorded value under these Views: the count in every stream, by name. */
async function streams(views: ViewOptions[]): Promise<Record<string, number>> {
  const reader = new TestReader();
  const provider = new MeterProvider({ readers: [reader], views });
  provider.getMeter(SCOPE_NAME, SCOPE_VERSION).createHistogram(INSTRUMENT).record(2);
  const { metrics } = await reader.read();
  return Object.fromEntries(
    metrics.map(({ descriptor, dataPoints }) => [
      descriptor.name,
      (dataPoints[0]?.value as { count: number }).count,
    ]),
  );
}

/** The conflicts found for the one metric, without their sentences. */
function conflicts(views: readonly ViewSelector[]): readonly Omit<ViewConflict, 'message' | 'metric'>[] {
  return checkViews(views)
    .filter(({ metric }) => metric === METRIC)
    .map(({ kind, views: positions }) => ({ kind, views: positions }));
}

const CLEAN = { [METRIC]: 1 };

describe('checkViews', () => {
  it("reads the SDK's own ViewOptions", () => {
    expectTypeOf<ViewOptions>().toExtend<ViewSelector>();
  });

  it.each<{ case: string; added: ViewOptions[]; found: string[]; sdk: Record<string, number> }>([
    { case: 'nothing else', added: [], found: [], sdk: CLEAN },
    {
      case: 'a View for every instrument',
      added: [{ instrumentName: '*' }],
      found: ['second-stream'],
      sdk: { ...CLEAN, [INSTRUMENT]: 1 },
    },
    {
      case: 'a View for every instrument of our meter',
      added: [{ meterName: SCOPE_NAME }],
      found: ['second-stream'],
      sdk: { ...CLEAN, [INSTRUMENT]: 1 },
    },
    {
      case: 'two further Views with the same outcome',
      added: [{ instrumentName: '*' }, { instrumentType: InstrumentType.HISTOGRAM }],
      found: ['second-stream'],
      sdk: { ...CLEAN, [INSTRUMENT]: 2 },
    },
    {
      case: 'a renaming View of the user',
      added: [{ instrumentName: INSTRUMENT, name: 'preemptions' }],
      found: ['second-stream'],
      sdk: { ...CLEAN, preemptions: 1 },
    },
    {
      case: "a second View with vLLM's name",
      added: [{ instrumentName: INSTRUMENT, name: METRIC }],
      found: ['double-count'],
      sdk: { [METRIC]: 2 },
    },
    { case: 'our own Views twice', added: [ours], found: ['double-count'], sdk: { [METRIC]: 2 } },
    {
      case: 'a View of another meter',
      added: [{ instrumentName: '*', meterName: 'http' }],
      found: [],
      sdk: CLEAN,
    },
    {
      case: 'a View of another kind of instrument',
      added: [{ instrumentType: InstrumentType.COUNTER }],
      found: [],
      sdk: CLEAN,
    },
    { case: 'a View of another unit', added: [{ instrumentUnit: 's' }], found: [], sdk: CLEAN },
    {
      case: 'a View of instruments without a unit',
      added: [{ instrumentUnit: '' }],
      found: ['second-stream'],
      sdk: { ...CLEAN, [INSTRUMENT]: 1 },
    },
    {
      case: 'a View of another version of our meter',
      added: [{ instrumentName: '*', meterVersion: '99.0.0' }],
      found: [],
      sdk: CLEAN,
    },
    {
      case: 'a View of this version of our meter',
      added: [{ instrumentName: '*', meterVersion: SCOPE_VERSION }],
      found: ['second-stream'],
      sdk: { ...CLEAN, [INSTRUMENT]: 1 },
    },
    {
      case: 'a View of some schema, which the SDK lets select meters that have none',
      added: [{ instrumentName: '*', meterSchemaUrl: 'https://example.com/schema' }],
      found: ['second-stream'],
      sdk: { ...CLEAN, [INSTRUMENT]: 1 },
    },
    {
      case: 'a pattern with one wildcard',
      added: [{ instrumentName: 'vllm.*_preemptions' }],
      found: ['second-stream'],
      sdk: { ...CLEAN, [INSTRUMENT]: 1 },
    },
    {
      case: 'a pattern whose second star the SDK reads as "any number of the character before"',
      added: [{ instrumentName: '*_preemptionss*' }],
      found: ['second-stream'],
      sdk: { ...CLEAN, [INSTRUMENT]: 1 },
    },
    {
      case: 'a pattern that would match if its second star were a wildcard',
      added: [{ instrumentName: 'vllm.*_num_*' }],
      found: [],
      sdk: CLEAN,
    },
    {
      case: 'a pattern with a question mark, which the SDK takes literally',
      added: [{ instrumentName: 'vllm.request_num_preemption?' }],
      found: [],
      sdk: CLEAN,
    },
    {
      case: 'a pattern with a dot, which is no wildcard',
      added: [{ instrumentName: 'vllm_request_num_preemptions' }],
      found: [],
      sdk: CLEAN,
    },
    { case: 'a pattern in another case', added: [{ instrumentName: 'VLLM.*' }], found: [], sdk: CLEAN },
    {
      case: 'a View that drops what it selects, which makes no second stream',
      added: [{ instrumentName: '*', aggregation: { type: AggregationType.DROP } }],
      found: [],
      sdk: CLEAN,
    },
  ])('agrees with the SDK about $case', async ({ added, found, sdk }) => {
    const views = [...vllmViews(), ...added];
    expect(conflicts(views).map(({ kind }) => kind)).toEqual(found);
    expect(await streams(views)).toEqual(sdk);
  });

  it('tells the positions of the Views in conflict', () => {
    const views = [{ instrumentName: '*' }, ...vllmViews(), ours];
    expect(conflicts(views)).toEqual([
      { kind: 'double-count', views: [1, 1 + OURS] },
      { kind: 'second-stream', views: [0] },
    ]);
  });

  it('misses our Views where there are none, once per metric and in the order of the catalogue', () => {
    const found = checkViews([]);
    expect(found.map(({ metric }) => metric)).toEqual(catalogue.map(({ name }) => name));
    expect(new Set(found.map(({ kind }) => kind))).toEqual(new Set(['missing']));
  });

  it('does not miss a metric that the user drops', async () => {
    const views = [
      ...vllmViews().filter(({ name }) => name !== METRIC),
      { instrumentName: INSTRUMENT, aggregation: { type: AggregationType.DROP } as const },
    ];
    expect(checkViews(views)).toEqual([]);
    expect(await streams(views)).toEqual({});
  });

  it('says in a sentence what is wrong and what to change', () => {
    const messages = [
      ...checkViews([...vllmViews(), ours, { instrumentName: INSTRUMENT, name: 'mine' }]),
      ...checkViews(vllmViews().filter((view) => view.name !== METRIC)),
    ].map(({ message }) => message);
    expect(messages).toEqual([
      `the Views at 0, ${OURS} all end in ${METRIC}: each value would count 2 times; keep one`,
      `the Views at ${OURS + 1} select ${METRIC} too and export it as mine: narrow their selector, for instance by meterName`,
      `no View names the instrument ${INSTRUMENT} ${METRIC}: add ...vllmViews() to the list`,
    ]);
  });
});
