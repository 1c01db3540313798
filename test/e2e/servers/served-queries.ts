import { existsSync, readFileSync } from 'node:fs';
import { dashboardQueries } from '../../../scripts/dashboard/dashboard.ts';
import { ruleQueries } from '../../support/alert-rules.ts';
import { readPromql, substituteVariables } from '../../support/promql.ts';

/** A query that somebody asks a store. */
export interface ServedQuery {
  /** The panel and the letter of a query of a dashboard, or the rule that it comes from. */
  readonly name: string;
  /** As it stands there. */
  readonly expr: string;
  /** Without variables: with a rate of one minute and of five, where it leaves that open. */
  readonly written: readonly WrittenQuery[];
  /** Why there may be no result. */
  readonly mayBeEmpty?: string | undefined;
}

/** A query without variables. */
interface WrittenQuery {
  readonly promql: string;
  /** Of `$__rate_interval`. */
  readonly seconds: number;
}

/** What `$__rate_interval` stands for, and its seconds. */
const rateIntervals: Readonly<Record<string, number>> = { '1m': 60, '5m': 300 };

/** What the variables of both dashboards stand for. */
const variables = {
  job: 'vllm',
  instance: 'frontend-1',
  model: 'simulated',
  model_name: 'simulated',
  engine: '.*',
} as const;

const exampleFile = new URL('../../../../shared/fixtures/vllm-example-grafana.json', import.meta.url);

/** Every query of the dashboard. */
export const panelQueries: readonly ServedQuery[] = dashboardQueries().map(
  ({ panel, refId, expr, mayBeEmpty }) => served({ name: `${panel} ${refId}`, expr, mayBeEmpty }),
);

/** Every query of the rules. */
export const servedRuleQueries: readonly ServedQuery[] = ruleQueries.map(({ name, expr, mayBeEmpty }) =>
  served({ name, expr, mayBeEmpty }),
);

/** Every query of vLLM's own example dashboard; undefined where its file is not beside this checkout. */
export const exampleQueries: readonly ServedQuery[] | undefined = existsSync(exampleFile)
  ? readExample()
  : undefined;

/** Whether it asks what only scrapes have: a series of Prometheus' own. */
export function isOfScrapes({ written }: ServedQuery): boolean {
  return written.some(({ promql }) => readPromql(promql).selectors.some(({ metric }) => metric === 'up'));
}

function served(query: Omit<ServedQuery, 'written'>): ServedQuery {
  const written = Object.entries(rateIntervals).map(([interval, seconds]) => ({
    promql: substituteVariables(query.expr, { ...variables, __rate_interval: interval }),
    seconds,
  }));
  const isFixed = written.every(({ promql }) => promql === written[0]!.promql);
  return { ...query, written: isFixed ? written.slice(0, 1) : written };
}

function readExample(): readonly ServedQuery[] {
  const { panels } = JSON.parse(readFileSync(exampleFile, 'utf8')) as {
    readonly panels: readonly {
      readonly title: string;
      readonly targets: readonly { readonly expr: string; readonly refId: string }[];
    }[];
  };
  return panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, refId }) => served({ name: `${title} ${refId}`, expr })),
  );
}
