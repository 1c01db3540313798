/** The labels of a series, `__name__` where the query kept it. */
type Labels = Readonly<Record<string, string>>;

/** What an instant query says of one series. */
export interface InstantSample {
  readonly labels: Labels;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly value: number;
}

/** What a range query says of one series: pairs of Unix seconds and value. */
export interface RangeSeries {
  readonly labels: Labels;
  readonly values: readonly (readonly [timestamp: number, value: number])[];
}

/** The exemplars of one series. */
export interface ExemplarSeries {
  readonly labels: Labels;
  readonly exemplars: readonly ExemplarSample[];
}

/** One exemplar. */
interface ExemplarSample {
  /** `trace_id` and `span_id`. */
  readonly labels: Labels;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly value: number;
}

/** The grid of a range query, in Unix seconds. */
export interface TimeRange {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

type WirePair = readonly [timestamp: number, value: string];

type WireResult =
  | { readonly resultType: 'scalar'; readonly result: WirePair }
  | {
      readonly resultType: 'vector';
      readonly result: readonly { readonly metric: Labels; readonly value: WirePair }[];
    }
  | {
      readonly resultType: 'matrix';
      readonly result: readonly { readonly metric: Labels; readonly values: readonly WirePair[] }[];
    };

interface WireExemplars {
  readonly seriesLabels: Labels;
  readonly exemplars: readonly {
    readonly labels: Labels;
    readonly value: string;
    readonly timestamp: number;
  }[];
}

/** The query API of Prometheus, which VictoriaMetrics has too. What a server refuses throws with what it says. */
export class PromQlClient {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** @param time Unix seconds. Default now. */
  async query(promql: string, time?: number): Promise<readonly InstantSample[]> {
    const data = await this.#get<WireResult>('query', { query: promql, ...(time !== undefined && { time }) });
    if (data.resultType === 'matrix') throw new Error(`${promql} is a range of samples`);
    const samples = data.resultType === 'scalar' ? [{ metric: {}, value: data.result }] : data.result;
    return samples.map(({ metric, value }) => ({
      labels: metric,
      timestamp: value[0],
      value: toNumber(value[1]),
    }));
  }

  async queryRange(promql: string, range: TimeRange): Promise<readonly RangeSeries[]> {
    // VictoriaMetrics moves the grid to multiples of the step, and remembers answers, unless told not to.
    const data = await this.#get<WireResult>('query_range', { query: promql, ...range, nocache: 1 });
    if (data.resultType !== 'matrix') throw new Error(`${promql} gave a ${data.resultType} over a range`);
    return data.result.map(({ metric, values }) => ({
      labels: metric,
      values: values.map(([timestamp, value]) => [timestamp, toNumber(value)] as const),
    }));
  }

  /** VictoriaMetrics keeps no exemplars, and answers with none. */
  async queryExemplars(
    promql: string,
    { start, end }: Pick<TimeRange, 'start' | 'end'>,
  ): Promise<readonly ExemplarSeries[]> {
    const data = await this.#get<readonly WireExemplars[]>('query_exemplars', { query: promql, start, end });
    return data.map(({ seriesLabels, exemplars }) => ({
      labels: seriesLabels,
      exemplars: exemplars.map(({ labels, value, timestamp }) => ({
        labels,
        timestamp,
        value: toNumber(value),
      })),
    }));
  }

  async #get<T>(endpoint: string, parameters: Readonly<Record<string, string | number>>): Promise<T> {
    const search = new URLSearchParams(
      Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
    );
    const response = await fetch(`${this.#url}/api/v1/${endpoint}?${search.toString()}`);
    const text = await response.text();
    const body = (response.headers.get('content-type') ?? '').startsWith('application/json')
      ? (JSON.parse(text) as { status: string; error?: string; data: T })
      : { status: 'error', error: text, data: undefined as never };
    if (body.status !== 'success') throw new Error(`${parameters['query']}: ${body.error}`);
    return body.data;
  }
}

function toNumber(text: string): number {
  return Number(text.replace('Inf', 'Infinity'));
}
