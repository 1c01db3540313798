import { ValueType, type MetricOptions } from '@opentelemetry/api';
import type { MetricDescriptor } from '@opentelemetry/sdk-metrics';
import { warn } from '../metrics/warn.ts';
import type { InstrumentKind } from './sdk-constants.ts';

/** What a metric stream is, for readers and against namesakes. The same object as long as it does not change. */
export interface Descriptor extends MetricDescriptor {
  readonly type: InstrumentKind;
  /** Of a histogram. */
  readonly boundaries?: readonly number[];
}

/** "Instrument name syntax" in the specification's metrics API. */
const NAME = /^[a-z][a-z0-9_.\-/]{0,254}$/i;

/**
 * Describes the stream of a new instrument. An invalid name is warned of and kept, as the SDK does.
 *
 * @param viewName - The name that a View gives it, which need not be valid.
 */
export function describeInstrument(
  name: string,
  type: InstrumentKind,
  options: MetricOptions | undefined,
  viewName: string | undefined,
  boundaries: readonly number[] | undefined,
): Descriptor {
  if (!NAME.test(name))
    warn(`invalid instrument name ${JSON.stringify(name)}: see the specification's syntax`);
  return Object.freeze({
    name: viewName ?? name,
    description: options?.description ?? '',
    unit: options?.unit ?? '',
    valueType: options?.valueType ?? ValueType.DOUBLE,
    type,
    ...(boundaries && { boundaries }),
  });
}

/** Whether two instruments, once renamed by their Views, feed one stream. Names are case-insensitive. */
export function isIdentical(one: Descriptor, other: Descriptor): boolean {
  return (
    one.name.toLowerCase() === other.name.toLowerCase() &&
    one.type === other.type &&
    one.unit === other.unit &&
    one.valueType === other.valueType
  );
}
