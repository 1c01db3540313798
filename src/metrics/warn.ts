import { diag } from '@opentelemetry/api';
import { SCOPE_NAME } from './scope.ts';

/** Says something through `diag`. Never throws, whatever the logger does. */
export function warn(message: string): void {
  try {
    diag.warn(`${SCOPE_NAME}: ${message}`);
  } catch {
    // A diag logger that throws must not reach the service.
  }
}
