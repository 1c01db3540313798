import { contentOf, type TextSegment } from './token-sequence.ts';
import { TraceError } from './trace-error.ts';
import type { WorkloadRequest } from './workload.ts';

/** Tokens that one hash id of the trace stands for; the last id of a prompt may stand for fewer. */
const HASHED_TOKENS = 512;

interface Row {
  readonly timestamp: number;
  readonly input_length: number;
  readonly output_length: number;
  readonly hash_ids: readonly number[];
}

/**
 * Reads the public Mooncake traces: JSON lines with `timestamp` (milliseconds), `input_length`, `output_length`
 * and `hash_ids`, which name the prompt's blocks of 512 tokens. The first request arrives at 0. Prompts with the same
 * ids at their beginning find each other's blocks in the cache.
 *
 * @param text The whole file.
 * @throws TraceError naming the line that is not as it should be.
 */
export function parseMooncakeTrace(text: string): readonly WorkloadRequest[] {
  const requests: WorkloadRequest[] = [];
  let origin: number | undefined;
  let previous = 0;
  for (const [index, row] of text.split(/\r?\n/).entries()) {
    if (row === '') continue;
    const line = index + 1;
    const { timestamp, input_length, output_length, hash_ids } = parseRow(row, line);
    if (timestamp < previous)
      throw new TraceError(line, 'the timestamp is before that of the previous request');
    previous = timestamp;
    origin ??= timestamp;
    requests.push({
      id: `request-${requests.length + 1}`,
      arrival: (timestamp - origin) / 1000,
      prompt: hash_ids.map((id, position): TextSegment => {
        const remaining = input_length - position * HASHED_TOKENS;
        return { content: contentOf(`block ${id}`), tokens: Math.min(remaining, HASHED_TOKENS) };
      }),
      outputTokens: output_length,
    });
  }
  if (requests.length === 0) throw new TraceError(1, 'the trace has no requests');
  return requests;
}

function parseRow(text: string, line: number): Row {
  const row = parseObject(text, line);
  const timestamp = integerOf(row, 'timestamp', 0, line);
  const input_length = integerOf(row, 'input_length', 1, line);
  const output_length = integerOf(row, 'output_length', 1, line);
  const { hash_ids } = row;
  if (!Array.isArray(hash_ids) || !hash_ids.every((id) => Number.isSafeInteger(id))) {
    throw new TraceError(line, 'hash_ids must be an array of integers');
  }
  const expected = Math.ceil(input_length / HASHED_TOKENS);
  if (hash_ids.length !== expected) {
    throw new TraceError(
      line,
      `an input_length of ${input_length} needs ${expected} hash_ids, got ${hash_ids.length}`,
    );
  }
  return { timestamp, input_length, output_length, hash_ids };
}

function parseObject(text: string, line: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return { ...value };
  } catch {
    // Told below, like every other value that is not an object.
  }
  throw new TraceError(line, 'expected a JSON object');
}

function integerOf(row: Record<string, unknown>, name: string, least: number, line: number): number {
  const value = row[name];
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least) {
    throw new TraceError(line, `${name} must be an integer of at least ${least}`);
  }
  return value;
}
