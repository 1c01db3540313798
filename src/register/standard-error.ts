import { format } from 'node:util';

/** Writes a line to stderr, of whatever `console.error` would take. */
export function writeLine(...words: readonly unknown[]): void {
  process.stderr.write(`${format(...words)}\n`);
}

/** Says one line to whoever started the process, whatever the log level. */
export function complain(message: string): void {
  writeLine(`opentelemetry-instrumentation-vllm/register: ${message}`);
}
