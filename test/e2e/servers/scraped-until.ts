import { once } from 'node:events';
import type { Server } from 'node:http';

/**
 * Asks after each further scrape, at most 50.
 *
 * @throws Error where none of them brought it.
 */
export async function scrapedUntil(http: Server, holds: () => Promise<boolean>): Promise<void> {
  for (let scrape = 0; scrape < 50; scrape += 1) {
    if (await holds()) return;
    await once(http, 'request');
  }
  throw new Error('50 scrapes did not bring what was expected');
}
