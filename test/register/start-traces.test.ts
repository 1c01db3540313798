import { ROOT_CONTEXT, trace, TraceFlags } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { describe, expect, it } from 'vitest';
import type { SamplerName } from '../../src/register/read-environment.ts';
import { startTraces } from '../../src/register/start-traces.ts';

describe('the sampler', () => {
  const rows: readonly {
    readonly sampler: SamplerName;
    readonly samplerRatio?: number;
    /** Whether spans are sampled with no parent, with one that is sampled, and with one that is not. */
    readonly sampled: readonly boolean[];
  }[] = [
    { sampler: 'always_on', sampled: [true, true, true] },
    { sampler: 'always_off', sampled: [false, false, false] },
    { sampler: 'traceidratio', samplerRatio: 1, sampled: [true, true, true] },
    { sampler: 'traceidratio', samplerRatio: 0, sampled: [false, false, false] },
    { sampler: 'parentbased_always_on', sampled: [true, true, false] },
    { sampler: 'parentbased_always_off', sampled: [false, true, false] },
    { sampler: 'parentbased_traceidratio', samplerRatio: 1, sampled: [true, true, false] },
    { sampler: 'parentbased_traceidratio', samplerRatio: 0, sampled: [false, true, false] },
  ];

  it.each(rows)('$sampler $samplerRatio samples as it says', ({ sampler, samplerRatio = 0.5, sampled }) => {
    const configuration = { otlp: undefined, console: true, sampler, samplerRatio };
    const tracer = startTraces(configuration, resourceFromAttributes({}))!.getTracer('test');
    const parents = [TraceFlags.SAMPLED, TraceFlags.NONE].map((traceFlags) =>
      trace.setSpanContext(ROOT_CONTEXT, { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags }),
    );
    const spans = [ROOT_CONTEXT, ...parents].map((parent) => tracer.startSpan('span', {}, parent));
    expect(spans.map((span) => span.isRecording())).toEqual(sampled);
  });
});
