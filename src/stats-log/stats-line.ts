/** The numbers of a line by their OpenTelemetry attribute name. */
export type StatsAttributes = Record<string, number | number[] | string[]>;

/** Which line: the main one, speculative decoding, model FLOPs utilization, the CUDA-graph table, or NIXL transfers. */
export type StatsLineKind = 'throughput' | 'spec_decode' | 'mfu' | 'cudagraph' | 'kv_transfer';

/** One line of the stats log; the CUDA-graph table is one line, with line breaks in it. */
export interface StatsLine {
  readonly kind: StatsLineKind;
  /** `debug` while idle. */
  readonly level: 'info' | 'debug';
  readonly text: string;
  /** The numbers of the line, not rounded; what is not defined, a rate of nothing say, is left out. */
  readonly attributes: StatsAttributes;
}

/** A line as far as the numbers make it. */
export interface LineContent {
  readonly kind: StatsLineKind;
  readonly text: string;
  /** Makes the attributes: only a logger that takes them costs their making. */
  attributes(): StatsAttributes;
}

/** A line to write. */
export interface WritableLine extends LineContent {
  readonly level: StatsLine['level'];
}
