import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { vi } from 'vitest';
import { Frontend } from '../../../examples/demo/frontend.ts';
import type { Scenario } from '../../../examples/demo/scenario.ts';
import type { SimulationEvent } from '../../../examples/simulated-engine/simulation.ts';
import { BoundMeterProvider } from '../../../src/bound-meter/index.ts';
import { VllmInstrumentation, vllmViews } from '../../../src/index.ts';
import { ConfirmingMetricReader } from '../../../src/otlp/index.ts';
import { VllmPrometheusExporter } from '../../../src/prometheus/index.ts';
import { Traced } from '../../support/traced.ts';
import type { Exposition } from './moment-endpoint.ts';
import { TellingRun, toldOf, type ToldRequest } from './telling-run.ts';

/** What a {@link SimulatedService} runs, and whereto. */
export interface SimulatedServiceOptions {
  readonly scenario: Scenario;
  /** Unix seconds at the beginning of the simulation. */
  readonly epoch: number;
  readonly serviceName: string;
  readonly instanceId: string;
  readonly otlpUrl: string;
}

/** A frontend of simulated engines, with a scrape endpoint and an OTLP exporter, on the simulation's clock. */
export class SimulatedService {
  readonly traced: Traced = new Traced();
  readonly #scenario: Scenario;
  readonly #epoch: number;
  readonly #events: Iterator<SimulationEvent, void>;
  readonly #frontend: Frontend;
  readonly #telling: TellingRun;
  readonly #scraped: VllmPrometheusExporter;
  readonly #pushed: ConfirmingMetricReader;
  readonly #provider: MeterProvider;
  #upcoming: SimulationEvent | undefined;

  constructor({ scenario, epoch, serviceName, instanceId, otlpUrl }: SimulatedServiceOptions) {
    this.#scenario = scenario;
    this.#epoch = epoch;
    this.#events = scenario.simulation[Symbol.iterator]();
    const bound = new BoundMeterProvider({ views: vllmViews() });
    this.#scraped = new VllmPrometheusExporter({
      host: '127.0.0.1',
      port: 0,
      metricProducers: [bound.producer()],
    });
    this.#pushed = new ConfirmingMetricReader({
      exporter: new OTLPMetricExporter({ url: otlpUrl }),
      metricProducers: [bound.producer()],
      // Only when told to.
      exportIntervalMillis: 2 ** 31 - 1,
    });
    this.#provider = new MeterProvider({
      resource: resourceFromAttributes({ 'service.name': serviceName, 'service.instance.id': instanceId }),
      readers: [this.#scraped, this.#pushed],
    });
    const vllm = new VllmInstrumentation({ modelName: 'simulated', maxLoras: 4 });
    vllm.setMeterProvider(bound);
    vllm.setTracerProvider(this.traced.provider);
    this.#telling = new TellingRun(
      vllm,
      scenario.simulation.engines.map(({ index }) => index),
    );
    this.#frontend = new Frontend(vllm, epoch);
  }

  /** The simulator's own log, as it was told. */
  get records(): readonly ToldRequest[] {
    return this.#scenario.simulation.log.records.map(toldOf);
  }

  /**
   * Goes on to a moment of the simulation, exports over OTLP and is scraped there.
   *
   * @param accept The Accept header of the scrape.
   */
  async readAt(moment: number, accept: string): Promise<Exposition> {
    // What the providers date by themselves, they date by the simulation.
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      this.#advance(moment);
      this.#setClock(moment);
      const outcome = await this.#pushed.flush();
      if (!outcome.delivered) throw outcome.error;
      await this.#scraped.startServer();
      const response = await fetch(this.#scraped.url!, { headers: { accept } });
      return { contentType: response.headers.get('content-type') ?? '', body: await response.text() };
    } finally {
      vi.useRealTimers();
    }
  }

  stop(): Promise<void> {
    return this.#provider.shutdown();
  }

  #advance(moment: number): void {
    for (;;) {
      this.#upcoming ??= this.#events.next().value ?? undefined;
      if (this.#upcoming === undefined || this.#upcoming.at > moment) return;
      this.#setClock(this.#upcoming.at);
      this.#frontend.handle(this.#telling.tell(this.#upcoming));
      this.#upcoming = undefined;
    }
  }

  #setClock(simulatedSeconds: number): void {
    vi.setSystemTime((this.#epoch + simulatedSeconds) * 1000);
  }
}
