import { describe, expect, it } from 'vitest';
import { startEndpoint } from './endpoint.ts';
import { keepAlive } from './scrape.ts';

/** How many handles of a type keep this process alive. */
function holding(type: string): number {
  return process.getActiveResourcesInfo().filter((name) => name === type).length;
}

describe('a running exporter', () => {
  // In a file of its own: sockets that another test leaves to close would count here.
  it('does not keep the process alive, with its server, an open connection and its timer', async () => {
    const timers = holding('Timeout');
    const starting = startEndpoint();
    expect(holding('Timeout')).toBe(timers);
    const { url } = await starting;
    // The client's end of an idle connection does not count, so what is left could only be the server's.
    await keepAlive(url);
    await new Promise(setImmediate);
    expect(holding('TCPServerWrap')).toBe(0);
    expect(holding('TCPSocketWrap')).toBe(0);
  });
});
