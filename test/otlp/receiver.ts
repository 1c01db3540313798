import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request that arrived. */
export interface Arrival {
  readonly path: string | undefined;
  readonly contentType: string | undefined;
  readonly body: Buffer;
}

/** How to answer a request; `index` counts the requests from 0. */
export type Answer = (response: ServerResponse, index: number) => void;

/** An HTTP server in the place of a collector. */
export interface Receiver {
  readonly url: string;
  /** What arrived so far, in order. */
  readonly arrivals: readonly Arrival[];
  /** Resolves when this many requests have arrived. */
  arrived(count: number): Promise<void>;
}

export const accept: Answer = (response) => response.end();

/** Starts a receiver that lasts until the test ends. */
export async function startReceiver(answer: Answer = accept): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    arrivals.push({ path: request.url, contentType: request.headers['content-type'], body });
    for (const { count, resolve } of waiting) if (arrivals.length >= count) resolve();
    answer(response, arrivals.length - 1);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    arrived: (count) =>
      new Promise((resolve) => {
        if (arrivals.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
  };
}

/** An address that nobody listens on. */
export async function closedAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
