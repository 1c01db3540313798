import type { Instrumentation } from '@opentelemetry/instrumentation';
import type { IMetricReader, ViewOptions } from '@opentelemetry/sdk-metrics';
import type { VllmInstrumentation, vllmViews } from 'opentelemetry-instrumentation-vllm';
import type { VllmPrometheusExporter } from 'opentelemetry-instrumentation-vllm/prometheus';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { InstalledPackage } from './installed-package.ts';

describe('the types of the source', () => {
  it('fit where OpenTelemetry takes them, though none of its classes is extended', () => {
    expectTypeOf<VllmInstrumentation>().toExtend<Instrumentation>();
    expectTypeOf<typeof vllmViews>().returns.toExtend<ViewOptions[]>();
    expectTypeOf<VllmPrometheusExporter>().toExtend<IMetricReader>();
  });
});

const CONSUMER = `
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { VllmInstrumentation, getRequest, vllmViews, type VllmRequest } from 'opentelemetry-instrumentation-vllm';
import { ConfirmingMetricReader } from 'opentelemetry-instrumentation-vllm/otlp';
import { VllmPrometheusExporter } from 'opentelemetry-instrumentation-vllm/prometheus';
import { shutdown } from 'opentelemetry-instrumentation-vllm/register';

const vllm = new VllmInstrumentation({ modelName: 'm' });
export const provider: MeterProvider = new MeterProvider({
  readers: [new VllmPrometheusExporter({ port: 0 })],
  views: vllmViews(),
});
export const unregister: () => void = registerInstrumentations({ instrumentations: [vllm], meterProvider: provider });
export const found: VllmRequest | undefined = getRequest();
export const entries: [typeof ConfirmingMetricReader, () => Promise<void>] = [ConfirmingMetricReader, shutdown];
`;

describe('the types of the built package', () => {
  let installed: InstalledPackage;
  beforeAll(() => {
    installed = new InstalledPackage();
    const openTelemetry = ['api', 'instrumentation', 'sdk-metrics'].map((name) => `@opentelemetry/${name}`);
    installed.provide([...openTelemetry, '@types/node']);
  });
  afterAll(() => installed.remove());

  it.each(['service.mts', 'service.cts'])('hold in %s, declarations checked', (name) => {
    expect(installed.typeErrors(name, CONSUMER)).toBe('');
  });

  it('refuse an instrumentation without a model name', () => {
    const code = `import { VllmInstrumentation } from 'opentelemetry-instrumentation-vllm';
      export const vllm: VllmInstrumentation = new VllmInstrumentation({});`;
    expect(installed.typeErrors('nameless.mts', code)).toContain("Property 'modelName' is missing");
  });
});
