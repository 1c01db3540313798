import type { Model } from './model.ts';
import { removeNamed, set } from './series.ts';

const NAME = 'vllm:lora_requests_info';

/**
 * One series says which adapters have waiting and which have running requests, over all engines; its value is the time
 * at which that last changed. It exists from the first request with an adapter on, or from the start where it is known
 * how many adapters there may be.
 */
export function noteAdapters(model: Model): void {
  const requests = [...model.engines.values()].flatMap(({ live }) => [...live]);
  const expected =
    model.options.maxLoras !== undefined || requests.some(({ loraName }) => loraName !== undefined);
  if (model.adapters === undefined && !expected) return;
  const namesOf = (place: 'waiting' | 'running'): string => {
    const names = requests.filter(({ adapterIs }) => adapterIs === place).map(({ loraName }) => loraName);
    return [...new Set(names.filter((name) => name !== undefined))].toSorted().join(',');
  };
  const [waiting, running] = [namesOf('waiting'), namesOf('running')];
  if (model.adapters?.waiting === waiting && model.adapters.running === running) return;
  model.adapters = { waiting, running };
  removeNamed(model.series, NAME);
  const labels = {
    max_lora: String(model.options.maxLoras ?? ''),
    waiting_lora_adapters: waiting,
    running_lora_adapters: running,
  };
  set(model.series, NAME, labels, model.wall);
}
