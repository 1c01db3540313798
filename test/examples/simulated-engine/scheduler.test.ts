import { describe, expect, it } from 'vitest';
import { EngineRequest } from '../../../examples/simulated-engine/engine-request.ts';
import { Scheduler, type SchedulerLimits } from '../../../examples/simulated-engine/scheduler.ts';
import { contentOf } from '../../../examples/simulated-engine/token-sequence.ts';

const BLOCK_SIZE = 4;

interface RequestSettings {
  readonly prompt: number;
  readonly output?: number;
  readonly maxTokens?: number;
  /** Requests with the same text have the same prompt, as far as the shorter one goes. */
  readonly text?: string;
}

/** A scheduler of which each step takes one second, and its steps as `id:tokens` per request. */
class Engine {
  readonly scheduler: Scheduler;
  readonly #maxModelLen: number;
  readonly #requests = new Map<string, EngineRequest>();
  #now = 0;

  constructor(limits: Partial<SchedulerLimits> = {}) {
    const { kvBlocks = 100 } = limits;
    const defaults = {
      blockSize: BLOCK_SIZE,
      maxNumSeqs: 8,
      maxNumBatchedTokens: 64,
      reserveFullPrompt: true,
    };
    this.scheduler = new Scheduler({ kvBlocks, ...defaults, ...limits });
    this.#maxModelLen = kvBlocks * BLOCK_SIZE;
  }

  add(id: string, { prompt, output = 100, maxTokens, text = id }: RequestSettings): this {
    const spec = {
      id,
      prompt: [{ content: contentOf(text), tokens: prompt }],
      outputTokens: output,
      maxTokens,
    };
    const request = new EngineRequest(spec, BLOCK_SIZE, this.#maxModelLen);
    this.#requests.set(id, request);
    this.scheduler.add(request, this.#now);
    return this;
  }

  get(id: string): EngineRequest {
    return this.#requests.get(id)!;
  }

  step() {
    const batch = this.scheduler.schedule(this.#now);
    this.#now += 1;
    const outputs = this.scheduler.complete(batch, this.#now);
    return { batch: batch.map(({ request, tokens }) => `${request.id}:${tokens}`).join(' '), outputs };
  }

  steps(count: number): string[] {
    return Array.from({ length: count }, () => this.step().batch);
  }

  /** Who gets a token in the next step. */
  outputs(): string {
    return this.step()
      .outputs.map(({ request_id }) => request_id)
      .join(' ');
  }
}

describe('batching', () => {
  it('computes a prompt in one step and then a token per step', () => {
    const engine = new Engine().add('a', { prompt: 10, output: 3 });
    expect(engine.steps(4)).toEqual(['a:10', 'a:1', 'a:1', '']);
  });

  it('splits a prompt that exceeds the token budget, and gives what is left of it to the next request', () => {
    const engine = new Engine({ maxNumBatchedTokens: 8 }).add('a', { prompt: 18 }).add('b', { prompt: 12 });
    expect(engine.steps(5)).toEqual(['a:8', 'a:8', 'a:2 b:6', 'a:1 b:6', 'a:1 b:1']);
  });

  it('gives the first token with the last chunk, not before', () => {
    const engine = new Engine({ maxNumBatchedTokens: 8 }).add('a', { prompt: 18 });
    expect([engine.outputs(), engine.outputs(), engine.outputs()]).toEqual(['', '', 'a']);
  });

  it('serves running requests before it admits waiting ones', () => {
    const engine = new Engine({ maxNumBatchedTokens: 8 }).add('a', { prompt: 4 }).add('b', { prompt: 4 });
    engine.step();
    engine.add('c', { prompt: 20 });
    expect(engine.steps(2)).toEqual(['a:1 b:1 c:6', 'a:1 b:1 c:6']);
  });

  it('runs no more requests at once than it may', () => {
    const engine = new Engine({ maxNumSeqs: 2 });
    for (const id of ['a', 'b', 'c']) engine.add(id, { prompt: 2, output: 2 });
    expect(engine.steps(3)).toEqual(['a:2 b:2', 'a:1 b:1', 'c:2']);
  });

  it('admits in the order of arrival: a request that does not fit holds up those after it', () => {
    const engine = new Engine({ kvBlocks: 4 }).add('a', { prompt: 8, output: 3 });
    engine.step();
    engine.add('b', { prompt: 12, output: 1 }).add('c', { prompt: 1, output: 1 });
    expect(engine.steps(3)).toEqual(['a:1', 'a:1', 'b:12 c:1']);
  });

  it('ends a request at its own stop, at max_tokens or at the model length', () => {
    const engine = new Engine({ kvBlocks: 4 });
    const reasons = (id: string, settings: RequestSettings): unknown[] => {
      engine.add(id, settings);
      const seen: unknown[] = [];
      while (engine.scheduler.hasWork) {
        seen.push(...engine.step().outputs.map((output) => output.finish_reason));
        engine.scheduler.takeReleased();
      }
      return seen;
    };
    expect(reasons('a', { prompt: 4, output: 2 })).toEqual([null, 0]);
    expect(reasons('b', { prompt: 4, output: 9, maxTokens: 2 })).toEqual([null, 1]);
    expect(reasons('c', { prompt: 13, output: 9 })).toEqual([null, null, 1]);
  });
});

const createScarce = (reserveFullPrompt: boolean): Engine =>
  new Engine({ kvBlocks: 6, maxNumBatchedTokens: 8, reserveFullPrompt })
    .add('a', { prompt: 14, output: 2 })
    .add('b', { prompt: 13, output: 1 });

describe('admission', () => {
  it('waits until the whole prompt fits where it reserves for it', () => {
    const engine = createScarce(true);
    expect(engine.steps(5)).toEqual(['a:8', 'a:6', 'a:1', 'b:8', 'b:5']);
    expect(engine.get('b').progress.preemptions).toBe(0);
  });

  it('begins as soon as the first chunk fits where it does not, and may have to give that up again', () => {
    const engine = createScarce(false);
    expect(engine.steps(5)).toEqual(['a:8', 'a:6 b:2', 'a:1', 'b:8', 'b:5']);
    expect(engine.get('b').progress.preemptions).toBe(1);
  });
});

/** Two requests of seven tokens in four blocks: the third block of the older one must come from the younger. */
const createTight = (): Engine => {
  const engine = new Engine({ kvBlocks: 4 })
    .add('old', { prompt: 7, output: 4 })
    .add('young', { prompt: 7, output: 4 });
  expect(engine.steps(2)).toEqual(['old:7 young:7', 'old:1 young:1']);
  expect(engine.scheduler.cache.numFreeBlocks).toBe(0);
  return engine;
};

describe('preemption', () => {
  it('takes the blocks of the youngest running request', () => {
    const engine = createTight();
    expect(engine.step().batch).toBe('old:1');
    expect(engine.get('young').progress.preemptions).toBe(1);
    expect(engine.get('old').progress.preemptions).toBe(0);
    expect([engine.scheduler.numRunning, engine.scheduler.numWaiting]).toEqual([1, 1]);
  });

  it('admits nobody in the step that preempts, though there is room', () => {
    const engine = createTight().add('small', { prompt: 1, output: 1 });
    expect(engine.step().batch).toBe('old:1');
    expect(engine.scheduler.cache.numFreeBlocks).toBe(1);
  });

  it('puts the victim before those that have waited longer', () => {
    const engine = createTight().add('small', { prompt: 1, output: 1 });
    engine.step();
    expect(engine.step().batch).toBe('old:1');
    expect(engine.get('old').progress.generatedTokens).toBe(4);
    expect(engine.step().batch).toBe('young:5 small:1');
  });

  it('computes prompt and generated tokens again, as far as they are not in the cache any more', () => {
    const engine = createTight();
    engine.steps(2);
    const young = engine.get('young');
    expect([young.progress.generatedTokens, young.sequence.length, young.computedTokens]).toEqual([2, 9, 0]);
    const [output] = engine.step().outputs;
    expect(young.progress.generatedTokens).toBe(3);
    expect(output).toMatchObject({ request_id: 'young', prefill_stats: null });
  });

  it('tells of the preemption and of the resumption with the next output, once', () => {
    const engine = createTight();
    expect(engine.step().outputs.map(({ request_id }) => request_id)).toEqual(['old']);
    engine.step();
    const events = engine.step().outputs.map((output) => output.events);
    expect(events).toEqual([
      [
        { type: 3, timestamp: 2 },
        { type: 2, timestamp: 4 },
      ],
    ]);
    expect(engine.step().outputs.map((output) => output.events)).toEqual([null]);
  });

  it('preempts the request itself where that is the youngest', () => {
    const engine = new Engine({ kvBlocks: 4 })
      .add('old', { prompt: 5, output: 4 })
      .add('young', { prompt: 7, output: 4 });
    expect(engine.steps(4)).toEqual(['old:5 young:7', 'old:1 young:1', 'old:1', 'old:1']);
    expect(engine.get('young').progress.preemptions).toBe(1);
  });

  it('preempts as many as it takes, and resumes them in the order of their arrival', () => {
    const engine = new Engine({ kvBlocks: 6 });
    for (const id of ['old1', 'old2']) engine.add(id, { prompt: 7, output: 4 });
    for (const id of ['young1', 'young2']) engine.add(id, { prompt: 1, output: 4 });
    expect(engine.steps(5)).toEqual([
      'old1:7 old2:7 young1:1 young2:1',
      'old1:1 old2:1 young1:1 young2:1',
      'old1:1 old2:1',
      'old1:1 old2:1',
      'young1:3 young2:3',
    ]);
    expect(engine.get('young1').progress.preemptions).toBe(1);
    expect(engine.get('young2').progress.preemptions).toBe(1);
  });

  it('records its times as the engine clock has them', () => {
    const engine = createTight();
    engine.steps(4);
    expect(engine.get('young').progress).toEqual({
      queuedAt: 0,
      scheduledAt: 0,
      cachedTokens: 0,
      firstTokenAt: 1,
      lastTokenAt: 6,
      generatedTokens: 4,
      preemptions: 1,
    });
  });
});

describe('prefix reuse', () => {
  it('finds full blocks that another request has computed, never the last token of the prompt', () => {
    const engine = new Engine().add('a', { prompt: 12, text: 'same' }).add('b', { prompt: 12, text: 'same' });
    expect(engine.step().batch).toBe('a:12 b:4');
    expect(engine.scheduler.takeStats().prefix_cache_stats).toEqual({
      reset: false,
      requests: 2,
      queries: 24,
      hits: 8,
      preempted_requests: 0,
      preempted_queries: 0,
      preempted_hits: 0,
    });
  });

  it('says with the first output, and only then, how the prompt was prefilled', () => {
    const engine = new Engine().add('a', { prompt: 9, text: 'same' }).add('b', { prompt: 13, text: 'same' });
    const stats = (): unknown[] => engine.step().outputs.map((output) => output.prefill_stats);
    expect(stats()).toEqual([
      {
        num_prompt_tokens: 9,
        num_computed_tokens: 9,
        num_cached_tokens: 0,
        num_local_cached_tokens: 0,
        num_external_cached_tokens: 0,
      },
      {
        num_prompt_tokens: 13,
        num_computed_tokens: 5,
        num_cached_tokens: 8,
        num_local_cached_tokens: 8,
        num_external_cached_tokens: 0,
      },
    ]);
    expect(stats()).toEqual([null, null]);
  });

  it('says how the prompt was first prefilled, though a preemption came before the first output', () => {
    const engine = createScarce(false);
    const outputs = Array.from({ length: 6 }, () => engine.step().outputs).flat();
    const last = outputs.filter(({ request_id }) => request_id === 'b');
    expect(last.map((output) => [output.prefill_stats?.num_cached_tokens, output.finish_reason])).toEqual([
      [0, 0],
    ]);
  });

  it('counts the look-ups of resumed requests apart', () => {
    const engine = new Engine({ kvBlocks: 4 })
      .add('old', { prompt: 7, output: 4 })
      .add('young', { prompt: 7, output: 4 });
    engine.steps(4);
    engine.scheduler.takeStats();
    expect(engine.step().batch).toBe('young:5');
    expect(engine.scheduler.takeStats().prefix_cache_stats).toMatchObject({
      requests: 0,
      queries: 0,
      hits: 0,
      preempted_requests: 1,
      preempted_queries: 9,
      preempted_hits: 4,
    });
  });
});

describe('abort', () => {
  it('lets running and waiting requests go, with their blocks, and tells their ids once', () => {
    const engine = new Engine({ maxNumSeqs: 1 }).add('a', { prompt: 8 }).add('b', { prompt: 8 });
    engine.step();
    engine.scheduler.abort('a');
    engine.scheduler.abort('b');
    engine.scheduler.abort('unknown');
    expect(engine.scheduler.cache.numFreeBlocks).toBe(100);
    expect(engine.scheduler.hasWork).toBe(true);
    expect(engine.step()).toEqual({ batch: '', outputs: [] });
    expect([engine.scheduler.takeReleased(), engine.scheduler.takeReleased()]).toEqual([['a', 'b'], []]);
    expect(engine.scheduler.hasWork).toBe(false);
  });

  it('makes room for the next request', () => {
    const engine = new Engine({ kvBlocks: 2 }).add('a', { prompt: 7 }).add('b', { prompt: 7 });
    expect(engine.step().batch).toBe('a:7');
    engine.scheduler.abort('a');
    expect(engine.step().batch).toBe('b:7');
  });
});

describe('statistics', () => {
  it('are the state after the step', () => {
    const engine = new Engine({ kvBlocks: 8, maxNumSeqs: 1 })
      .add('a', { prompt: 7, output: 2 })
      .add('b', { prompt: 2 });
    engine.step();
    expect(engine.scheduler.takeStats()).toMatchObject({
      num_running_reqs: 1,
      num_waiting_reqs: 1,
      num_skipped_waiting_reqs: 0,
      step_counter: 1,
      kv_cache_usage: 0.25,
    });
    engine.step();
    expect(engine.scheduler.takeStats()).toMatchObject({
      num_running_reqs: 0,
      step_counter: 2,
      kv_cache_usage: 0,
    });
  });
});
