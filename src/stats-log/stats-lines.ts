import { cudagraphTable } from './cudagraph-table.ts';
import type { EngineInterval } from './engine-interval.ts';
import { kvTransferLine } from './kv-transfer-line.ts';
import { mfuLine } from './mfu-line.ts';
import { specDecodeLine } from './spec-decode-line.ts';
import type { StatsAttributes, WritableLine } from './stats-line.ts';
import { throughputLine, type StatsLogStyle } from './throughput-line.ts';

/** What lines are made for. */
export interface LinesOptions {
  readonly style: StatsLogStyle;
  readonly level: WritableLine['level'];
  /** The measured length of the interval, above 0. */
  readonly elapsedSeconds: number;
  /** The index that the lines are prefixed with; undefined for lines on all engines. */
  readonly engine: number | undefined;
}

/** The lines on one interval: the main one, and one for each further subject that there is something to say of. */
export function statsLines(interval: EngineInterval, options: LinesOptions): WritableLine[] {
  const { style, level, elapsedSeconds, engine } = options;
  const prefix = engine === undefined ? '' : `Engine ${String(engine).padStart(3, '0')}: `;
  const contents = [
    throughputLine(interval, elapsedSeconds, style),
    specDecodeLine(interval, elapsedSeconds),
    mfuLine(interval, elapsedSeconds),
    cudagraphTable(interval),
    kvTransferLine(interval),
  ];
  const lines: WritableLine[] = [];
  for (const content of contents) {
    if (content === undefined) continue;
    lines.push({
      kind: content.kind,
      level,
      text: prefix + content.text,
      attributes: () => ({ ...sharedAttributes(interval, options), ...content.attributes() }),
    });
  }
  return lines;
}

function sharedAttributes({ engines }: EngineInterval, options: LinesOptions): StatsAttributes {
  const { elapsedSeconds, engine } = options;
  return {
    'vllm.stats.interval_seconds': elapsedSeconds,
    ...(engine === undefined ? { 'vllm.stats.engines': engines } : { 'vllm.stats.engine': engine }),
  };
}
