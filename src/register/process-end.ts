import type { Telemetry } from './telemetry.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Sends the last of the telemetry when the process ends, and otherwise leaves the ending as it is: a signal that the
 * application does not handle ends the process, and one that it handles is its own affair.
 */
export function shutDownAtProcessEnd(telemetry: Telemetry): void {
  const onSignal = async (signal: NodeJS.Signals): Promise<void> => {
    // This listener is gone by now: libraries that pass a signal on where nobody else handles it must find nobody.
    if (process.listenerCount(signal) > 0) {
      await telemetry.flush();
      return;
    }
    // The next signal ends the process at once.
    for (const other of SIGNALS) process.removeListener(other, onSignal);
    await telemetry.shutdown();
    process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.once(signal, onSignal);
  process.once('beforeExit', async () => {
    const alone = process.listenerCount('beforeExit') === 0;
    // Retries of an exporter would hold the process beyond the limit.
    if (!(await telemetry.shutdown()) && alone) process.exit();
  });
}
