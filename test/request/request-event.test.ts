import { describe, expect, it } from 'vitest';
import { requestEventOf } from '../../src/request/request-event.ts';

describe('requestEventOf', () => {
  it.each([
    [1, 'queued'],
    [2, 'scheduled'],
    [3, 'preempted'],
    [0, undefined],
    [4, undefined],
    [-1, undefined],
    [Number.NaN, undefined],
    ['length', undefined],
    ['3', undefined],
  ])('of %j is %s', (code, event) => {
    expect(requestEventOf(code as number)).toBe(event);
  });
});
