import { once } from 'node:events';
import {
  Agent,
  get,
  request,
  type IncomingMessage,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** The whole answer to one request. */
export interface Scraped {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Asks over real HTTP, on a connection of its own. */
export function scrape(url: string, headers: OutgoingHttpHeaders = {}, method = 'GET'): Promise<Scraped> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) });
      });
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

/** Scrapes, and leaves the connection open until the test ends. */
export async function keepAlive(url: string): Promise<Socket> {
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage];
  const { socket } = response;
  response.resume();
  await once(agent, 'free');
  return socket;
}

export const OPEN_METRICS_ACCEPT = 'application/openmetrics-text;version=1.0.0';
