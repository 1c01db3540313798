import { contentOf } from './token-sequence.ts';
import { TraceError } from './trace-error.ts';
import type { WorkloadRequest } from './workload.ts';

const HEADER = 'TIMESTAMP,ContextTokens,GeneratedTokens';

const ROW =
  /^(?<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?<fraction>\.\d{1,9})?,(?<context>\d+),(?<generated>\d+)$/;

/** A time to 100 nanoseconds, as the traces have it: more than a Date, or a number of seconds since 1970, can hold. */
interface Instant {
  readonly second: number;
  readonly fraction: number;
}

interface Row {
  readonly at: Instant;
  readonly context: number;
  readonly generated: number;
}

/**
 * Reads the public Azure LLM inference traces: CSV with the columns `TIMESTAMP,ContextTokens,GeneratedTokens`. The
 * first request arrives at 0. The traces do not say which prompts begin alike, so none do.
 *
 * @param text The whole file.
 * @throws TraceError naming the line that is not as it should be.
 */
export function parseAzureTrace(text: string): readonly WorkloadRequest[] {
  const [header, ...rows] = text.split(/\r?\n/);
  if (header !== HEADER) throw new TraceError(1, `expected the header ${HEADER}`);
  const requests: WorkloadRequest[] = [];
  let origin: Instant | undefined;
  let previous = 0;
  for (const [index, row] of rows.entries()) {
    if (row === '') continue;
    const line = index + 2;
    const { at, context, generated } = parseRow(row, line);
    origin ??= at;
    const arrival = at.second - origin.second + (at.fraction - origin.fraction);
    if (arrival < previous)
      throw new TraceError(line, 'the timestamp is before that of the previous request');
    previous = arrival;
    const id = `request-${requests.length + 1}`;
    requests.push({
      id,
      arrival,
      prompt: [{ content: contentOf(`prompt of ${id}`), tokens: context }],
      outputTokens: generated,
    });
  }
  if (requests.length === 0) throw new TraceError(2, 'the trace has no requests');
  return requests;
}

function parseRow(row: string, line: number): Row {
  const { date = '', fraction = '0', context, generated } = ROW.exec(row)?.groups ?? {};
  const second = Date.parse(`${date.replace(' ', 'T')}Z`) / 1000;
  if (Number.isNaN(second)) {
    throw new TraceError(line, 'expected a row like 2023-11-16 18:17:03.9799600,4808,10');
  }
  const counts = { context: Number(context), generated: Number(generated) };
  if (counts.context < 1) throw new TraceError(line, 'ContextTokens must be at least 1');
  if (counts.generated < 1) throw new TraceError(line, 'GeneratedTokens must be at least 1');
  return { at: { second, fraction: Number(fraction) }, ...counts };
}
