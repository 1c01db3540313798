import { context, createContextKey, ROOT_CONTEXT } from '@opentelemetry/api';
import { warn } from './metrics/warn.ts';

const PROBE = createContextKey('opentelemetry-instrumentation-vllm: probe of the context manager');

/** Whether a Context reaches the code that runs inside it: not so without a registered ContextManager. */
export function contextPropagates(): boolean {
  const probe = ROOT_CONTEXT.setValue(PROBE, true);
  return context.with(probe, () => context.active().getValue(PROBE) === true);
}

/** Says once, through `diag`, that requests won't be found from the code below them. */
export class PropagationCheck {
  #settled = false;
  #reported = false;

  run(): void {
    if (this.#settled) return;
    this.#settled = contextPropagates();
    if (this.#settled || this.#reported) return;
    this.#reported = true;
    warn(
      'no ContextManager is registered, so recordPreemption() and getRequest() ' +
        'find no request and spans have no parent. NodeSDK registers one; otherwise call ' +
        'context.setGlobalContextManager(new AsyncLocalStorageContextManager()) from @opentelemetry/context-async-hooks.',
    );
  }
}
