import type { Attributes, Context } from '@opentelemetry/api';
import type {
  BindableCounter,
  BindableGauge,
  BindableHistogram,
  BindableUpDownCounter,
  Bound,
  BoundCounter,
  BoundRecorder,
} from './bindable.ts';
import type { Series } from './series.ts';
import type { SyncStream } from './sync-stream.ts';

/** A counter or up-down counter: which values are allowed is its stream's to say. */
export class AddingInstrument<Value> implements BindableCounter, BindableUpDownCounter {
  readonly #stream: SyncStream<Value>;

  constructor(stream: SyncStream<Value>) {
    this.#stream = stream;
  }

  add(value: number, attributes?: Attributes, context?: Context): void {
    this.#stream.record(value, attributes, context);
  }

  bind(attributes?: Attributes): BoundCounter {
    return new AddingBinding(this.#stream, attributes);
  }
}

/** A histogram or gauge. */
export class RecordingInstrument<Value> implements BindableHistogram, BindableGauge {
  readonly #stream: SyncStream<Value>;

  constructor(stream: SyncStream<Value>) {
    this.#stream = stream;
  }

  record(value: number, attributes?: Attributes, context?: Context): void {
    this.#stream.record(value, attributes, context);
  }

  bind(attributes?: Attributes): BoundRecorder {
    return new RecordingBinding(this.#stream, attributes);
  }
}

/** A bound instrument: one series, from bind to unbind. */
abstract class Binding<Value> implements Bound {
  readonly #stream: SyncStream<Value>;
  #series: Series<Value> | undefined;

  constructor(stream: SyncStream<Value>, attributes: Attributes | undefined) {
    this.#stream = stream;
    this.#series = stream.resolve(attributes);
  }

  unbind(): void {
    if (this.#series !== undefined) this.#stream.drop(this.#series);
    this.#series = undefined;
  }

  /** Records measurements. No allocation, no look-up, but for the first one after another binding's unbind. */
  protected take(value: number, count: number, context: Context | undefined): void {
    const series = this.#series;
    if (series === undefined) return;
    this.#stream.recordInto(series.isDropped ? this.#rebind(series) : series, value, count, context);
  }

  #rebind({ attributes }: Series<Value>): Series<Value> {
    return (this.#series = this.#stream.resolve(attributes));
  }
}

class AddingBinding<Value> extends Binding<Value> implements BoundCounter {
  add(value: number, context?: Context): void {
    this.take(value, 1, context);
  }
}

class RecordingBinding<Value> extends Binding<Value> implements BoundRecorder {
  record(value: number, context?: Context): void {
    this.take(value, 1, context);
  }

  /**
   * The same as `count` calls of `record`, to the last bit of the sum, in less time. For the batches of this package: the
   * specification has no such call, and the types offer none.
   *
   * @param count - A whole number above 0, so small that as many additions take no time.
   */
  recordMany(value: number, count: number, context?: Context): void {
    this.take(value, count, context);
  }
}
