import type { EngineLoad } from './engine.ts';

/** Chooses the engine of the next request: a position in the list. */
export type LoadBalancer = (loads: readonly EngineLoad[]) => number;

/** The engine with the least to do, a waiting request weighing as much as four running ones, as in vLLM. */
export const leastLoaded: LoadBalancer = (loads) => {
  const scores = loads.map(({ waiting, running }) => waiting * 4 + running);
  return scores.indexOf(Math.min(...scores));
};

/** One engine after the other. */
export function roundRobin(): LoadBalancer {
  let turn = -1;
  return (loads) => {
    turn = (turn + 1) % loads.length;
    return turn;
  };
}
