import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { parseExposition } from '../../examples/demo/exposition.ts';
import type { Effort } from './candidate.ts';
import { summarize } from './compare.ts';
import { requireSameCounts, type Counts } from './counts.ts';
import { ENDPOINTS } from './scrape-endpoint.ts';
import { relativeTo, type Table } from './table.ts';

/** What a service's thread is started with. */
export interface ScrapeData {
  /** Position of the endpoint. */
  readonly position: number;
  readonly engines: number;
}

/** What it says once it listens. */
export interface Started {
  readonly name: string;
  readonly port: number;
}

/**
 * A kind of scrape: the first one, without more work than has been done; one after more work; and such a one whose blocks
 * are watched, as the first one's are.
 */
export type ScrapePath = '/first' | '/timed' | '/watched';

/** What it says of a scrape. */
export interface ScrapeTimes {
  /** From the request until all of the answer is with the operating system. */
  readonly milliseconds: number;
  /** Milliseconds; NaN where that was not watched. */
  readonly longestBlock: number;
}

/**
 * A scrape of 64 engines with every metric on, plain text, over HTTP: what it takes, and, in scrapes of their own, for how
 * long the service's event loop does nothing else, garbage collection included. Nearly all series change before each.
 */
export async function scrape({ rounds, scale }: Effort): Promise<Table> {
  const engines = Math.ceil(64 * scale);
  const services: Service[] = [];
  try {
    for (const position of ENDPOINTS.keys()) services.push(await Service.start({ position, engines }));
    await requireSameCounts(services);
    const { samples } = await services[0]!.counts();
    for (const service of services) await service.warmUp();
    const times = services.map((): number[] => []);
    const blocks = services.map((): number[] => []);
    for (let round = 0; round < rounds; round += 1) {
      for (const [position, service] of services.entries()) {
        times[position]!.push((await service.scrape('/timed')).milliseconds);
        blocks[position]!.push((await service.scrape('/watched')).longestBlock);
      }
    }
    const relative = relativeTo(summarize(times.at(-1)!).median);
    return {
      title: `Scrape of ${engines} engines with everything on, ${samples} samples`,
      columns: [
        { name: 'ms', digits: 1 },
        { name: 'fastest', digits: 1 },
        { name: 'slowest', digits: 1 },
        { name: 'relative', digits: 2, suffix: '×' },
        { name: 'longest block, ms', digits: 1 },
        { name: 'shortest of all', digits: 1 },
        { name: 'longest of all', digits: 1 },
        { name: 'first scrape, ms', digits: 1 },
        { name: 'its longest block', digits: 1 },
      ],
      rows: services.map(({ name, first }, position) => {
        const time = summarize(times[position]!);
        const block = summarize(blocks[position]!);
        return {
          name,
          values: [
            time.median,
            time.fastest,
            time.slowest,
            relative(time.median),
            block.median,
            block.fastest,
            block.slowest,
            first.milliseconds,
            first.longestBlock,
          ],
        };
      }),
    };
  } finally {
    await Promise.all(services.map((service) => service.close()));
  }
}

/** A scrape, and what it gave. */
interface Scrape extends ScrapeTimes {
  readonly text: ArrayBuffer;
}

/** So many until the compiler has seen what there is. */
const WARM_UP_SCRAPES = 20;

/** A service in a thread of its own, and this one as its client. */
class Service {
  readonly name: string;
  readonly #worker: Worker;
  readonly #origin: string;
  #first: Scrape | undefined;

  static async start(workerData: ScrapeData): Promise<Service> {
    const worker = new Worker(new URL('scrape-thread.ts', import.meta.url), { workerData });
    const [started] = (await once(worker, 'message')) as [Started];
    const service = new Service(worker, started);
    service.#first = await service.scrape('/first');
    return service;
  }

  private constructor(worker: Worker, { name, port }: Started) {
    this.name = name;
    this.#worker = worker;
    this.#origin = `http://127.0.0.1:${port}`;
  }

  /** The first scrape of all. */
  get first(): Scrape {
    return this.#first!;
  }

  async warmUp(): Promise<void> {
    for (let scrapes = 0; scrapes < WARM_UP_SCRAPES; scrapes += 1) await this.scrape('/timed');
  }

  async scrape(path: ScrapePath): Promise<Scrape> {
    const told = once(this.#worker, 'message') as Promise<[ScrapeTimes]>;
    const response = await fetch(`${this.#origin}${path}`, { headers: HEADERS });
    if (!response.ok) throw new Error(`${this.name} answered with ${response.status}`);
    const text = await response.arrayBuffer();
    const [times] = await told;
    return { ...times, text };
  }

  /** What a scrape has of vLLM's metrics: counts of samples are whole numbers, unlike sums of latencies. */
  async counts(): Promise<Counts> {
    const samples = parseExposition(new TextDecoder().decode(this.first.text)).filter(({ name }) =>
      /^vllm[:_]/.test(name),
    );
    const sumOf = (suffix: string): number =>
      samples.filter(({ name }) => name.endsWith(suffix)).reduce((sum, { value }) => sum + value, 0);
    return {
      samples: samples.length,
      counters: sumOf('_total'),
      histogramCounts: sumOf('_count'),
      bucketCounts: sumOf('_bucket'),
    };
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

const HEADERS = { accept: 'text/plain;version=0.0.4', 'accept-encoding': 'identity', connection: 'close' };
