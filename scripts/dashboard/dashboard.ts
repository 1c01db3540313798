import {
  DashboardBuilder,
  DashboardCursorSync,
  RowBuilder,
  type Dashboard,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { buildPanel, refIdAt } from './build-panel.ts';
import type { Row } from './panel.ts';
import { cacheRow } from './rows/caches.ts';
import { engineRow } from './rows/engines.ts';
import { latencyRow } from './rows/latency.ts';
import { loadRow } from './rows/load.ts';
import { outcomeRow } from './rows/outcomes.ts';
import { preemptionRow } from './rows/preemptions.ts';
import { readingRow } from './rows/reading.ts';
import { speculationRow } from './rows/speculation.ts';
import { throughputRow } from './rows/throughput.ts';
import { datasourceVariable, filterVariables } from './variables.ts';

/** The rows from top to bottom. */
export const dashboardRows: readonly Row[] = [
  preemptionRow,
  loadRow,
  latencyRow,
  throughputRow,
  cacheRow,
  speculationRow,
  outcomeRow,
  engineRow,
  readingRow,
];

/** A query of the dashboard, and where it stands. */
export interface DashboardQuery {
  /** The title of its panel. */
  readonly panel: string;
  readonly refId: string;
  /** PromQL with the dashboard's variables and `$__rate_interval`. */
  readonly expr: string;
  /** Why nothing may come back although requests are being served. Without it, the query must have a result then. */
  readonly mayBeEmpty?: string;
}

/** Every query of the dashboard. */
export function dashboardQueries(): DashboardQuery[] {
  return dashboardRows.flatMap(({ panels }) =>
    panels.flatMap(({ title, queries }) =>
      queries.map(({ expr, mayBeEmpty }, position) => ({
        panel: title,
        refId: refIdAt(position),
        expr,
        ...(mayBeEmpty === undefined ? {} : { mayBeEmpty }),
      })),
    ),
  );
}

/** The dashboard as Grafana imports it. */
export function buildDashboard(): Dashboard {
  const builder = new DashboardBuilder('vLLM requests')
    .uid('vllm-requests')
    .description(
      'Requests of vLLM engines, one by one: how often each was preempted, how long it took and how it ended, beside what the scheduler says. The (i) of each panel tells what to do when it looks bad.',
    )
    .tags(['vllm', 'opentelemetry'])
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: 'now-1h', to: 'now' })
    .refresh('30s')
    .withVariable(datasourceVariable());
  for (const variable of filterVariables()) builder.withVariable(variable);
  let id = 0;
  const nextId = (): number => (id += 1);
  for (const { title, panels } of dashboardRows) {
    builder.withRow(new RowBuilder(title).id(nextId()));
    for (const panel of panels) builder.withPanel(buildPanel(panel, nextId()));
  }
  return builder.build();
}
