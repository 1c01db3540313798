import { diag, DiagLogLevel } from '@opentelemetry/api';
import { onTestFinished } from 'vitest';

function ignore(): void {}

/** What the exporter says through `diag` until the test ends, each line with its level. */
export function captureDiag(): string[] {
  const lines: string[] = [];
  const capture =
    (level: string) =>
    (message: string): void => {
      if (message.startsWith('opentelemetry-instrumentation-vllm')) lines.push(`${level}: ${message}`);
    };
  diag.setLogger(
    { error: capture('error'), warn: capture('warn'), info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.ALL, suppressOverrideMessage: true },
  );
  onTestFinished(() => diag.disable());
  return lines;
}
