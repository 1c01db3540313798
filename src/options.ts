import { SpanKind } from '@opentelemetry/api';
import { requireMaxModelLen } from './metrics/boundaries.ts';
import { requireOption } from './metrics/require-option.ts';
import { SYSTEM_CLOCK, type Clock } from './request/clock.ts';
import { resolveStatsLoggerOptions, type StatsLoggerOptions } from './stats-log/stats-logger-options.ts';

/** Options of `VllmInstrumentation`. */
export interface VllmInstrumentationOptions {
  /** The served model's name, as in the `model_name` label. Required. */
  readonly modelName: string;
  /**
   * The model's context length in tokens, which sizes the buckets of token counts. Default: vLLM's fixed list up to
   * 131072. Views with a length of their own win.
   */
  readonly maxModelLen?: number | undefined;
  /**
   * False records nothing until `setConfig({ enabled: true })`; registering the instrumentation does not change
   * that. Default true.
   */
  readonly enabled?: boolean | undefined;
  /** Kind of the requests' spans. Default `SpanKind.SERVER`, as in vLLM. */
  readonly spanKind?: SpanKind | undefined;
  /**
   * True starts a request at the first output of an id that no request has, for a frontend that does not call
   * `startRequest` itself. Such requests have no samples of time to first token and end-to-end latency, since nobody
   * saw them arrive, and none of max_tokens; each choice counts as a request with one. Default false: outputs of unknown ids are counted.
   */
  readonly trackUnknownRequests?: boolean | undefined;
  /**
   * True for a diffusion language model, whose engine reports its denoising in the fields of speculative decoding.
   * Default false.
   */
  readonly isDiffusion?: boolean | undefined;
  /**
   * How many LoRA adapters an engine runs at a time (vLLM's `max_loras`), for the label `max_lora`. Default: not known,
   * and then `vllm:lora_requests_info` appears with the first request that has an adapter.
   */
  readonly maxLoras?: number | undefined;
  /**
   * Prints the periodic stats log while the instrumentation is enabled, with the options of `StatsLogger`, the default
   * of its clock apart, which is this instrumentation's. Default: no log.
   */
  readonly statsLog?: StatsLoggerOptions | undefined;
  /**
   * Whether histograms keep, for each bucket, the last sample of a request whose span is sampled, for
   * `VllmPrometheusExporter` to write in OpenMetrics: with any MeterProvider, and at most about 250 bytes for each bucket.
   * Default true.
   */
  readonly exemplars?: boolean | undefined;
  /** The clocks to use where a caller gives no time. Default: those of this process. */
  readonly clock?: Clock | undefined;
}

/** {@link VllmInstrumentationOptions}, checked and complete. */
export interface ResolvedOptions {
  readonly modelName: string;
  readonly maxModelLen: number | undefined;
  readonly enabled: boolean;
  readonly spanKind: SpanKind;
  readonly trackUnknownRequests: boolean;
  readonly isDiffusion: boolean;
  readonly maxLoras: number | undefined;
  readonly statsLog: StatsLoggerOptions | undefined;
  readonly exemplars: boolean;
  readonly clock: Clock;
}

/** @throws TypeError naming the option, what it may be and what came. */
export function resolveOptions(options: VllmInstrumentationOptions): ResolvedOptions {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(
      `VllmInstrumentation takes an object with at least modelName; got ${String(options)}`,
    );
  }
  const {
    modelName,
    maxModelLen,
    enabled = true,
    spanKind = SpanKind.SERVER,
    trackUnknownRequests = false,
    isDiffusion = false,
    maxLoras,
    statsLog,
    exemplars = true,
    clock = SYSTEM_CLOCK,
  } = options;
  requireOption(
    'modelName',
    'a non-empty string, the name the model is served under',
    modelName,
    isText(modelName),
  );
  for (const [name, value] of Object.entries({ enabled, trackUnknownRequests, isDiffusion, exemplars })) {
    requireOption(name, 'true or false', value, typeof value === 'boolean');
  }
  requireOption(
    'maxLoras',
    'a whole number of adapters, 1 or more',
    maxLoras,
    maxLoras === undefined || (Number.isSafeInteger(maxLoras) && maxLoras >= 1),
  );
  requireOption(
    'spanKind',
    "one of the OpenTelemetry API's SpanKind values",
    spanKind,
    typeof spanKind === 'number' && SpanKind[spanKind] !== undefined,
  );
  requireOption('clock', 'an object with wallSeconds() and monotonicSeconds()', clock, isClock(clock));
  return Object.freeze({
    modelName,
    maxModelLen: requireMaxModelLen(maxModelLen),
    enabled,
    spanKind,
    trackUnknownRequests,
    isDiffusion,
    maxLoras,
    exemplars,
    statsLog:
      statsLog === undefined ? undefined : resolveStatsLoggerOptions(statsLog, { name: 'statsLog', clock }),
    clock,
  });
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isClock(value: unknown): boolean {
  const { wallSeconds, monotonicSeconds } = (value ?? {}) as Partial<Clock>;
  return typeof wallSeconds === 'function' && typeof monotonicSeconds === 'function';
}
