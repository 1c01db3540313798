import type { SpanKind, Tracer } from '@opentelemetry/api';
import type { Drops } from '../metrics/drops.ts';
import type { SeriesStore } from '../metrics/series-store.ts';
import type { Clock } from '../request/clock.ts';
import type { LoraRequests } from '../request/lora-requests.ts';

/** What the engines of one instrumentation share. */
export interface EngineSettings {
  readonly modelName: string;
  readonly store: SeriesStore;
  readonly drops: Drops;
  readonly clock: Clock;
  readonly spanKind: SpanKind;
  readonly exemplars: boolean;
  readonly trackUnknownRequests: boolean;
  readonly isDiffusion: boolean;
  readonly lora: LoraRequests;
  /** The tracer of the current provider. */
  readonly tracer: Tracer;
  readonly enabled: boolean;
  /** Connects to the global MeterProvider where that is the one to use and has changed. */
  readonly followProvider: () => void;
  /** Says once that no ContextManager is registered, where that is so. */
  readonly checkPropagation: () => void;
}
