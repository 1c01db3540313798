// A service with an event loop of its own, which says of each scrape what it took.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { LongestBlock } from './longest-block.ts';
import { ENDPOINTS } from './scrape-endpoint.ts';
import type { ScrapeData, ScrapePath, ScrapeTimes, Started } from './scrape.ts';

const { position, engines } = workerData as ScrapeData;
const { name, handle, work } = await ENDPOINTS[position]!(engines);

const server = createServer((request, response) => {
  const path = request.url as ScrapePath;
  if (path !== '/first') work();
  const start = performance.now();
  // Watching turns the event loop without a pause, which takes its part of the time.
  const block = path !== '/timed' ? new LongestBlock() : undefined;
  response.once('finish', () => {
    const times: ScrapeTimes = {
      milliseconds: performance.now() - start,
      longestBlock: block?.stop() ?? Number.NaN,
    };
    parentPort?.postMessage(times, []);
  });
  handle(request, response);
});
server.listen(0, '127.0.0.1', () => {
  const started: Started = { name, port: (server.address() as AddressInfo).port };
  parentPort?.postMessage(started, []);
});
