import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { otelLogger } from '../../src/stats-log/otel-logger.ts';
import { StatsLogger } from '../../src/stats-log/stats-logger.ts';
import { captureDiag } from '../support/captured-diag.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { EngineBoard } from './engine-board.ts';

function collectLogs() {
  const exporter = new InMemoryLogRecordExporter();
  const provider = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter })] });
  const exported = async () => {
    await provider.forceFlush();
    return exporter.getFinishedLogRecords();
  };
  return { provider, exported };
}

describe('the stats log as OpenTelemetry log records', () => {
  it('has the line as body, its level as severity and its numbers as attributes', async () => {
    const { provider, exported } = collectLogs();
    const board = new EngineBoard(4);
    const clock = new ManualClock();
    const log = new StatsLogger(board, { logger: otelLogger(provider), clock, perEngine: true });
    board.engine(4).count({ promptTokens: 15, preemptions: 1, prefixCacheQueries: 4, prefixCacheHits: 1 });
    board.engine(4).set({ running: 2, waiting: 1, deferred: 3, kvCacheUsage: 0.125 });
    board.engine(4).observe((accumulator) =>
      accumulator.observeSpecDecode({
        num_drafts: 4,
        num_accepted_tokens: 3,
        num_accepted_tokens_per_pos: [2, 1],
      }),
    );
    clock.monotonic += 10;
    log.log();
    const [main, specDecode] = await exported();
    expect(main).toMatchObject({
      eventName: 'vllm.stats.throughput',
      severityNumber: 9,
      severityText: 'INFO',
      body: 'Engine 004: Avg prompt throughput: 1.5 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 2 reqs, Waiting: 4 reqs, Deferred: 3 reqs, Preemptions: 1, GPU KV cache usage: 12.5%, Prefix cache hit rate: 25.0%',
    });
    expect(main!.attributes).toEqual({
      'vllm.stats.engine': 4,
      'vllm.stats.interval_seconds': 10,
      'vllm.stats.prompt_tokens': 15,
      'vllm.stats.generation_tokens': 0,
      'vllm.stats.prompt_throughput': 1.5,
      'vllm.stats.generation_throughput': 0,
      'vllm.stats.running': 2,
      'vllm.stats.waiting': 4,
      'vllm.stats.deferred': 3,
      'vllm.stats.preemptions': 1,
      'vllm.stats.kv_cache_usage': 0.125,
      'vllm.stats.prefix_cache_hit_rate': 0.25,
    });
    expect(main!.instrumentationScope.name).toBe('opentelemetry-instrumentation-vllm');
    expect(specDecode!.eventName).toBe('vllm.stats.spec_decode');
    expect(specDecode!.attributes).toMatchObject({ 'vllm.stats.acceptance_rate_per_position': [0.5, 0.25] });
    log.stop();
  });

  it('is at DEBUG while idle', async () => {
    const { provider, exported } = collectLogs();
    const clock = new ManualClock();
    const log = new StatsLogger(new EngineBoard(), { logger: otelLogger(provider), clock });
    clock.monotonic += 10;
    log.log();
    expect(await exported()).toMatchObject([{ severityNumber: 5, severityText: 'DEBUG' }]);
    log.stop();
  });

  it('keeps the scope of a Logger that is given as such', async () => {
    const { provider, exported } = collectLogs();
    const line = { kind: 'mfu', level: 'info', text: 'MFU', attributes: {} } as const;
    otelLogger(provider.getLogger('of-the-application')).writeLine(line);
    expect((await exported())[0]!.instrumentationScope.name).toBe('of-the-application');
  });

  it('survives a Logger that throws', () => {
    const warnings = captureDiag();
    const clock = new ManualClock();
    const logger = otelLogger({
      emit: () => {
        throw new Error('no logs');
      },
    });
    const log = new StatsLogger(new EngineBoard(), { logger, clock });
    clock.monotonic += 10;
    expect(() => log.log()).not.toThrow();
    expect(warnings).toEqual([
      'opentelemetry-instrumentation-vllm: stats log: the logger failed: no logs (said once)',
    ]);
    log.stop();
  });

  it.each([undefined, null, {}, 'logs', { emit: 1 }])('is refused for what is neither: %s', (target) => {
    expect(() => otelLogger(target as never)).toThrow(
      /^target must be a Logger or LoggerProvider of the OpenTelemetry Logs API; got /,
    );
  });

  it('needs no logs package at run time', () => {
    const source = readFileSync(new URL('../../src/stats-log/otel-logger.ts', import.meta.url), 'utf8');
    expect(source).not.toMatch(/from '@opentelemetry/);
  });
});
