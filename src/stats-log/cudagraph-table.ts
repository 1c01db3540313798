import type { CudagraphInterval } from '../engine/interval-accumulator.ts';
import type { EngineInterval } from './engine-interval.ts';
import { formatCount } from './format-fixed.ts';
import type { LineContent, StatsAttributes } from './stats-line.ts';

/** Kinds of runs with a row of their own. */
const MAX_ROWS = 20;

type Row = readonly [unpadded: string, padded: string, paddings: string, mode: string, count: string];

const HEADERS: Row = ['Unpadded Tokens', 'Padded Tokens', 'Num Paddings', 'Runtime Mode', 'Count'];

/**
 * How the model ran, as vLLM's Python frontend tables it: a row for each kind of run, the most frequent first, and a
 * row `Others` for those beyond {@link MAX_ROWS}. None where no run was told of.
 */
export function cudagraphTable(interval: EngineInterval): LineContent | undefined {
  const { cudagraph } = interval.observed;
  if (cudagraph === undefined) return undefined;
  // Sorting is stable: of equally frequent kinds, the one seen first comes first.
  const sorted = [...cudagraph.runs.values()].sort((a, b) => b.count - a.count);
  const shown = sorted.slice(0, MAX_ROWS);
  let { others } = cudagraph;
  for (const { count } of sorted.slice(MAX_ROWS)) others += count;

  const rows = shown.map(rowOf);
  if (others > 0) rows.push(['Others', '', '', '', formatCount(others)]);
  return {
    kind: 'cudagraph',
    text: `**CUDAGraph Stats:**\n\n${table(rows)}`,
    attributes: () => attributesOf(shown, others),
  };
}

type Runs = CudagraphInterval['runs'] extends ReadonlyMap<string, infer Value> ? Value : never;

function rowOf({ unpaddedTokens, paddedTokens, paddings, runtimeMode, count }: Runs): Row {
  return [
    formatCount(unpaddedTokens),
    formatCount(paddedTokens),
    formatCount(paddings),
    runtimeMode,
    formatCount(count),
  ];
}

function table(rows: readonly Row[]): string {
  const widths = HEADERS.map((header) => header.length);
  for (const row of rows) {
    for (let column = 0; column < row.length; column += 1) {
      widths[column] = Math.max(widths[column] ?? 0, row[column]?.length ?? 0);
    }
  }
  let text = line(HEADERS, widths);
  text += `\n|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  for (const row of rows) text += `\n${line(row, widths)}`;
  return text;
}

function line(row: Row, widths: readonly number[]): string {
  let text = '|';
  for (let column = 0; column < row.length; column += 1) {
    const cell = row[column] ?? '';
    const missing = (widths[column] ?? 0) - cell.length;
    text += ` ${cell}${CELL_ENDS[missing] ?? cellEnd(missing)}`;
  }
  return text;
}

/** What is after a cell that is so much narrower than its column. Making these anew took half of a table's time. */
const CELL_ENDS: readonly string[] = Array.from({ length: 32 }, (_, missing) => cellEnd(missing));

function cellEnd(missing: number): string {
  return `${' '.repeat(missing)} |`;
}

function attributesOf(shown: readonly Runs[], others: number): StatsAttributes {
  return {
    'vllm.stats.cudagraph.unpadded_tokens': shown.map(({ unpaddedTokens }) => unpaddedTokens),
    'vllm.stats.cudagraph.padded_tokens': shown.map(({ paddedTokens }) => paddedTokens),
    'vllm.stats.cudagraph.paddings': shown.map(({ paddings }) => paddings),
    'vllm.stats.cudagraph.runtime_mode': shown.map(({ runtimeMode }) => runtimeMode),
    'vllm.stats.cudagraph.count': shown.map(({ count }) => count),
    'vllm.stats.cudagraph.others': others,
  };
}
