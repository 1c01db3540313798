/** The callbacks of one signal, behind a single listener: a signal shared by many requests is no leak to warn of. */
const callbacksOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `callback` once when `signal` aborts, at once where it has already.
 *
 * @returns What takes the callback off again.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => {};
  }
  const callbacks = callbacksOf.get(signal) ?? listenTo(signal);
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>();
  callbacksOf.set(signal, callbacks);
  signal.addEventListener(
    'abort',
    () => {
      callbacksOf.delete(signal);
      for (const callback of callbacks) callback();
    },
    { once: true },
  );
  return callbacks;
}
