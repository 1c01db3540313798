import type { HrTime } from '@opentelemetry/api';

/** The wall-clock time as OpenTelemetry writes it: seconds since the epoch, and nanoseconds. */
export function wallTime(): HrTime {
  const millis = Date.now();
  return [Math.floor(millis / 1000), (millis % 1000) * 1e6];
}
