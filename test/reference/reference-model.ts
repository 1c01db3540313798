import type { EngineCoreOutputs } from '../../src/index.ts';
import { EPOCH, type Action } from './action.ts';
import { createEngineSeries } from './engine-series.ts';
import { noteAdapters } from './lora-rule.ts';
import type { Model, ModelEngine, ModelOptions, ModelRequest } from './model.ts';
import { endRequest } from './request-end.ts';
import { find, startRequest, takeOutput } from './request-rules.ts';
import { quietEngines, setLoad, setSleepState, takeCacheConfig, takeStatistics } from './scheduler-rules.ts';
import { add, createCounter, observe, removeLabelled, samplesOf } from './series.ts';

export function createModel(options: ModelOptions): Model {
  const model: Model = {
    options,
    series: new Map(),
    engines: new Map(),
    removed: new Set(),
    requests: new Map(),
    adapters: undefined,
    wall: EPOCH,
    monotonic: 0,
  };
  if (options.maxLoras !== undefined) noteAdapters(model);
  return model;
}

/** Takes in one action. Gives what a scrape must show, where the action is one. */
export function apply(model: Model, action: Action): ReadonlyMap<string, number> | undefined {
  model.wall = EPOCH + action.at;
  model.monotonic = action.at;
  switch (action.kind) {
    case 'start':
      model.requests.set(action.request, startRequest(model, engineOf(model, action.engine), action.options));
      break;
    case 'end':
      endByFrontend(model, action);
      break;
    case 'message':
      takeMessage(model, action.message, wallTime(model, action.receivedAt));
      break;
    case 'statistics':
      takeStatistics(model, engineOf(model, action.engine), action.stats);
      break;
    case 'cacheConfig':
      takeCacheConfig(model, engineOf(model, action.engine), action.config);
      break;
    case 'sleep':
      setSleepState(
        model,
        engineOf(model, action.engine),
        ['', 'weights_offloaded', 'discard_all'][action.level]!,
      );
      break;
    case 'wake':
      setSleepState(model, engineOf(model, action.engine), 'awake');
      break;
    case 'multiModalCache': {
      const { labels } = engineOf(model, action.engine);
      add(model.series, 'vllm:mm_cache_queries', labels, action.queries);
      add(model.series, 'vllm:mm_cache_hits', labels, action.hits);
      break;
    }
    case 'toolCallParser':
      countToolCallParser(model, action);
      break;
    case 'addEngine':
      engineOf(model, action.engine);
      break;
    case 'removeEngine':
      removeEngine(model, action.engine);
      break;
    case 'scrape':
      quietEngines(model);
      return samplesOf(model.series);
    // no default: the compiler sees that all are there
  }
  return undefined;
}

/** The engine with this index, made with all its series at zero where it is new. */
function engineOf(model: Model, index: number): ModelEngine {
  const known = model.engines.get(index);
  if (known !== undefined) return known;
  const labels = { model_name: model.options.modelName, engine: String(index) };
  const engine = {
    labels,
    live: new Set<ModelRequest>(),
    ended: new Set<string>(),
    served: false,
    heard: false,
    quietSince: undefined,
  };
  model.engines.set(index, engine);
  createEngineSeries(model, labels);
  setLoad(model, labels, {});
  setSleepState(model, engine, 'awake');
  return engine;
}

/** Its series go, its requests with them, and what it still sends is dropped. */
function removeEngine(model: Model, index: number): void {
  const engine = model.engines.get(index);
  if (engine === undefined) return;
  for (const request of engine.live) endRequest(model, engine, request, 'abort', model.wall);
  removeLabelled(model.series, 'engine', String(index));
  model.engines.delete(index);
  model.removed.add(index);
}

/** A message goes to the engine it names, which begins to exist with its first one. */
function takeMessage(model: Model, message: EngineCoreOutputs, receivedAt: number): void {
  if (message.engine_dead === true) {
    endAll(model, message.engine_index, receivedAt);
    return;
  }
  const index = message.engine_index ?? 0;
  if (index > 65_535 || model.removed.has(index)) return;
  const engine = engineOf(model, index);
  engine.heard = true;
  takeOutputs(model, engine, message, receivedAt);
  if (message.scheduler_stats) takeStatistics(model, engine, message.scheduler_stats);
  for (const id of message.finished_requests ?? []) letGo(model, engine, id, receivedAt);
}

/** The engine lets go of a request, as an abort unless it had ended. Then that end is meant, whoever has the id now. */
function letGo(model: Model, engine: ModelEngine, id: string, receivedAt: number): void {
  if (engine.ended.delete(id)) return;
  const request = find(engine, id);
  if (request !== undefined) endRequest(model, engine, request, 'abort', receivedAt);
}

/** One sample per batch that is not empty: the computed prompt tokens and the new ones of the requests it knows. */
function takeOutputs(
  model: Model,
  engine: ModelEngine,
  message: EngineCoreOutputs,
  receivedAt: number,
): void {
  const outputs = message.outputs ?? [];
  if (outputs.length === 0) return;
  let tokens = 0;
  for (const output of outputs) {
    tokens += takeOutput(model, engine, output, message.timestamp ?? 0, receivedAt);
  }
  observe(model.series, 'vllm:iteration_tokens_total', engine.labels, tokens);
}

/** A dead engine's requests end with `error`; a death that names no engine is that of all. */
function endAll(model: Model, index: number | undefined, receivedAt: number): void {
  for (const [known, engine] of model.engines) {
    if (index !== undefined && index !== known) continue;
    for (const request of engine.live) endRequest(model, engine, request, 'error', receivedAt);
  }
}

/** The frontend ends a request: a client that left, a stop string that it found. */
function endByFrontend(model: Model, action: Extract<Action, { kind: 'end' }>): void {
  const choices = model.requests.get(action.request) ?? [];
  const receivedAt = wallTime(model, action.receivedAt);
  for (const [choice, request] of choices.entries()) {
    if (action.choice !== undefined && action.choice !== choice) continue;
    const engine = [...model.engines.values()].find(({ live }) => live.has(request));
    if (engine !== undefined) endRequest(model, engine, request, action.reason, receivedAt);
  }
}

/** All twelve series exist from the first invocation on. */
function countToolCallParser(model: Model, action: Extract<Action, { kind: 'toolCallParser' }>): void {
  const name = 'vllm:tool_call_parser_invocations';
  const model_name = model.options.modelName;
  for (const mode of ['streaming', 'non_streaming']) {
    for (const outcome of ['tool_call', 'no_tool_call']) {
      for (const request_type of ['chat_completions', 'responses', 'other']) {
        createCounter(model.series, name, { model_name, mode, outcome, request_type });
      }
    }
  }
  const { mode, outcome, requestType: request_type } = action;
  add(model.series, name, { model_name, mode, outcome, request_type }, 1);
}

/** A time that can't be is now. */
function wallTime(model: Model, given: number | undefined): number {
  return given !== undefined && given >= 0 && given < Infinity ? given : model.wall;
}
