import type {
  AggregationTemporality,
  AggregationTemporalitySelector,
  InstrumentType,
} from '@opentelemetry/sdk-metrics';
import { requireOption } from '../metrics/require-option.ts';
import { INSTRUMENT_KINDS, TEMPORALITY, type InstrumentKind } from './sdk-constants.ts';

/**
 * What values are counted from: `cumulative`, from the start of each series; `delta`, from the last collection. With
 * `delta`, up-down counters stay cumulative, as with the specification's temporality preference of OTLP exporters.
 * A selector decides for each type of instrument, an exporter's own say.
 */
export type ProducerTemporality = 'cumulative' | 'delta' | AggregationTemporalitySelector;

/** Resolves the option once; a selector is called here and never again. @throws TypeError where it is not valid. */
export function resolveTemporality(
  temporality: ProducerTemporality,
): (kind: InstrumentKind) => AggregationTemporality {
  const isPreference = temporality === 'cumulative' || temporality === 'delta';
  requireOption(
    'temporality',
    "'cumulative', 'delta' or a selector",
    temporality,
    isPreference || typeof temporality === 'function',
  );
  const deltas = new Set<InstrumentKind>();
  for (const kind of INSTRUMENT_KINDS) {
    const chosen = isPreference ? prefer(temporality, kind) : temporality(kind as unknown as InstrumentType);
    requireOption(
      `temporality of ${kind}`,
      'an AggregationTemporality',
      chosen,
      chosen === TEMPORALITY.delta || chosen === TEMPORALITY.cumulative,
    );
    if (chosen === TEMPORALITY.delta) deltas.add(kind);
  }
  return (kind) => (deltas.has(kind) ? TEMPORALITY.delta : TEMPORALITY.cumulative);
}

function prefer(preference: 'cumulative' | 'delta', kind: InstrumentKind): AggregationTemporality {
  const staysCumulative = kind === 'UP_DOWN_COUNTER' || kind === 'OBSERVABLE_UP_DOWN_COUNTER';
  return preference === 'delta' && !staysCumulative ? TEMPORALITY.delta : TEMPORALITY.cumulative;
}
