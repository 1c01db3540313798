import type { Metric } from '../metric.ts';
import { connectorMetrics } from './connectors.ts';
import { frontendMetrics } from './frontend.ts';
import { requestMetrics } from './requests.ts';
import { schedulerMetrics } from './scheduler.ts';
import { tokenMetrics } from './tokens.ts';

/**
 * Every metric this package knows. Instruments, Views, series, `docs/metrics.md` and tests are made from it.
 */
export const catalogue: readonly Metric[] = [
  ...requestMetrics,
  ...tokenMetrics,
  ...schedulerMetrics,
  ...connectorMetrics,
  ...frontendMetrics,
];
