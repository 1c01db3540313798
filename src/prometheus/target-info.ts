import type { DataPoint, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { withDeadline } from './deadline.ts';
import { messageOf } from '../metrics/message-of.ts';
import type { Diagnostics } from './diagnostics.ts';
import { labelText } from './label-text.ts';
import { MetricPoints, type MetricFamily } from './metric-family.ts';
import { LinesByAttributes, NumberLines } from './series-lines.ts';

type Resource = ResourceMetrics['resource'];

/**
 * The resource as `target_info`, the metric that carries its attributes as labels; an info metric of OpenMetrics, a
 * gauge in the text format (OpenTelemetry's "Prometheus and OpenMetrics Compatibility", "Resource Attributes").
 */
export class TargetInfo {
  readonly #waitMillis: number;
  readonly #diagnostics: Diagnostics;
  #waited: Promise<void> | undefined;
  #families: readonly MetricFamily[] | undefined;

  /** @param waitMillis - How long the first scrape waits for attributes that a resource detector still looks up. */
  constructor(waitMillis: number, diagnostics: Diagnostics) {
    this.#waitMillis = waitMillis;
    this.#diagnostics = diagnostics;
  }

  /** The family of a resource: none where it has no attributes, or not all of them yet. */
  async families(resource: Resource): Promise<readonly MetricFamily[]> {
    if (this.#families !== undefined) return this.#families;
    if (resource.asyncAttributesPending === true) {
      this.#waited ??= this.#wait(resource);
      await this.#waited;
      if (resource.asyncAttributesPending) return [];
    }
    return (this.#families ??= toFamilies(resource));
  }

  async #wait(resource: Resource): Promise<void> {
    try {
      await withDeadline(
        Promise.resolve(resource.waitForAsyncAttributes?.()),
        this.#waitMillis,
        'resource detection',
      );
    } catch (error) {
      this.#diagnostics.warnOnce(
        'resource',
        `target_info is left out until the resource is complete: ${messageOf(error)}`,
      );
    }
  }
}

function toFamilies({ attributes }: Resource): MetricFamily[] {
  const labels = labelText(attributes);
  if (labels === '') return [];
  const point: DataPoint<number> = { attributes, startTime: [0, 0], endTime: [0, 0], value: 1 };
  const lines = new LinesByAttributes<number>(() => new NumberLines('target_info', labels));
  const members = [new MetricPoints([point], lines)];
  return [{ name: 'target_info', type: 'info', help: 'Target metadata', unit: '', members }];
}
