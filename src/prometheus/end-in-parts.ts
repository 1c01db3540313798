import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { TimeSlice } from '../metrics/time-slice.ts';

/** Bytes: what the operating system copies in well under a millisecond. */
const PART_LENGTH = 262_144;

/**
 * Ends a response with a body, handing it over part by part: a body of megabytes at once would block the event loop for
 * as long as the operating system takes to copy it. Resolves when the operating system has all of it.
 *
 * @throws Error (rejects) where the client has gone.
 */
export function endInParts(response: ServerResponse, body: Buffer): Promise<void> {
  return pipeline(partsOf(body), response);
}

async function* partsOf(body: Buffer): AsyncGenerator<Buffer, void> {
  const slice = new TimeSlice();
  for (let start = 0; start < body.length; start += PART_LENGTH) {
    yield body.subarray(start, start + PART_LENGTH);
    if (slice.isOver) await slice.next();
  }
}
