import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';

/** One condition of a selector on a label. */
interface Matcher {
  readonly label: string;
  readonly operator: '=' | '!=' | '=~' | '!~';
  readonly value: string;
}

/** What a query takes from the store. */
interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
  /** The text between the brackets of a range selector. */
  readonly range?: string;
}

/** The labels of a `by`, `without`, `on`, `ignoring`, `group_left` or `group_right`, and the metrics they are about. */
interface Grouping {
  readonly keyword: string;
  readonly labels: readonly string[];
  readonly metrics: readonly string[];
}

/** What a query uses. */
export interface PromqlReading {
  readonly selectors: readonly Selector[];
  readonly groupings: readonly Grouping[];
  /** Functions and aggregations, in order, repetitions included. */
  readonly functions: readonly string[];
}

/**
 * Reads a PromQL expression without variables. Throws a SyntaxError that says where it is none.
 */
export function readPromql(expr: string): PromqlReading {
  const text = (node: SyntaxNode): string => expr.slice(node.from, node.to);
  const nodes: SyntaxNode[] = [];
  parser.parse(expr).iterate({
    enter: ({ node }) => {
      if (node.type.isError) {
        throw new SyntaxError(
          `at ${node.from} of ${expr}: ${JSON.stringify(expr.slice(node.from, node.from + 20))}`,
        );
      }
      nodes.push(node);
    },
  });
  const within = (outer: SyntaxNode, name: string): SyntaxNode[] =>
    nodes.filter((node) => node.name === name && node.from >= outer.from && node.to <= outer.to);

  const selectors = new Map(
    nodes
      .filter(({ name }) => name === 'VectorSelector')
      .map((node) => [node.from, selectorAt(node, text)] as const),
  );
  const groupings = nodes
    .filter(({ name }) => name === 'GroupingLabels')
    .map((node): Grouping => {
      const keyword = text(node.prevSibling!);
      // The modifier's parent is the aggregation, or the operation whose sides are matched.
      const whole = node.parent!.parent!;
      // What group_left and group_right carry over comes from the side of the one.
      const about =
        keyword === 'group_left' ? whole.lastChild! : keyword === 'group_right' ? whole.firstChild! : whole;
      return {
        keyword,
        labels: node.getChildren('LabelName').map(text),
        metrics: within(about, 'VectorSelector').map(({ from }) => selectors.get(from)!.metric),
      };
    });
  const functions = nodes
    .filter(({ name }) => name === 'FunctionIdentifier' || name === 'AggregateOp')
    .map(text);
  return { selectors: [...selectors.values()], groupings, functions };
}

function selectorAt(node: SyntaxNode, text: (node: SyntaxNode) => string): Selector {
  const metric = node.getChild('Identifier');
  if (metric === null) throw new SyntaxError(`a selector without a metric name: ${text(node)}`);
  const matchers = (node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []).map(
    (matcher): Matcher => ({
      label: text(matcher.getChild('LabelName')!),
      operator: text(matcher.getChild('MatchOp')!) as Matcher['operator'],
      value: JSON.parse(text(matcher.getChild('StringLiteral')!)) as string,
    }),
  );
  const range = node.parent?.name === 'MatrixSelector' ? node.parent.getChild('DurationExpr') : null;
  return { metric: text(metric), matchers, ...(range === null ? {} : { range: text(range) }) };
}

/**
 * The expression with Grafana's variables replaced: `$name`, `${name}` and `${name:format}`. Throws where a variable has
 * no value.
 */
export function substituteVariables(expr: string, values: Readonly<Record<string, string>>): string {
  return expr.replaceAll(/\$(?:\{(\w+)(?::\w+)?\}|(\w+))/g, (_, braced?: string, bare?: string) => {
    const value = values[(braced ?? bare)!];
    if (value === undefined) throw new Error(`no value for $${braced ?? bare} in ${expr}`);
    return value;
  });
}
