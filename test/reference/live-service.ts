import assert from 'node:assert/strict';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { parseExposition } from '../../examples/demo/exposition.ts';
import { VllmInstrumentation, vllmViews, type VllmRequest } from '../../src/index.ts';
import { VllmPrometheusExporter } from '../../src/prometheus/index.ts';
import { scrape } from '../prometheus/scrape.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { EPOCH, type Action } from './action.ts';
import type { ModelOptions } from './model.ts';
import { keyOf } from './series.ts';

/** The instrumentation, the SDK's MeterProvider and the exporter, doing the actions of a stream. */
export class LiveService {
  readonly #vllm: VllmInstrumentation;
  readonly #clock = new ManualClock();
  readonly #exporter = new VllmPrometheusExporter({ host: '127.0.0.1', port: 0 });
  readonly #provider: MeterProvider;
  readonly #requests = new Map<number, VllmRequest>();

  constructor(options: ModelOptions) {
    this.#clock.wall = EPOCH;
    this.#clock.monotonic = 0;
    this.#provider = new MeterProvider({
      resource: resourceFromAttributes({}),
      readers: [this.#exporter],
      views: [...vllmViews()],
    });
    this.#vllm = new VllmInstrumentation({ ...options, clock: this.#clock });
    this.#vllm.setMeterProvider(this.#provider);
  }

  /** Does one action. Gives what was scraped, where the action is that. */
  async apply(action: Action): Promise<ReadonlyMap<string, number> | undefined> {
    this.#clock.wall = EPOCH + action.at;
    this.#clock.monotonic = action.at;
    const vllm = this.#vllm;
    switch (action.kind) {
      case 'start':
        this.#requests.set(action.request, vllm.engine(action.engine).startRequest(action.options));
        break;
      case 'end': {
        const request = this.#requests.get(action.request);
        const ended = action.choice === undefined ? request : request?.choices[action.choice];
        ended?.end(action.reason, { receivedAt: action.receivedAt });
        break;
      }
      case 'message':
        vllm.observe(action.message, action.receivedAt);
        break;
      case 'statistics':
        vllm.engine(action.engine).recordSchedulerStats(action.stats);
        break;
      case 'cacheConfig':
        vllm.engine(action.engine).recordCacheConfig(action.config);
        break;
      case 'sleep':
        vllm.engine(action.engine).recordSleep(action.level);
        break;
      case 'wake':
        vllm.engine(action.engine).recordWake();
        break;
      case 'multiModalCache':
        vllm.engine(action.engine).recordMultiModalCacheStats(action);
        break;
      case 'toolCallParser':
        vllm.recordToolCallParserInvocation(action);
        break;
      case 'addEngine':
        vllm.engine(action.engine);
        break;
      case 'removeEngine':
        vllm.removeEngine(action.engine);
        break;
      case 'scrape':
        return this.#scrape();
    }
    return undefined;
  }

  /** Removes its engines: as long as one instrumentation of the process has an engine, readers expose its histograms. */
  async shutdown(): Promise<void> {
    for (const index of this.#vllm.engineIndices) this.#vllm.removeEngine(index);
    await this.#provider.shutdown();
  }

  /** Every sample by its name and labels. Each line is one, or a comment. */
  async #scrape(): Promise<ReadonlyMap<string, number>> {
    await this.#exporter.startServer();
    const { status, body } = await scrape(this.#exporter.url!, { accept: 'text/plain' });
    assert.equal(status, 200);
    const text = body.toString();
    const samples = parseExposition(text);
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    assert.equal(samples.length, lines.length, 'lines that are samples');
    const byKey = new Map(
      samples.map(({ name, labels, value }) => [keyOf(name, Object.fromEntries(labels)), value]),
    );
    assert.equal(byKey.size, lines.length, 'samples that are distinct');
    return byKey;
  }
}
