import { addAbortListener } from 'node:events';

interface Listening {
  readonly callbacks: Set<() => void>;
  readonly listener: Disposable;
}

/** One listener for all requests of a signal: a signal shared by many is no leak to warn of. */
const listeningOf = new WeakMap<AbortSignal, Listening>();

/**
 * Calls `callback` once when `signal` aborts, at once where it has already; also where an earlier listener stops the
 * event.
 *
 * @throws whatever a signal that is not of the platform throws.
 * @returns What takes the callback off again, and with the last one the listener: Node keeps a signal made by
 *   `AbortSignal.any()` for as long as it has one. Never throws.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => {};
  }
  const { callbacks, listener } = listeningOf.get(signal) ?? listenTo(signal);
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size > 0) return;
    listeningOf.delete(signal);
    try {
      listener[Symbol.dispose]();
    } catch {
      // A signal of another kind that lets go of no listener: this one has nobody to call any more.
    }
  };
}

function listenTo(signal: AbortSignal): Listening {
  const callbacks = new Set<() => void>();
  const listener = addAbortListener(signal, () => {
    listeningOf.delete(signal);
    for (const callback of callbacks) callback();
  });
  const listening = { callbacks, listener };
  listeningOf.set(signal, listening);
  return listening;
}
