import type { EngineCoreEvent, EngineCoreOutput, PrefillStats } from '../../src/index.ts';
import type { Draw } from './draw.ts';
import { engineTime, pickLive, type EngineSketch, type RequestSketch } from './engine-sketch.ts';

/** Something that an engine may have to say of a request, of one that has ended, or of one that nobody started. */
export function generateOutput(draw: Draw, engine: EngineSketch, at: number): EngineCoreOutput {
  const sketch = draw.chance(0.93) ? pickLive(draw, engine) : undefined;
  const id = sketch?.id ?? otherId(draw, engine);
  const first = sketch?.begun === false;
  const tokens = draw.pick([0, 1, 1, 1, 1, 2, 4]);
  const finish = draw.maybe(0.15, () => draw.pick([0, 0, 1, 2, 3, 4, 9]));
  const output = {
    request_id: id,
    ...tokenIds(draw, tokens),
    ...draw.maybe(first || draw.chance(0.2) ? 1 : 0, () => ({ events: events(draw, engine, at, sketch) })),
    ...draw.maybe(first ? 0.9 : 0.1, () => ({ prefill_stats: prefill(draw) })),
    ...draw.maybe(0.1, () => ({ num_nans_in_logits: draw.pick([0, 0, 3]) })),
    ...(finish === undefined && draw.chance(0.5) ? {} : { finish_reason: finish ?? null }),
  };
  if (sketch !== undefined) {
    sketch.begun ||= tokens > 0;
    sketch.ended ||= finish !== undefined;
  }
  return output;
}

/** One that has ended, or one that nobody ever started. */
function otherId(draw: Draw, { requests, released }: EngineSketch): string {
  const ids = [...requests.map(({ id }) => id), 'stranger-0', 'stranger-1', 'stranger-2'];
  const possible = ids.filter((id) => !released.has(id));
  return possible.length === 0 ? `stranger-${3 + released.size}` : draw.pick(possible);
}

/** Anything that has a length, at times one that no array can have. */
function tokenIds(draw: Draw, tokens: number): Pick<EngineCoreOutput, 'new_token_ids'> {
  if (tokens === 0 && draw.chance(0.5)) return {};
  if (draw.chance(0.01)) return { new_token_ids: { length: draw.pick([-1, 1.5, Number.NaN]) } };
  return {
    new_token_ids: draw.pick([
      Array.from({ length: tokens }, () => 7),
      new Uint32Array(tokens),
      { length: tokens },
    ]),
  };
}

function events(
  draw: Draw,
  engine: EngineSketch,
  at: number,
  sketch: RequestSketch | undefined,
): readonly EngineCoreEvent[] | null {
  const types = sketch?.queued === true ? [] : [1];
  if (draw.chance(0.1)) types.push(1);
  if (draw.chance(0.7)) types.push(2);
  if (draw.chance(0.2)) types.push(3, 2);
  if (draw.chance(0.1)) types.push(3);
  if (draw.chance(0.05)) types.push(7);
  if (sketch !== undefined) sketch.queued = true;
  return types.length === 0 ? null : types.map((type) => ({ type, timestamp: engineTime(draw, engine, at) }));
}

function prefill(draw: Draw): PrefillStats | null {
  const local = draw.whole(0, 1000);
  const external = draw.chance(0.3) ? draw.whole(0, 1000) : 0;
  const computed = draw.whole(0, 4000);
  const cached = { num_cached_tokens: local + external, num_local_cached_tokens: local };
  const whole = {
    num_prompt_tokens: computed + local + external,
    num_computed_tokens: computed,
    ...cached,
    num_external_cached_tokens: external,
  };
  return draw.pick<PrefillStats | null>([
    whole,
    whole,
    whole,
    { ...whole, num_cache_creation_tokens: draw.whole(0, 50) },
    { ...whole, num_cached_tokens: -1, num_local_cached_tokens: -1, num_external_cached_tokens: -1 },
    { num_prompt_tokens: computed },
    // Layouts A and B know no more than this.
    cached,
    { ...cached, num_external_cached_tokens: external },
    null,
  ]);
}
