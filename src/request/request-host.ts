import type { SpanKind, Tracer } from '@opentelemetry/api';
import type { Drops } from '../metrics/drops.ts';
import type { Clock } from './clock.ts';
import type { LiveRequests } from './live-requests.ts';
import type { LoraRequests } from './lora-requests.ts';
import type { RequestSeries } from './request-series.ts';

/** What a request needs of the engine it runs on. */
export interface RequestHost {
  readonly index: number;
  readonly modelName: string;
  readonly series: RequestSeries;
  readonly live: LiveRequests;
  readonly lora: LoraRequests;
  readonly drops: Drops;
  readonly clock: Clock;
  readonly spanKind: SpanKind;
  readonly tracer: Tracer;
  /** Whether what sampled requests record may become exemplars. */
  readonly exemplars: boolean;
  /** Connects to the global MeterProvider where that is the one to use and has changed. */
  readonly followProvider: () => void;
  /** True once messages with outputs of the engine have been observed: these end its requests, as a rule. */
  outputsObserved: boolean;
}
