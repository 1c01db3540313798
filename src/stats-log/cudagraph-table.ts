import type { CudagraphRuns } from '../engine/cudagraph-interval.ts';
import { cudagraphLayout, CudagraphRow, cudagraphRow } from './cudagraph-row.ts';
import type { EngineInterval } from './engine-interval.ts';
import { formatCount } from './format-fixed.ts';
import type { LineContent, StatsAttributes } from './stats-line.ts';

/** Kinds of runs with a row of their own. */
const MAX_ROWS = 20;

const OTHERS = new CudagraphRow(['Others', '', '', '']);

/** Runs of one kind, under the key that tells it from other kinds. */
type Kind = readonly [key: string, runs: CudagraphRuns];

/**
 * How the model ran, as vLLM's Python frontend tables it: a row for each kind of run, the most frequent first, and a
 * row `Others` for those beyond {@link MAX_ROWS}. None where no run was told of.
 */
export function cudagraphTable(interval: EngineInterval): LineContent | undefined {
  const { cudagraph } = interval.observed;
  if (cudagraph === undefined) return undefined;
  const shown = mostFrequent(cudagraph.runs);
  const others = cudagraph.others + countBeyond(cudagraph.runs, shown);
  return {
    kind: 'cudagraph',
    text: `**CUDAGraph Stats:**\n\n${table(shown, others)}`,
    attributes: () => attributesOf(shown, others),
  };
}

/** At most {@link MAX_ROWS}; of equally frequent kinds, the one seen first comes first. */
function mostFrequent(runs: Iterable<Kind>): readonly Kind[] {
  const kinds: Kind[] = [];
  for (const kind of runs) {
    const { count } = kind[1];
    let place = kinds.length;
    while (place > 0 && countOf(kinds[place - 1]) < count) place -= 1;
    if (place === MAX_ROWS) continue;
    if (place === kinds.length) kinds.push(kind);
    else kinds.splice(place, 0, kind);
    if (kinds.length > MAX_ROWS) kinds.pop();
  }
  return kinds;
}

function countOf(kind: Kind | undefined): number {
  return kind?.[1].count ?? 0;
}

/** The runs of kinds that are not shown. */
function countBeyond(runs: ReadonlyMap<string, CudagraphRuns>, shown: readonly Kind[]): number {
  if (runs.size === shown.length) return 0;
  let beyond = 0;
  for (const { count } of runs.values()) beyond += count;
  for (const kind of shown) beyond -= countOf(kind);
  return beyond;
}

function table(shown: readonly Kind[], others: number): string {
  const rows: CudagraphRow[] = [];
  const counts: string[] = [];
  for (const [key, runs] of shown) {
    rows.push(cudagraphRow(key, runs));
    counts.push(formatCount(runs.count));
  }
  if (others > 0) {
    rows.push(OTHERS);
    counts.push(formatCount(others));
  }
  const layout = cudagraphLayout(rows, counts);
  let text = layout.top;
  for (let row = 0; row < rows.length; row += 1) {
    text += `\n${rows[row]?.text(layout)}${layout.last(counts[row] ?? '')}`;
  }
  return text;
}

function attributesOf(shown: readonly Kind[], others: number): StatsAttributes {
  const runs = shown.map(([, value]) => value);
  return {
    'vllm.stats.cudagraph.unpadded_tokens': runs.map(({ unpaddedTokens }) => unpaddedTokens),
    'vllm.stats.cudagraph.padded_tokens': runs.map(({ paddedTokens }) => paddedTokens),
    'vllm.stats.cudagraph.paddings': runs.map(({ paddings }) => paddings),
    'vllm.stats.cudagraph.runtime_mode': runs.map(({ runtimeMode }) => runtimeMode),
    'vllm.stats.cudagraph.count': runs.map(({ count }) => count),
    'vllm.stats.cudagraph.others': others,
  };
}
