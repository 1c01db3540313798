export type { BucketExemplars, Exemplar } from '../metrics/bucket-exemplars.ts';
export type {
  Bindable,
  BindableCounter,
  BindableGauge,
  BindableHistogram,
  BindableMeter,
  BindableUpDownCounter,
  Bound,
  BoundCounter,
  BoundRecorder,
} from './bindable.ts';
export {
  BoundMeterProvider,
  type BoundMeterProviderOptions,
  type BoundProducerOptions,
} from './bound-meter-provider.ts';
export type { DropCounts, DropReason } from './measurement-gate.ts';
export type { ProducerTemporality } from './temporality.ts';
export type { BoundView } from './view.ts';
