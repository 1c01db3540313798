export type { FlushOutcome } from './confirmation.ts';
export { ConfirmingMetricReader, type ConfirmOptions } from './confirming-metric-reader.ts';
