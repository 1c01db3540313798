import type { Resource } from '@opentelemetry/resources';
import type * as SdkTrace from '@opentelemetry/sdk-trace';
import { load, otlpPackage } from './packages.ts';
import type { TracesConfiguration } from './read-environment.ts';

/** @returns Undefined where spans go nowhere. */
export function startTraces(
  configuration: TracesConfiguration,
  resource: Resource,
): SdkTrace.TracerProvider | undefined {
  const { otlp: protocol } = configuration;
  if (protocol === undefined && !configuration.console) return undefined;
  const sdk = load('@opentelemetry/sdk-trace') as typeof SdkTrace;
  const spanProcessors: SdkTrace.SpanProcessor[] = [];
  if (protocol !== undefined) {
    const { OTLPTraceExporter } = load(otlpPackage('trace', protocol)) as OtlpTraceExporterModule;
    spanProcessors.push(new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter() }));
  }
  if (configuration.console) {
    spanProcessors.push(new sdk.SimpleSpanProcessor({ exporter: new sdk.ConsoleSpanExporter() }));
  }
  return new sdk.TracerProvider({ resource, spanProcessors, sampler: createSampler(sdk, configuration) });
}

function createSampler(
  sdk: typeof SdkTrace,
  { sampler, samplerRatio }: TracesConfiguration,
): SdkTrace.Sampler {
  const root = createRootSampler(sdk, sampler, samplerRatio);
  return sampler.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root }) : root;
}

function createRootSampler(sdk: typeof SdkTrace, name: string, ratio: number): SdkTrace.Sampler {
  if (name.endsWith('always_on')) return new sdk.AlwaysOnSampler();
  if (name.endsWith('always_off')) return new sdk.AlwaysOffSampler();
  return new sdk.TraceIdRatioBasedSampler(ratio);
}

interface OtlpTraceExporterModule {
  readonly OTLPTraceExporter: new () => SdkTrace.SpanExporter;
}
