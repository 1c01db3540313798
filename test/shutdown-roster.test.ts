import type { MeterProvider as ApiMeterProvider } from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { describe, expect, it } from 'vitest';
import { VllmInstrumentation } from '../src/index.ts';
import { keepRoster } from '../src/shutdown-roster.ts';

const MODEL = { modelName: 'test-model' };

describe('the roster of a MeterProvider', () => {
  it('holds the instrumentations that have connected to it, each once', () => {
    const provider = new MeterProvider();
    const roster = keepRoster(provider);
    const first = new VllmInstrumentation(MODEL);
    const second = new VllmInstrumentation(MODEL);
    for (const instrumentation of [first, second, first]) instrumentation.setMeterProvider(provider);
    new VllmInstrumentation(MODEL).setMeterProvider(new MeterProvider());
    expect([...roster]).toEqual([first, second]);
  });

  it.each([undefined, null])(
    'is not looked for on %s, which is counted as a provider that fails',
    (nothing) => {
      const vllm = new VllmInstrumentation(MODEL);
      vllm.setMeterProvider(nothing as unknown as ApiMeterProvider);
      expect(vllm.status().dropped.providerError).toBe(1);
    },
  );
});
