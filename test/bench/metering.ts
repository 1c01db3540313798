import type { MeterProvider as ApiMeterProvider } from '@opentelemetry/api';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { vllmViews } from 'opentelemetry-instrumentation-vllm';
import { BoundMeterProvider } from 'opentelemetry-instrumentation-vllm/bound-meter';

/** A provider to record through, and the reader that reads it back. */
export interface Metering<Provider extends ApiMeterProvider = ApiMeterProvider> {
  /** What a table calls this package on it. */
  readonly name: string;
  readonly provider: Provider;
  readonly reader: MetricReader;
}

/** Collects when asked. */
class CollectingReader extends MetricReader {
  protected async onShutdown(): Promise<void> {}
  protected async onForceFlush(): Promise<void> {}
}

/** The SDK's provider as the README sets it up. */
export function onSdk(): Metering {
  const reader = new CollectingReader();
  const provider = new MeterProvider({ readers: [reader], views: vllmViews() });
  return { name: "this package on the SDK's provider", provider, reader };
}

/** This package's own provider. */
export function onBoundMeter(): Metering<BoundMeterProvider> {
  const provider = new BoundMeterProvider({ views: vllmViews() });
  const reader = new CollectingReader({ metricProducers: [provider.producer()] });
  // A reader is one of an SDK's provider, which here has no metrics of its own.
  void new MeterProvider({ readers: [reader] });
  return { name: 'this package on BoundMeterProvider', provider, reader };
}

/** The SDK's provider for instruments made by hand, whose boundaries are advice. */
export function plainSdk(): Metering {
  const reader = new CollectingReader();
  return {
    name: 'OpenTelemetry API and SDK by hand',
    provider: new MeterProvider({ readers: [reader] }),
    reader,
  };
}
