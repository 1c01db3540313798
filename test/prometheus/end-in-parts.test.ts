import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endInParts } from '../../src/prometheus/end-in-parts.ts';
import { scrape } from './scrape.ts';

/** A real server whose next response the test answers. */
async function startServer() {
  const server = createServer();
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const response = once(server, 'request').then(([, one]) => one as ServerResponse);
  return { url, response };
}

describe('endInParts', () => {
  it.each([
    [0, []],
    [5, [5]],
    [262_144, [262_144]],
    [600_000, [262_144, 262_144, 75_712]],
  ])(
    'writes a body of %d bytes in parts, and waits until all of them are with the operating system',
    async (length, parts) => {
      const { url, response: request } = await startServer();
      const answer = scrape(url);
      const response = await request;
      const written: number[] = [];
      const write = response.write.bind(response) as (chunk: Buffer, ...rest: never[]) => boolean;
      response.write = (chunk: Buffer, ...rest: unknown[]) => {
        written.push(chunk.length);
        return write(chunk, ...(rest as never[]));
      };
      const body = Buffer.from(Array.from({ length }, (_, index) => index % 251));
      await endInParts(response, body);
      expect(response.writableFinished).toBe(true);
      expect(written).toEqual(parts);
      expect((await answer).body.equals(body)).toBe(true);
    },
  );

  it('rejects where the client has gone', async () => {
    const { url, response: request } = await startServer();
    const outgoing = get(url, { agent: false });
    outgoing.on('error', () => {});
    const response = await request;
    const arrived = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    const ending = endInParts(response, Buffer.alloc(64 * 1024 * 1024));
    const [incoming] = await arrived;
    incoming.on('error', () => {});
    outgoing.destroy();
    await expect(ending).rejects.toBeInstanceOf(Error);
    expect(response.destroyed).toBe(true);
  });
});
