import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';

/** One rule of `docs/alerts/vllm-rules.yml`. */
export interface AlertRule {
  readonly kind: 'record' | 'alert';
  readonly name: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A query that needs no recording rule, so that any store answers it. */
export interface RuleQuery {
  /** The rule it comes from: a recording rule, or an alert of which it is one side of a comparison. */
  readonly name: string;
  readonly expr: string;
  /** Why there may be no result, where there may be none with traffic of every kind. */
  readonly mayBeEmpty?: string;
}

export const rulesFile: string = fileURLToPath(new URL('../../docs/alerts/vllm-rules.yml', import.meta.url));

interface WrittenRule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

const { groups } = parse(readFileSync(rulesFile, 'utf8')) as {
  readonly groups: readonly { readonly rules: readonly WrittenRule[] }[];
};

export const alertRules: readonly AlertRule[] = groups
  .flatMap(({ rules }) => rules)
  .map(({ record, alert, expr, labels = {}, annotations = {} }) => ({
    kind: record === undefined ? 'alert' : 'record',
    name: (record ?? alert)!,
    expr: expr.trim(),
    labels,
    annotations,
  }));

const recorded = new Map(
  alertRules.filter(({ kind }) => kind === 'record').map(({ name, expr }) => [name, expr]),
);

const RECORDED_NAME = /\b(\w+:vllm_\w+:\w+)/;

const MAY_BE_EMPTY: Readonly<Record<string, string>> = {
  up: 'only what is scraped has it',
  'absent_over_time(vllm:num_requests_running[1d])': 'there is a result only where the metrics are missing',
};

/**
 * The recording rules, each with the rules it rests on written out, and what alerts compare beside numbers and
 * recorded series: an alert that does not fire returns nothing, but both its sides do.
 */
export const ruleQueries: readonly RuleQuery[] = alertRules.flatMap(({ kind, name, expr }) => {
  const exprs = kind === 'record' ? [expr] : comparedIn(expr).filter((side) => !isRecordedSeries(side));
  return exprs.map((side) => {
    const mayBeEmpty = MAY_BE_EMPTY[side];
    return { name, expr: writtenOut(side), ...(mayBeEmpty === undefined ? {} : { mayBeEmpty }) };
  });
});

/** The operands of comparisons and of `and`, `or` and `unless`, numbers left out. */
function comparedIn(expr: string): string[] {
  const operands = (node: SyntaxNode): SyntaxNode[] => {
    const splits = ['And', 'Or', 'Unless', 'Eql', 'Neq', 'Gtr', 'Gte', 'Lss', 'Lte'];
    const isSplit = node.name === 'BinaryExpr' && splits.some((name) => node.getChild(name) !== null);
    return isSplit ? [node.firstChild!, node.lastChild!].flatMap(operands) : [node];
  };
  return operands(parser.parse(expr).topNode.firstChild!)
    .filter(({ name }) => name !== 'NumberDurationLiteral')
    .map(({ from, to }) => expr.slice(from, to));
}

/** `name` or `name{…}`: the recording rule's own query is enough. */
function isRecordedSeries(expr: string): boolean {
  return new RegExp(`^${RECORDED_NAME.source}(\\{[^}]*\\})?$`).test(expr);
}

/** The expression with its recorded series replaced by what they record; a range becomes that of a subquery. */
function writtenOut(expr: string): string {
  const series = new RegExp(`${RECORDED_NAME.source}(\\[\\w+)?`, 'g');
  return expr.replaceAll(series, (_, name: string, range?: string) => {
    const inner = recorded.get(name);
    if (inner === undefined) throw new Error(`${name} is not recorded`);
    return `(${writtenOut(inner)})${range === undefined ? '' : `${range}:1m`}`;
  });
}
