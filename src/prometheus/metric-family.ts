import type { DataPoint } from '@opentelemetry/sdk-metrics';
import type { CurrentEngines } from '../metrics/live-engines.ts';
import type { ExpositionFormat } from './exposition-format.ts';
import type { ExpositionWriter } from './exposition-writer.ts';
import type { FamilyType } from './family-name.ts';
import type { LinesByAttributes } from './series-lines.ts';

/** All series of one exposed name, of whatever scopes and instruments. */
export interface MetricFamily {
  /** As in the text format: with `_total` for a counter, with `_info` for an info metric. */
  readonly name: string;
  readonly type: FamilyType;
  /** `''` where there is none. */
  readonly help: string;
  /** In Prometheus' words, `''` where there is none. */
  readonly unit: string;
  readonly members: readonly FamilyMember[];
}

/** The points of one metric in a family. */
export interface FamilyMember {
  readonly size: number;
  /**
   * Writes the sample lines of the point at an index, unless its label set is in `written` already.
   *
   * @param written - The label sets of the family that have been written; this one is added.
   * @returns False where it was.
   */
  write(index: number, format: ExpositionFormat, written: Set<string>, writer: ExpositionWriter): boolean;
}

/** The points of one collected metric. */
export class MetricPoints<Value> implements FamilyMember {
  readonly #points: readonly DataPoint<Value>[];
  readonly #lines: LinesByAttributes<Value>;
  readonly #engines: CurrentEngines | undefined;

  /** @param engines - Points of others are left out. Default: none is. */
  constructor(
    points: readonly DataPoint<Value>[],
    lines: LinesByAttributes<Value>,
    engines?: CurrentEngines,
  ) {
    this.#points = points;
    this.#lines = lines;
    this.#engines = engines;
  }

  get size(): number {
    return this.#points.length;
  }

  write(index: number, format: ExpositionFormat, written: Set<string>, writer: ExpositionWriter): boolean {
    const point = this.#points[index];
    if (point === undefined || this.#engines?.have(point.attributes) === false) return true;
    const lines = this.#lines.of(point.attributes);
    const others = written.size;
    if (written.add(lines.labels).size === others) return false;
    lines.write(point, format, writer);
    return true;
  }
}
