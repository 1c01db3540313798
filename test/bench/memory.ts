import { SpanKind, trace, type Span } from '@opentelemetry/api';
import {
  VllmInstrumentation,
  type EngineCoreOutput,
  type VllmRequest,
} from 'opentelemetry-instrumentation-vllm';
import { setImmediate } from 'node:timers/promises';
import { settledHeap, type Allocations } from './allocations.ts';
import type { Effort } from './candidate.ts';
import { OUTPUTS_PER_STEP, requestIds } from './engine-steps.ts';
import { Isolate } from './isolate.ts';
import { onBoundMeter, onSdk, type Metering } from './metering.ts';
import type { Table } from './table.ts';
import { collectTotals } from './totals.ts';

/** Requests of one wave: all are in flight together, and all end before the next wave starts. */
const WAVE = 1000;

/**
 * What a request in flight takes beyond its span, what requests leave behind once they have ended, and what outputs
 * allocate while requests are in decode.
 */
export async function memory({ scale }: Effort): Promise<Table> {
  const inFlight = 100_000 * scale;
  const ended = 1_000_000 * scale;
  const outputs = 10_000_000 * scale;
  const ways = [onSdk, onBoundMeter];
  // In this order, since spans grow once requests have watched some, and requests in flight leave tables behind that
  // shrink late.
  const spans = await spansInFlight(inFlight);
  const left: number[] = [];
  for (const meteringOf of ways) left.push(await leftBehind(ended, meteringOf()));
  const rows = [{ name: 'non-recording span', values: [spans / inFlight] }];
  for (const [position, meteringOf] of ways.entries()) {
    const requests = await requestsInFlight(inFlight, meteringOf());
    const { bytes, collections } = await steadyState(outputs, position, scale);
    rows.push({
      name: meteringOf().name,
      values: [(requests - spans) / inFlight, left[position]!, bytes / outputs, collections],
    });
  }
  return {
    title: `Memory with ${inFlight} requests in flight, after ${ended} have ended, through ${outputs} outputs`,
    columns: [
      { name: 'bytes in flight, each', digits: 0 },
      { name: 'bytes left, in all', digits: 0 },
      { name: 'bytes per output', digits: 2 },
      { name: 'collections', digits: 0 },
    ],
    rows,
  };
}

async function spansInFlight(count: number): Promise<number> {
  const tracer = trace.getTracer('bench');
  const held: (Span | undefined)[] = Array.from({ length: count });
  const before = await settledHeap();
  for (let index = 0; index < count; index += 1) {
    held[index] = tracer.startSpan('llm_request', { kind: SpanKind.SERVER });
  }
  const bytes = (await settledHeap()) - before;
  // Still reachable here.
  held.length = 0;
  return bytes;
}

async function requestsInFlight(count: number, { provider }: Metering): Promise<number> {
  const vllm = new VllmInstrumentation({ modelName: 'bench' });
  vllm.setMeterProvider(provider);
  const engine = vllm.engine(0);
  const ids = requestIds(count);
  const messages = [first, further].map((output) => ({ outputs: ids.map(output), timestamp: 1000 }));
  const held: (VllmRequest | undefined)[] = Array.from({ length: count });
  const before = await settledHeap();
  for (let index = 0; index < count; index += 1) {
    held[index] = engine.startRequest({ requestId: ids[index], promptTokens: 512, maxTokens: 256 });
  }
  for (const message of messages) {
    message.timestamp += 0.5;
    vllm.observe(message);
  }
  const bytes = (await settledHeap()) - before;
  requireCount('requests in flight', vllm.status().requestsInFlight, held.length);
  // Still reachable here: what was there before is to be there after.
  for (const { outputs } of messages) requireCount('outputs', outputs.length, ids.length);
  vllm.disable();
  return bytes;
}

async function leftBehind(count: number, { provider, reader }: Metering): Promise<number> {
  const vllm = new VllmInstrumentation({ modelName: 'bench' });
  vllm.setMeterProvider(provider);
  // What is made once, and what the compiler makes, is not what requests leave behind.
  await runWaves(vllm, 20);
  const before = await settledHeap();
  await runWaves(vllm, count / WAVE);
  const bytes = (await settledHeap()) - before;
  requireCount('requests in flight', vllm.status().requestsInFlight, 0);
  const totals = await collectTotals(reader);
  requireCount('ended requests', totals.get('vllm:request_success')?.count, count + 20 * WAVE);
  return bytes;
}

/** Requests with four outputs each, from their start to their end. */
async function runWaves(vllm: VllmInstrumentation, waves: number): Promise<void> {
  const engine = vllm.engine(0);
  for (let wave = 0; wave < waves; wave += 1) {
    const ids = Array.from({ length: WAVE }, (_, index) => `chatcmpl-${wave}-${index}`);
    for (const requestId of ids) engine.startRequest({ requestId, promptTokens: 512, maxTokens: 256 });
    for (const [step, output] of [first, further, further, last].entries()) {
      vllm.observe({ outputs: ids.map(output), timestamp: 1000 + step * 0.02 });
    }
    // Finalizers run between turns alone.
    await setImmediate();
  }
}

function first(id: string): EngineCoreOutput {
  return {
    request_id: id,
    new_token_ids: [1],
    events: [
      { type: 1, timestamp: 999 },
      { type: 2, timestamp: 999.5 },
    ],
    prefill_stats: { num_prompt_tokens: 512, num_computed_tokens: 512 },
  };
}

function further(id: string): EngineCoreOutput {
  return { request_id: id, new_token_ids: [1] };
}

function last(id: string): EngineCoreOutput {
  return { request_id: id, new_token_ids: [1], finish_reason: 1 };
}

/** In an isolate of its own, past the first steps, in which the compiler is still at work. */
async function steadyState(outputs: number, position: number, scale: number): Promise<Allocations> {
  const isolate = await Isolate.start('observe', [position]);
  try {
    for (let round = 0; round < 4; round += 1) await isolate.time(position, Math.ceil(1000 * scale));
    return await isolate.allocations(position, Math.ceil(outputs / OUTPUTS_PER_STEP));
  } finally {
    await isolate.close();
  }
}

function requireCount(what: string, count: number | undefined, expected: number): void {
  if (count !== expected) throw new Error(`${what}: ${count} instead of ${expected}`);
}
