import { cudagraphTable } from './cudagraph-table.ts';
import type { EngineInterval } from './engine-interval.ts';
import { kvTransferLine } from './kv-transfer-line.ts';
import { mfuLine } from './mfu-line.ts';
import { specDecodeLine } from './spec-decode-line.ts';
import type { LineContent, StatsAttributes, WritableLine } from './stats-line.ts';
import { throughputLine, type StatsLogStyle } from './throughput-line.ts';

/** What lines are made for. */
export interface LinesOptions {
  readonly style: StatsLogStyle;
  readonly level: WritableLine['level'];
  /** The measured length of the interval, above 0; NaN where it could not be measured. */
  readonly elapsedSeconds: number;
  /** The index that the lines are prefixed with; undefined for lines on all engines. */
  readonly engine: number | undefined;
}

/** The lines on one interval: the main one, and one for each further subject that there is something to say of. */
export function statsLines(interval: EngineInterval, options: LinesOptions): WritableLine[] {
  const { style, level, elapsedSeconds, engine } = options;
  const prefix = engine === undefined ? '' : `Engine ${String(engine).padStart(3, '0')}: `;
  const lines: WritableLine[] = [];
  const add = (content: LineContent | undefined): void => {
    if (content === undefined) return;
    const attributes = (): StatsAttributes => attributesOf(interval, options, content);
    lines.push({ kind: content.kind, level, text: prefix + content.text, attributes });
  };
  add(throughputLine(interval, elapsedSeconds, style));
  add(specDecodeLine(interval, elapsedSeconds));
  add(mfuLine(interval, elapsedSeconds));
  add(cudagraphTable(interval));
  add(kvTransferLine(interval));
  return lines;
}

/** Those of the interval and those of the line, without numbers that are not defined. */
function attributesOf(
  interval: EngineInterval,
  options: LinesOptions,
  content: LineContent,
): StatsAttributes {
  const { elapsedSeconds, engine } = options;
  const attributes = content.attributes();
  attributes['vllm.stats.interval_seconds'] = elapsedSeconds;
  if (engine === undefined) attributes['vllm.stats.engines'] = interval.engines;
  else attributes['vllm.stats.engine'] = engine;
  for (const name in attributes) {
    const value = attributes[name];
    if (typeof value === 'number' && !Number.isFinite(value)) delete attributes[name];
  }
  return attributes;
}
