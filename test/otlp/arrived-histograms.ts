import type { Arrival } from './receiver.ts';
import { ProtobufFields } from './protobuf-fields.ts';

/** One histogram series as OTLP carries it. */
export interface ArrivedHistogram {
  readonly name: string;
  readonly temporality: 'delta' | 'cumulative' | undefined;
  readonly attributes: Readonly<Record<string, string>>;
  readonly count: number;
  readonly sum: number;
  readonly bounds: readonly number[];
  /** Per bucket, not cumulative. */
  readonly counts: readonly number[];
}

const TEMPORALITIES = [undefined, 'delta', 'cumulative'] as const;

/** The explicit-bucket histograms of an `ExportMetricsServiceRequest`, JSON or protobuf as its content type says. */
export function histogramsOf({ contentType, body }: Arrival): ArrivedHistogram[] {
  return contentType === 'application/json' ? fromJson(body) : fromProtobuf(body);
}

/** Every metric name in the request, histogram or not, from JSON. */
export function namesOf({ body }: Arrival): string[] {
  return metricsOf(body).map((metric) => metric.name);
}

interface JsonMetric {
  readonly name: string;
  readonly histogram?: {
    readonly aggregationTemporality: number;
    readonly dataPoints: readonly {
      readonly attributes: readonly {
        readonly key: string;
        readonly value: { readonly stringValue: string };
      }[];
      readonly count: number;
      readonly sum: number;
      readonly explicitBounds: readonly number[];
      readonly bucketCounts: readonly number[];
    }[];
  };
}

function metricsOf(body: Buffer): JsonMetric[] {
  const request = JSON.parse(body.toString()) as {
    resourceMetrics: { scopeMetrics: { metrics: JsonMetric[] }[] }[];
  };
  return request.resourceMetrics.flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) => metrics),
  );
}

function fromJson(body: Buffer): ArrivedHistogram[] {
  return metricsOf(body).flatMap(({ name, histogram }) =>
    (histogram?.dataPoints ?? []).map((point) => ({
      name,
      temporality: TEMPORALITIES[histogram!.aggregationTemporality],
      attributes: Object.fromEntries(point.attributes.map(({ key, value }) => [key, value.stringValue])),
      count: point.count,
      sum: point.sum,
      bounds: point.explicitBounds,
      counts: point.bucketCounts,
    })),
  );
}

/** Field numbers as in opentelemetry/proto/metrics/v1/metrics.proto. */
function fromProtobuf(body: Buffer): ArrivedHistogram[] {
  const metrics = new ProtobufFields(body)
    .messages(1)
    .flatMap((resource) => resource.messages(2))
    .flatMap((scope) => scope.messages(2));
  return metrics.flatMap((metric) =>
    metric.messages(9).flatMap((histogram) =>
      histogram.messages(1).map((point) => ({
        name: metric.text(1),
        temporality: TEMPORALITIES[histogram.number(2)],
        attributes: Object.fromEntries(
          point.messages(9).map((pair) => [pair.text(1), pair.messages(2)[0]!.text(1)]),
        ),
        count: point.fixed64(4)[0]!,
        sum: point.doubles(5)[0]!,
        bounds: point.doubles(7),
        counts: point.fixed64(6),
      })),
    ),
  );
}
