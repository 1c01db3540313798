import type { IncomingMessage, ServerResponse } from 'node:http';
import { withDeadline } from './deadline.ts';
import { messageOf } from '../metrics/message-of.ts';
import { contentType } from './exposition-format.ts';
import type { Exposition } from './exposition.ts';
import { endInParts } from './end-in-parts.ts';
import { negotiateFormat, prefersGzip } from './negotiation.ts';

/** Bodies of fewer bytes fit one packet as they are. */
const MIN_GZIP_LENGTH = 1024;

/** The part of Prometheus' own time limit that a scrape may use, so that the answer still arrives within it. */
const LIMIT_SHARE = 0.9;

/**
 * Answers a request for metrics, whatever its path: 200 with the exposition in the format and encoding the request
 * prefers, 503 with the reason where there is none in time, 405 for methods other than GET and HEAD. Rejects only where the response itself can't be written to.
 *
 * @param maxMillis - The time limit; Prometheus' `X-Prometheus-Scrape-Timeout-Seconds` can only make it shorter.
 * @param expose - Collects within a time limit.
 */
export async function answerScrape(
  request: IncomingMessage,
  response: ServerResponse,
  maxMillis: number,
  expose: (limitMillis: number) => Promise<Exposition>,
): Promise<void> {
  const isHead = request.method === 'HEAD';
  if (request.method !== 'GET' && !isHead) {
    respond(response, 405, { Allow: 'GET, HEAD' }, 'only GET and HEAD are answered here\n');
    return;
  }
  try {
    const limitMillis = timeLimit(request, maxMillis);
    const format = negotiateFormat(request.headers.accept);
    const exposition = await withDeadline(expose(limitMillis), limitMillis, 'the collection');
    await exposition.lend(format, async (plain) => {
      const isZipped = plain.length >= MIN_GZIP_LENGTH && prefersGzip(request.headers['accept-encoding']);
      const body = isZipped ? await exposition.zip(format, plain) : plain;
      const headers = {
        'Content-Type': contentType(format),
        Vary: 'Accept, Accept-Encoding',
        ...(isZipped && { 'Content-Encoding': 'gzip' }),
      };
      if (!writeHead(response, 200, headers, body)) return;
      if (isHead) response.end();
      else await endInParts(response, body);
    });
  } catch (error) {
    respond(response, 503, {}, `no metrics: ${messageOf(error)}\n`, isHead);
  }
}

/** Writes a whole answer, unless something else has answered. */
export function respond(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
  isHead = false,
): void {
  if (writeHead(response, status, headers, body)) response.end(isHead ? undefined : body);
}

/** Writes the head of an answer, unless something else has answered: then false. */
function writeHead(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
): boolean {
  if (response.headersSent) return false;
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  });
  return true;
}

function timeLimit(request: IncomingMessage, maxMillis: number): number {
  const seconds = Number(request.headers['x-prometheus-scrape-timeout-seconds']);
  return seconds > 0 ? Math.min(maxMillis, Math.ceil(seconds * 1000 * LIMIT_SHARE)) : maxMillis;
}
