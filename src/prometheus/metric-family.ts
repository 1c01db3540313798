import type { DataPoint } from '@opentelemetry/sdk-metrics';
import type { ExpositionFormat } from './exposition-format.ts';
import type { FamilyType } from './family-name.ts';
import type { SeriesLines } from './series-lines.ts';

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
   * The sample lines of the point at an index, or `''` where its label set is in `written` already.
   *
   * @param written - The label sets of the family that have been written; this one is added.
   */
  write(index: number, format: ExpositionFormat, written: Set<string>): string;
}

/** The points of one collected metric. */
export class MetricPoints<Value> implements FamilyMember {
  readonly #points: readonly DataPoint<Value>[];
  readonly #linesOf: (attributes: DataPoint<Value>['attributes']) => SeriesLines<Value>;

  constructor(
    points: readonly DataPoint<Value>[],
    linesOf: (attributes: DataPoint<Value>['attributes']) => SeriesLines<Value>,
  ) {
    this.#points = points;
    this.#linesOf = linesOf;
  }

  get size(): number {
    return this.#points.length;
  }

  write(index: number, format: ExpositionFormat, written: Set<string>): string {
    const point = this.#points[index];
    if (point === undefined) return '';
    const lines = this.#linesOf(point.attributes);
    if (written.has(lines.labels)) return '';
    written.add(lines.labels);
    return lines.write(point.value, format);
  }
}
