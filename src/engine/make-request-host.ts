import { LiveRequests } from '../request/live-requests.ts';
import type { LoraRequests } from '../request/lora-requests.ts';
import type { RequestHost } from '../request/request-host.ts';
import type { RequestSeries } from '../request/request-series.ts';
import type { EngineSettings } from './engine-settings.ts';

/** What the requests of one engine have in common. */
export function makeRequestHost(
  index: number,
  settings: EngineSettings,
  series: RequestSeries,
  lora: LoraRequests,
): RequestHost {
  const { modelName, drops, clock, spanKind, exemplars, followProvider } = settings;
  return {
    index,
    modelName,
    drops,
    clock,
    spanKind,
    exemplars,
    followProvider,
    series,
    lora,
    live: new LiveRequests(),
    outputsObserved: false,
    get tracer() {
      return settings.tracer;
    },
  };
}
