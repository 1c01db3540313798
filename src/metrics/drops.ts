import { messageOf } from './message-of.ts';
import { warn } from './warn.ts';

/**
 * Why something was not recorded as it came, or at all:
 *
 * - `unknownRequest`: an output or event for an id that no live request has;
 * - `duplicateRequestId`: a request that started under the id of a live one; it counts, but the engine's
 *   messages go to the first;
 * - `afterEnd`: tokens or events for a request that had ended;
 * - `invalidValue`: a count, time or statistic that is negative, not finite or of the wrong type;
 * - `unknownEvent`, `unknownFinishReason`: a code this version does not know;
 * - `invalidEngineIndex`: a message whose engine index is no whole number from 0 to 65535;
 * - `removedEngine`: a message of an engine that was removed, or a request started on one;
 * - `ambiguousChoice`: an event for a request with several choices that did not say for which;
 * - `malformedMessage`: a message, or a part of one, that is no object of its kind;
 * - `providerError`: a meter, instrument, span or watcher of engines that threw.
 */
export type DropReason =
  | 'unknownRequest'
  | 'duplicateRequestId'
  | 'afterEnd'
  | 'invalidValue'
  | 'unknownEvent'
  | 'unknownFinishReason'
  | 'invalidEngineIndex'
  | 'removedEngine'
  | 'ambiguousChoice'
  | 'malformedMessage'
  | 'providerError';

/** How often each {@link DropReason} occurred. */
export type DropCounts = Readonly<Record<DropReason, number>>;

/** Counts what was dropped, and says the first of each kind through `diag`. */
export class Drops {
  readonly #counts: Record<DropReason, number> = {
    unknownRequest: 0,
    duplicateRequestId: 0,
    afterEnd: 0,
    invalidValue: 0,
    unknownEvent: 0,
    unknownFinishReason: 0,
    invalidEngineIndex: 0,
    removedEngine: 0,
    ambiguousChoice: 0,
    malformedMessage: 0,
    providerError: 0,
  };

  /**
   * @param reason - What kind of drop.
   * @param value - What came, for the one report of this kind.
   * @param what - What the value was given as, where the reason does not say it.
   */
  count(reason: DropReason, value: unknown, what?: string): void {
    this.#counts[reason] += 1;
    if (this.#counts[reason] > 1) return;
    const given = what === undefined ? '' : `${what}: `;
    warn(`${reason}: ${given}${describe(value)} (further ones are only counted in status().dropped)`);
  }

  /** A copy of the counts so far. */
  snapshot(): DropCounts {
    return { ...this.#counts };
  }
}

/** Of what came, in a report: a value off the wire may be of any length. */
const MAX_LENGTH = 2000;

function describe(value: unknown): string {
  const text = messageOf(stackOf(value) ?? value);
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}

function stackOf(value: unknown): unknown {
  try {
    return value instanceof Error ? value.stack : undefined;
  } catch {
    return undefined;
  }
}
