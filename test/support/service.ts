import { context, type MeterProvider as ApiMeterProvider } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { TracerProviderOptions } from '@opentelemetry/sdk-trace';
import { onTestFinished } from 'vitest';
import type { EngineMetrics } from '../../src/engine/engine-metrics.ts';
import { VllmInstrumentation } from '../../src/instrumentation.ts';
import { vllmViews } from '../../src/metrics/views.ts';
import type { DropCounts, DropReason } from '../../src/metrics/drops.ts';
import type { VllmInstrumentationOptions } from '../../src/options.ts';
import { ManualClock } from './manual-clock.ts';
import type { Reading } from './reading.ts';
import { TestReader } from './test-reader.ts';
import { Traced } from './traced.ts';

/** An instrumentation between real providers, on clocks that stand still, until the test ends. */
export interface Service {
  readonly vllm: VllmInstrumentation;
  /** The metrics of engine 0. */
  readonly engine: EngineMetrics;
  readonly clock: ManualClock;
  readonly traced: Traced;
  readonly provider: ApiMeterProvider;
  read(): Promise<Reading>;
  /** What was dropped, reasons that never occurred left out. */
  dropped(): Partial<DropCounts>;
}

/** Registers a context manager, and connects an instrumentation to providers of its own. */
export function startService(
  options: Partial<VllmInstrumentationOptions> = {},
  tracing: TracerProviderOptions = {},
): Service {
  useContextManager();
  const clock = new ManualClock();
  const reader = new TestReader();
  const provider = new MeterProvider({ readers: [reader], views: vllmViews() });
  const traced = new Traced(tracing);
  const vllm = new VllmInstrumentation({ modelName: 'test-model', clock, ...options });
  vllm.setMeterProvider(provider);
  vllm.setTracerProvider(traced.provider);
  return {
    vllm,
    engine: vllm.engine(0),
    clock,
    traced,
    provider,
    read: () => reader.read(),
    dropped: () => occurred(vllm),
  };
}

/** Registers a context manager until the test ends. */
export function useContextManager(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  onTestFinished(() => context.disable());
}

/** What an instrumentation dropped, reasons that never occurred left out. */
export function occurred(vllm: VllmInstrumentation): Partial<DropCounts> {
  const entries = Object.entries(vllm.status().dropped).filter(([, count]) => count > 0);
  return Object.fromEntries(entries) as Partial<Record<DropReason, number>>;
}
