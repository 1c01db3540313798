import type { EngineCoreOutput, EngineCoreOutputs } from '../../src/index.ts';
import { EPOCH, type Action, type Command } from './action.ts';
import { Draw } from './draw.ts';
import { engineTime, pickLive, type EngineSketch } from './engine-sketch.ts';
import { generateOutput } from './generate-output.ts';
import { generateStatistics } from './generate-statistics.ts';

const INDICES = [0, 3, 17, 65_535];
const ADAPTERS = ['sql', 'Chat', 'a "b" \\c', 'été'];

/** So many actions of a frontend with everything on, in the order of their time. */
export function generateStream(seed: number, length: number): readonly Action[] {
  return new StreamGenerator(seed).generate(length);
}

class StreamGenerator {
  readonly #draw: Draw;
  readonly #engines: readonly EngineSketch[];
  readonly #actions: Action[] = [];
  #at = 0;
  #requests = 0;

  constructor(seed: number) {
    this.#draw = new Draw(seed);
    this.#engines = INDICES.map((index) => ({
      index,
      clockOffset: this.#draw.whole(1, 100_000),
      requests: [],
      released: new Set(),
      removed: false,
    }));
  }

  generate(length: number): readonly Action[] {
    const kinds: readonly (readonly [number, () => void])[] = [
      [25, () => this.#start()],
      [50, () => this.#message()],
      [7, () => this.#end()],
      [4, () => this.#statistics()],
      [3, () => this.#scrape()],
      [2, () => this.#fallQuiet()],
      [2, () => this.#configureCache()],
      [3, () => this.#sleepOrWake()],
      [2, () => this.#lookUpMedia()],
      [2, () => this.#parseToolCall()],
      [2, () => this.#add({ kind: 'addEngine', engine: this.#engine().index })],
      [1, () => this.#die()],
      [1, () => this.#maybeRemoveEngine()],
    ];
    const weighted = kinds.flatMap(([weight, act]) => Array.from({ length: weight }, () => act));
    while (this.#actions.length < length) {
      this.#at += this.#draw.seconds(this.#draw.chance(0.1) ? 4 : 0.125);
      this.#draw.pick(weighted)();
    }
    return this.#actions;
  }

  #add(command: Command): void {
    this.#actions.push({ at: this.#at, ...command });
  }

  /** An engine that takes requests; the first ones are the likelier. */
  #engine(): EngineSketch {
    const engines = this.#engines.filter(({ removed }) => !removed);
    return engines[
      Math.min(this.#draw.whole(0, engines.length - 1), this.#draw.whole(0, engines.length - 1))
    ]!;
  }

  #start(): void {
    const draw = this.#draw;
    const engine = this.#engine();
    const request = this.#requests;
    this.#requests += 1;
    const n = draw.chance(0.15) ? draw.whole(2, 3) : 1;
    const over = draw.chance(0.5);
    const known = engine.requests.filter(({ id, ended }) => ended === over && !engine.released.has(id));
    const requestId = known.length > 0 && draw.chance(0.15) ? draw.pick(known).id : `request-${request}`;
    const options = {
      requestId,
      ...draw.maybe(0.7, () => ({ promptTokens: draw.whole(1, 9000) })),
      ...draw.maybe(0.5, () => ({ maxTokens: draw.whole(1, 5000) })),
      ...draw.maybe(0.4, () => ({ loraName: draw.pick(ADAPTERS) })),
      ...draw.maybe(0.6, () => ({ arrivalTime: EPOCH + this.#at - draw.seconds(1) })),
      ...(n > 1 ? { n } : {}),
    };
    this.#add({ kind: 'start', engine: engine.index, request, options });
    for (let choice = 0; choice < n; choice += 1) {
      const id = n === 1 ? requestId : `${choice}_${requestId}`;
      const several = n === 1 ? undefined : choice;
      engine.requests.push({ id, request, choice: several, queued: false, begun: false, ended: false });
    }
  }

  #end(): void {
    const draw = this.#draw;
    const engine = this.#engine();
    const { requests } = engine;
    if (requests.length === 0) return;
    const sketch = draw.chance(0.9) ? pickLive(draw, engine) : draw.pick(requests);
    if (sketch === undefined) return;
    const all = draw.chance(0.3);
    for (const other of requests)
      if (other === sketch || (all && other.request === sketch.request)) other.ended = true;
    this.#add({
      kind: 'end',
      request: sketch.request,
      choice: all ? undefined : sketch.choice,
      reason: draw.pick(['abort', 'abort', 'abort', 'stop', 'error', 'length'] as const),
      receivedAt: this.#receivedAt(),
    });
  }

  #message(): void {
    const draw = this.#draw;
    // A removed engine does not know it and goes on sending.
    const removed = this.#engines.filter((engine) => engine.removed);
    const engine = removed.length > 0 && draw.chance(0.1) ? draw.pick(removed) : this.#engine();
    const outputs = draw.list(draw.pick([0, 1, 1, 2, 3, 5]), () => generateOutput(draw, engine, this.#at));
    const message: EngineCoreOutputs = {
      ...(engine.index === 0 && draw.chance(0.5)
        ? {}
        : { engine_index: draw.chance(0.01) ? 70_000 : engine.index }),
      ...(outputs.length > 0 || draw.chance(0.5) ? { outputs } : {}),
      timestamp: engineTime(draw, engine, this.#at),
      ...draw.maybe(0.6, () => ({ scheduler_stats: draw.chance(0.9) ? generateStatistics(draw) : null })),
      ...draw.maybe(0.15, () => ({ finished_requests: this.#finished(engine, outputs) })),
    };
    this.#add({ kind: 'message', message, receivedAt: this.#receivedAt() });
  }

  /** What ended in this message or before; at times one that had not ended, which the engine aborted then. */
  #finished(engine: EngineSketch, outputs: readonly EngineCoreOutput[]): readonly string[] {
    const draw = this.#draw;
    const ended = outputs.filter(({ finish_reason }) => typeof finish_reason === 'number');
    const before = engine.requests.filter(({ id, ended: over }) => over && !engine.released.has(id));
    const live = draw.chance(0.4) ? pickLive(draw, engine) : undefined;
    const ids = [
      ...ended.map(({ request_id }) => request_id),
      ...before.filter(() => draw.chance(0.5)).map(({ id }) => id),
      ...(live === undefined ? [] : [live.id]),
    ];
    for (const id of ids) engine.released.add(id);
    for (const known of engine.requests) known.ended ||= engine.released.has(known.id);
    return ids;
  }

  #statistics(): void {
    this.#add({ kind: 'statistics', engine: this.#engine().index, stats: generateStatistics(this.#draw) });
  }

  #scrape(): void {
    this.#add({ kind: 'scrape' });
  }

  /** All requests of an engine are aborted, and it says no more: two collections apart tell. */
  #fallQuiet(): void {
    const draw = this.#draw;
    const { requests } = this.#engine();
    for (const sketch of requests) {
      if (sketch.ended) continue;
      sketch.ended = true;
      const { request, choice } = sketch;
      this.#add({ kind: 'end', request, choice, reason: 'abort', receivedAt: undefined });
    }
    this.#scrape();
    this.#at += draw.pick([2, 4.5, 5, 6]);
    this.#scrape();
    if (draw.chance(0.5)) this.#statistics();
    this.#at += draw.pick([0, 5]);
    this.#scrape();
  }

  #configureCache(): void {
    const draw = this.#draw;
    const config = {
      block_size: 16,
      cache_dtype: draw.pick(['auto', 'fp8']),
      enable_prefix_caching: draw.chance(0.5),
      num_gpu_blocks: draw.whole(100, 10_000),
      num_gpu_blocks_override: null,
      gpu_memory_utilization: 0.92,
      ...draw.maybe(0.5, () => ({ sliding_window: undefined, mamba_cache_mode: 'none' })),
    };
    this.#add({ kind: 'cacheConfig', engine: this.#engine().index, config });
  }

  #sleepOrWake(): void {
    const engine = this.#engine().index;
    const level = this.#draw.pick([0, 1, 2, undefined] as const);
    this.#add(level === undefined ? { kind: 'wake', engine } : { kind: 'sleep', engine, level });
  }

  #lookUpMedia(): void {
    const queries = this.#draw.whole(0, 10);
    const hits = this.#draw.whole(0, queries);
    this.#add({ kind: 'multiModalCache', engine: this.#engine().index, queries, hits });
  }

  #parseToolCall(): void {
    const draw = this.#draw;
    this.#add({
      kind: 'toolCallParser',
      mode: draw.pick(['streaming', 'non_streaming']),
      outcome: draw.pick(['tool_call', 'no_tool_call']),
      requestType: draw.pick(['chat_completions', 'responses', 'other']),
    });
  }

  #die(): void {
    const engine = this.#draw.maybe(0.8, () => this.#engine());
    for (const { requests } of engine === undefined ? this.#engines : [engine]) {
      for (const sketch of requests) sketch.ended = true;
    }
    const message = { engine_dead: true, ...(engine === undefined ? {} : { engine_index: engine.index }) };
    this.#add({ kind: 'message', message, receivedAt: this.#receivedAt() });
  }

  /** Seldom, for it ends all there is to see of an engine; the last one stays. */
  #maybeRemoveEngine(): void {
    const engine = this.#engine();
    if (!this.#draw.chance(0.3) || this.#engines.filter(({ removed }) => !removed).length === 1) return;
    engine.removed = true;
    this.#add({ kind: 'removeEngine', engine: engine.index });
  }

  /** At times one that can't be, or none. */
  #receivedAt(): number | undefined {
    const draw = this.#draw;
    if (draw.chance(0.2)) return draw.pick([undefined, Number.NaN, -1]);
    return EPOCH + this.#at - draw.seconds(0.125);
  }
}
