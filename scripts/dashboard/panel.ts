/** A row of the dashboard: one question of an operator, and the panels that answer it. */
export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** One panel, as the dashboard's rows describe it; `buildPanel` makes Grafana's of it. */
export type Panel = LinesPanel | HeatmapPanel | StatesPanel | TablePanel | TextPanel;

interface PanelBase {
  readonly title: string;
  /** Columns of the 24 that the grid has. */
  readonly width: number;
  /** Units of the grid, about 30 pixels each. */
  readonly height: number;
  /** What is to be seen, for the panel's description. */
  readonly shows: string;
  /** What to do when it looks bad, for the panel's description. */
  readonly whenBad: string;
  readonly queries: readonly Query[];
}

/** Lines over time. */
export interface LinesPanel extends PanelBase {
  readonly kind: 'lines';
  /** A unit id of Grafana, or `suffix:` and the text after the number. */
  readonly unit: string;
  /** True where the series add up to something. */
  readonly stacked?: true;
  /** The greatest possible value, for an axis that always shows it. */
  readonly max?: number;
  /** From where on a value is bad: a dashed line. */
  readonly badFrom?: number;
}

/** The buckets of a histogram over time. */
export interface HeatmapPanel extends PanelBase {
  readonly kind: 'heatmap';
  /** What the buckets count. */
  readonly axis: string;
}

/** States over time, a bar for each series. */
export interface StatesPanel extends PanelBase {
  readonly kind: 'states';
  /** Text and colour of each value, from 0 on. */
  readonly states: readonly { readonly text: string; readonly color: string }[];
}

/** A table of the values now, a row for each set of labels. */
export interface TablePanel extends PanelBase {
  readonly kind: 'table';
  /** Columns that are left out. */
  readonly hidden: readonly string[];
  /** Units of the columns, by the legends of their queries. */
  readonly units?: Readonly<Record<string, string>>;
}

/** Text. */
interface TextPanel extends PanelBase {
  readonly kind: 'text';
  /** Markdown. */
  readonly content: string;
}

/** One query of a panel. */
export interface Query {
  /** PromQL with the dashboard's variables and `$__rate_interval`. */
  readonly expr: string;
  /** The name of the series, with `{{label}}` for labels; in a table, the name of the column. */
  readonly legend: string;
  /** True where Grafana asks for exemplars too. Series of the same buckets have the same ones: one query per panel. */
  readonly exemplars?: true;
  /** Why nothing may come back although requests are being served, for the panel's description. */
  readonly mayBeEmpty?: string;
}

/** A panel's description: what it shows, what to do, and what may be missing. */
export function describePanel({ shows, whenBad, queries }: Panel): string {
  const reasons = new Set(queries.flatMap(({ mayBeEmpty }) => mayBeEmpty ?? []));
  return [
    shows,
    `**When it looks bad:** ${whenBad}`,
    ...[...reasons].map((reason) => `**May be empty:** ${reason}`),
  ].join('\n\n');
}
