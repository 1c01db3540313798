import { diag, DiagLogLevel } from '@opentelemetry/api';
import { onTestFinished } from 'vitest';

const ignore = (): void => {};

/** What is warned of through `diag` until the test ends: by this package, or by whoever begins otherwise. */
export function captureDiag(start = 'opentelemetry-instrumentation-vllm'): readonly string[] {
  const lines: string[] = [];
  const capture = (message: string): void => {
    if (message.startsWith(start)) lines.push(message);
  };
  diag.setLogger(
    { error: capture, warn: capture, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.ALL, suppressOverrideMessage: true },
  );
  onTestFinished(() => diag.disable());
  return lines;
}
