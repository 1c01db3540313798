import { describe, expect, it } from 'vitest';
import type { WatchedEngine } from '../../src/engine/stats-source.ts';
import { message, output } from '../support/messages.ts';
import { onSpanEnd } from '../support/on-span-end.ts';
import { startService, type Service } from '../support/service.ts';
import { captureDiag } from '../support/captured-diag.ts';
import { IDLE, pass, startLog, startLoggedService, withRates } from './logged-service.ts';
import { RecordedLines } from './recorded-lines.ts';

/** The engines that a watcher was told of. */
function watch(service: Service) {
  const told: string[] = [];
  const unwatch = service.vllm.watchEngines({
    engineAdded: ({ index }: WatchedEngine) => {
      told.push(`added ${index}`);
    },
    engineRemoved: (engine) => {
      told.push(`removed ${engine.index}: ${engine.readStats().generationTokens} tokens`);
    },
  });
  return { told, unwatch };
}

describe('watchEngines', () => {
  it('tells of the engines there are, of each that comes by call or message, and of each that goes', () => {
    const service = startService();
    const { told, unwatch } = watch(service);
    expect(told.splice(0)).toEqual(['added 0']);
    service.vllm.engine(4).startRequest().recordTokens(3, { timestamp: 1 });
    service.vllm.observe({ engine_index: 9, scheduler_stats: {} });
    service.vllm.engine(9);
    expect(told.splice(0)).toEqual(['added 4', 'added 9']);
    service.vllm.removeEngine(4);
    service.vllm.removeEngine(4);
    service.vllm.observe({ engine_index: 4, scheduler_stats: {} });
    service.vllm.engine(4);
    service.vllm.removeEngine(4);
    expect(told.splice(0)).toEqual(['removed 4: 3 tokens', 'added 4', 'removed 4: 0 tokens']);
    unwatch();
    unwatch();
    service.vllm.engine(5);
    expect(told).toEqual([]);
  });

  it('lets a watcher fail without a harm to the service or to other watchers', () => {
    const warnings = captureDiag();
    const service = startService();
    const fail = (): void => {
      throw new Error('broken watcher');
    };
    service.vllm.watchEngines({ engineAdded: fail, engineRemoved: fail });
    const { told } = watch(service);
    expect(service.vllm.engine(1).index).toBe(1);
    expect(service.vllm.removeEngine(1)).toBe(true);
    expect(told).toEqual(['added 0', 'added 1', 'removed 1: 0 tokens']);
    expect(service.dropped()).toEqual({ providerError: 3 });
    expect(warnings).toHaveLength(1);
  });

  it('tells a watcher that begins while others are told of an engine of it once', () => {
    const service = startService();
    let inner: ReturnType<typeof watch> | undefined;
    service.vllm.watchEngines({
      engineAdded: ({ index }) => {
        if (index === 1) inner = watch(service);
      },
      engineRemoved: () => {},
    });
    service.vllm.engine(1);
    expect(inner?.told).toEqual(['added 0', 'added 1']);
  });
});

describe('engines of an instrumentation that come and go between ticks', () => {
  it('count with all their tokens where the end of a request removes them in the middle of a message', () => {
    const processor = onSpanEnd(() => vllm.removeEngine(0));
    const service = startService({}, { spanProcessors: [processor] });
    const { vllm, engine } = service;
    const { after } = startLog(service);
    for (const requestId of ['a', 'b', 'c']) engine.startRequest({ requestId });
    vllm.observe(message(1, output('a', 20), output('b', 30, { finish_reason: 0 }), output('c', 5)));
    expect(after(10)).toEqual([`info: ${withRates('0.0', '5.0')}`]);
  });

  it('move no counter once that disables everything, so that their last line has all', () => {
    const processor = onSpanEnd(() => vllm.disable());
    const lines = new RecordedLines();
    const service = startService({ statsLog: { logger: lines } }, { spanProcessors: [processor] });
    const { vllm, engine, clock } = service;
    let generated = (): number => -1;
    vllm.watchEngines({
      engineAdded: (watched) => {
        generated = () => watched.readStats().generationTokens;
      },
      engineRemoved: () => {},
    });
    for (const requestId of ['a', 'b', 'c']) engine.startRequest({ requestId });
    pass(clock, 10);
    vllm.observe(message(1, output('a', 20), output('b', 30, { finish_reason: 0 }), output('c', 5)));
    expect(lines.take()).toEqual([`info: ${withRates('0.0', '5.0')}`]);
    expect(generated()).toBe(50);
  });

  it('count with what they did, to the end that the removal itself makes', () => {
    const service = startLoggedService();
    const { vllm, after } = service;
    vllm.observe({ engine_index: 0, scheduler_stats: { num_running_reqs: 3, kv_cache_usage: 0.25 } });
    vllm.engine(1).startRequest({ requestId: 'r' });
    vllm.observe({
      engine_index: 1,
      timestamp: 1,
      outputs: [{ request_id: 'r', new_token_ids: [1, 2], events: [{ type: 3, timestamp: 1 }] }],
      scheduler_stats: {
        num_running_reqs: 1,
        kv_cache_usage: 0.75,
        spec_decoding_stats: { num_drafts: 1, num_draft_tokens: 2, num_accepted_tokens: 1 },
      },
    });
    vllm.removeEngine(1);
    const standing = IDLE.replace('Running: 0', 'Running: 3').replace(
      'cache usage: 0.0',
      'cache usage: 25.0',
    );
    expect(after(10)).toEqual([
      `info: ${standing.replace('generation throughput: 0.0', 'generation throughput: 0.2').replace('GPU', 'Preemptions: 1, GPU')}`,
      'info: SpecDecoding metrics: Mean acceptance length: 2.00, Accepted throughput: 0.10 tokens/s, Drafted throughput: 0.20 tokens/s, Accepted: 1 tokens, Drafted: 2 tokens, Avg Draft acceptance rate: 50.0%',
    ]);
    // Nobody's: a trailing message.
    vllm.observe({ engine_index: 1, scheduler_stats: { num_running_reqs: 9 } });
    expect(after(10)).toEqual([`info: ${standing}`]);
    expect(service.dropped()).toEqual({ removedEngine: 1 });
  });

  it('have one line under their index where another took it, and none after they left for good', () => {
    const { vllm, after } = startLoggedService({ perEngine: true });
    vllm.removeEngine(0);
    const generate = (tokens: number): void => {
      const request = vllm.engine(5).startRequest();
      request.recordTokens(tokens, { timestamp: 1 });
      request.end('stop');
    };
    generate(30);
    vllm.removeEngine(5);
    generate(50);
    expect(after(10)).toEqual([`info: Engine 005: ${withRates('0.0', '8.0')}`]);
    vllm.removeEngine(5);
    expect(after(10)).toEqual([]);
  });
});

describe('the gauges of an engine that has gone silent', () => {
  it('read 0 in the lines without any reader that collects', () => {
    const { vllm, engine, after } = startLoggedService();
    const request = engine.startRequest({ requestId: 'r' });
    vllm.observe({
      timestamp: 1,
      outputs: [{ request_id: 'r', new_token_ids: [1] }],
      scheduler_stats: { num_running_reqs: 7, num_waiting_reqs: 2, kv_cache_usage: 0.5 },
    });
    request.end('abort');
    const stale = IDLE.replace('Running: 0', 'Running: 7')
      .replace('Waiting: 0', 'Waiting: 2')
      .replace('cache usage: 0.0', 'cache usage: 50.0');
    expect(after(10)).toEqual([
      `info: ${stale.replace('generation throughput: 0.0', 'generation throughput: 0.1')}`,
    ]);
    expect(after(4)).toEqual([`info: ${stale}`]);
    expect(after(1)).toEqual([`debug: ${IDLE}`]);
  });
});

describe('two logs of one instrumentation', () => {
  it('take nothing from each other, whatever came and whenever they print', () => {
    const service = startService();
    const fast = startLog(service);
    const slow = startLog(service, { perEngine: true });
    const step = (tokens: number): void => {
      service.engine.startRequest().recordTokens(tokens, { timestamp: 1 });
      service.engine.recordMultiModalCacheStats({ queries: tokens, hits: 1 });
      service.engine.recordSchedulerStats({
        spec_decoding_stats: { num_drafts: 1, num_draft_tokens: tokens, num_accepted_tokens: 1 },
        cudagraph_stats: {
          num_unpadded_tokens: 1,
          num_padded_tokens: 1,
          num_paddings: 0,
          runtime_mode: `MODE_${tokens}`,
        },
        kv_connector_stats: {
          transfer_duration: [tokens],
          post_duration: [1],
          bytes_transferred: [2 ** 20],
          num_descriptors: [1],
          num_failed_transfers: [],
          num_failed_notifications: [],
          num_kv_expired_reqs: [],
        },
      });
    };
    const seen = (lines: readonly string[]): readonly string[] =>
      lines.flatMap(
        (line) =>
          line.match(
            /generation throughput: [\d.]+|MM .*|Drafted: \d+|MODE_\d+|transfers=\d+|Avg xfer[^,]*/g,
          ) ?? [],
      );
    step(10);
    expect(seen(fast.after(10))).toEqual([
      'generation throughput: 1.0',
      'MM cache hit rate: 10.0%',
      'Drafted: 10',
      'MODE_10',
      'transfers=1',
      'Avg xfer time (ms)=10000.0',
    ]);
    step(30);
    expect(seen(fast.after(10))).toEqual([
      'generation throughput: 3.0',
      'MM cache hit rate: 3.3%',
      'Drafted: 30',
      'MODE_30',
      'transfers=1',
      'Avg xfer time (ms)=30000.0',
    ]);
    expect(seen(slow.after(20))).toEqual([
      'generation throughput: 1.0',
      'MM cache hit rate: 5.0%',
      'Drafted: 40',
      'MODE_10',
      'MODE_30',
      'transfers=2',
      'Avg xfer time (ms)=20000.0',
    ]);
    fast.log.stop();
    step(50);
    expect(seen(slow.after(10))).toEqual([
      'generation throughput: 5.0',
      'MM cache hit rate: 2.0%',
      'Drafted: 50',
      'MODE_50',
      'transfers=1',
      'Avg xfer time (ms)=50000.0',
    ]);
  });
});
