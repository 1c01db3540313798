/** What the scheduler did with a request. */
export type RequestEvent = 'queued' | 'scheduled' | 'preempted';

const EVENTS: readonly (RequestEvent | undefined)[] = [undefined, 'queued', 'scheduled', 'preempted'];

/** The event of a wire code (1 QUEUED, 2 SCHEDULED, 3 PREEMPTED), or undefined for any other. */
export function requestEventOf(code: number): RequestEvent | undefined {
  return Number.isInteger(code) ? EVENTS[code] : undefined;
}
