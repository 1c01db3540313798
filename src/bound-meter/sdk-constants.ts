import type { AggregationTemporality, DataPointType, InstrumentType } from '@opentelemetry/sdk-metrics';

// The SDK's enums as values of our own, since the room needs nothing of the SDK but its types. A test compares them.

interface SdkEnums {
  readonly pointType: {
    readonly histogram: DataPointType.HISTOGRAM;
    readonly gauge: DataPointType.GAUGE;
    readonly sum: DataPointType.SUM;
  };
  readonly temporality: {
    readonly delta: AggregationTemporality.DELTA;
    readonly cumulative: AggregationTemporality.CUMULATIVE;
  };
}

const VALUES: unknown = {
  pointType: { histogram: 0, gauge: 2, sum: 3 },
  temporality: { delta: 0, cumulative: 1 },
};

/** `DataPointType`. */
export const POINT_TYPE: SdkEnums['pointType'] = (VALUES as SdkEnums).pointType;

/** `AggregationTemporality`. */
export const TEMPORALITY: SdkEnums['temporality'] = (VALUES as SdkEnums).temporality;

/** The values of `InstrumentType`. */
export type InstrumentKind = `${InstrumentType}`;

/** All values of `InstrumentType`. */
export const INSTRUMENT_KINDS: readonly InstrumentKind[] = [
  'COUNTER',
  'GAUGE',
  'HISTOGRAM',
  'UP_DOWN_COUNTER',
  'OBSERVABLE_COUNTER',
  'OBSERVABLE_GAUGE',
  'OBSERVABLE_UP_DOWN_COUNTER',
];

/** Whether an instrument adds up, and what it adds up never falls. */
export function isMonotonic(kind: InstrumentKind): boolean {
  return kind === 'COUNTER' || kind === 'OBSERVABLE_COUNTER';
}

/** Whether the last value of an instrument stands for all before it. */
export function isGauge(kind: InstrumentKind): boolean {
  return kind === 'GAUGE' || kind === 'OBSERVABLE_GAUGE';
}
