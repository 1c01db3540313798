import type {
  Attributes,
  Context,
  Counter,
  Gauge,
  Histogram,
  Meter,
  MetricOptions,
  UpDownCounter,
} from '@opentelemetry/api';

/** What every bound instrument can do beside recording. */
export interface Bound {
  /**
   * Ends this binding, and drops the series of its attributes with all that was recorded into it, whoever recorded: it is
   * gone from the next collection of every producer, what a delta producer had not reported yet is lost, and its
   * place under the cardinality limit is free again. A second call does nothing, and what is recorded through the binding
   * afterwards goes nowhere.
   *
   * A later `bind` of the same attributes starts anew from zero, with a new start time. So does an unbound call, or the
   * next measurement of another binding of the same attributes.
   *
   * A binding that was made at the limit is one of the overflow series, which is not dropped: others record into it too.
   *
   * The specification's Bind has no such operation; without it no series could ever end.
   */
  unbind(): void;
}

/** A counter or up-down counter with fixed attributes. */
export interface BoundCounter extends Bound {
  /** As the instrument's `add`, with the attributes it is bound to. Allocates nothing and looks nothing up. */
  add(value: number, context?: Context): void;
}

/** A histogram or gauge with fixed attributes. */
export interface BoundRecorder extends Bound {
  /** As the instrument's `record`, with the attributes it is bound to. Allocates nothing and looks nothing up. */
  record(value: number, context?: Context): void;
}

/** A synchronous instrument with the specification's Bind ("Bind" in the metrics API, status Development). */
export interface Bindable<BoundInstrument, AttributesType extends Attributes = Attributes> {
  /**
   * The instrument with these attributes fixed; it has the same recording method without the attributes.
   *
   * The attributes are looked up, and the cardinality limit is applied, here and never again: the binding stays with
   * the series it got, through every collection, and whatever else comes or goes ("Bound instruments" in the metrics
   * SDK, status Development). Each call is decided on its own.
   *
   * The series exists from here on: a cumulative producer shows it at zero until something is recorded, a delta producer
   * once, at its next collection. It ends with {@link Bound.unbind}, not with the binding's garbage collection.
   *
   * @param attributes - Copied: a later change of the object changes nothing. Default: none.
   */
  bind(attributes?: AttributesType): BoundInstrument;
}

/** A Counter that can be bound. */
export interface BindableCounter<AttributesType extends Attributes = Attributes>
  extends Counter<AttributesType>, Bindable<BoundCounter, AttributesType> {}

/** An UpDownCounter that can be bound. */
export interface BindableUpDownCounter<AttributesType extends Attributes = Attributes>
  extends UpDownCounter<AttributesType>, Bindable<BoundCounter, AttributesType> {}

/** A Histogram that can be bound. */
export interface BindableHistogram<AttributesType extends Attributes = Attributes>
  extends Histogram<AttributesType>, Bindable<BoundRecorder, AttributesType> {}

/** A Gauge that can be bound. */
export interface BindableGauge<AttributesType extends Attributes = Attributes>
  extends Gauge<AttributesType>, Bindable<BoundRecorder, AttributesType> {}

/** A Meter whose synchronous instruments can be bound. */
export interface BindableMeter extends Meter {
  createCounter<AttributesType extends Attributes = Attributes>(
    name: string,
    options?: MetricOptions,
  ): BindableCounter<AttributesType>;
  createUpDownCounter<AttributesType extends Attributes = Attributes>(
    name: string,
    options?: MetricOptions,
  ): BindableUpDownCounter<AttributesType>;
  createHistogram<AttributesType extends Attributes = Attributes>(
    name: string,
    options?: MetricOptions,
  ): BindableHistogram<AttributesType>;
  createGauge<AttributesType extends Attributes = Attributes>(
    name: string,
    options?: MetricOptions,
  ): BindableGauge<AttributesType>;
}
