import type { AggregationType } from '@opentelemetry/sdk-metrics';
import { requireOption } from '../metrics/require-option.ts';

/** The part of the SDK's `ViewOptions` that a `BoundMeterProvider` takes; `vllmViews()` gives such. */
export interface BoundView {
  /** What the metric is called instead; not validated, as the specification's "View" has it. Default: as before. */
  readonly name?: string | undefined;
  /** The instrument's name, without wildcards, in upper or lower case. */
  readonly instrumentName: string;
  /** The meter's name. Default: any. */
  readonly meterName?: string | undefined;
  /** How many series the metric may have beside the overflow. Default: the provider's `cardinalityLimit`. */
  readonly aggregationCardinalityLimit?: number | undefined;
  /** Explicit buckets of a histogram, over what its instrument advises. An instrument of another kind ignores it. */
  readonly aggregation?:
    | {
        /** `AggregationType.EXPLICIT_BUCKET_HISTOGRAM`. */
        readonly type: 4 | AggregationType.EXPLICIT_BUCKET_HISTOGRAM;
        readonly options: { readonly boundaries: readonly number[] };
      }
    | undefined;
}

/** The Views of a provider: at most one per instrument. */
export class Views {
  readonly #byInstrument = new Map<string, BoundView[]>();

  /**
   * @throws TypeError naming the option where a View has what is not supported, or where two select the same
   * instrument: each would be a stream of its own, and a bound instrument records into one.
   */
  constructor(views: readonly BoundView[]) {
    requireOption('views', 'a list of views', views, Array.isArray(views));
    for (const [index, view] of views.entries()) {
      checkView(`views[${index}]`, view);
      const others = this.#byInstrument.get(view.instrumentName.toLowerCase()) ?? [];
      requireOption(
        `views[${index}]`,
        'the only view of its instrument',
        view.instrumentName,
        others.every((other) => areApart(other.meterName, view.meterName)),
      );
      this.#byInstrument.set(view.instrumentName.toLowerCase(), [...others, view]);
    }
  }

  /** The View of an instrument. */
  of(instrumentName: string, meterName: string): BoundView | undefined {
    const views = this.#byInstrument.get(instrumentName.toLowerCase());
    return views?.find((view) => !areApart(view.meterName, meterName));
  }
}

function areApart(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && one !== other;
}

const SUPPORTED = ['name', 'instrumentName', 'meterName', 'aggregationCardinalityLimit', 'aggregation'];

function checkView(option: string, view: BoundView): void {
  requireObjectOf(option, view, SUPPORTED);
  const { name, instrumentName, meterName, aggregationCardinalityLimit, aggregation } = view;
  requireOption(
    `${option}.instrumentName`,
    "an instrument's name without '*'",
    instrumentName,
    isText(instrumentName) && !instrumentName.includes('*'),
  );
  requireOption(`${option}.name`, 'a non-empty string', name, name === undefined || isText(name));
  requireOption(
    `${option}.meterName`,
    'a non-empty string',
    meterName,
    meterName === undefined || isText(meterName),
  );
  if (aggregationCardinalityLimit !== undefined) {
    requireLimit(`${option}.aggregationCardinalityLimit`, aggregationCardinalityLimit);
  }
  if (aggregation === undefined) return;
  requireObjectOf(`${option}.aggregation`, aggregation, ['type', 'options']);
  requireOption(
    `${option}.aggregation.type`,
    '4, AggregationType.EXPLICIT_BUCKET_HISTOGRAM',
    aggregation.type,
    aggregation.type === 4,
  );
  requireObjectOf(`${option}.aggregation.options`, aggregation.options, ['boundaries']);
  const { boundaries } = aggregation.options;
  requireOption(
    `${option}.aggregation.options.boundaries`,
    'a list of numbers',
    boundaries,
    areBoundaries(boundaries),
  );
}

/** @throws TypeError where it is no object, or naming a property that is set and not among these. */
function requireObjectOf(option: string, value: object, supported: readonly string[]): void {
  requireOption(option, 'an object', value, typeof value === 'object' && value !== null);
  for (const [key, given] of Object.entries(value)) {
    const isFine = supported.includes(key) || given === undefined;
    requireOption(
      `${option}.${key}`,
      `left out, as only ${supported.join(', ')} are supported`,
      given,
      isFine,
    );
  }
}

/** @throws TypeError where it is no limit. */
export function requireLimit(option: string, limit: number): void {
  requireOption(option, 'a whole number of at least 1', limit, Number.isSafeInteger(limit) && limit >= 1);
}

/** Whether it is a list of numbers, none of them NaN. */
export function areBoundaries(boundaries: unknown): boolean {
  return (
    Array.isArray(boundaries) && boundaries.every((one) => typeof one === 'number' && !Number.isNaN(one))
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
