import { describe, expect, it } from 'vitest';
import { finishReasonOf, isFinishReason } from '../../src/request/finish-reason.ts';

describe('finishReasonOf', () => {
  it.each([
    [0, 'stop'],
    [1, 'length'],
    [2, 'abort'],
    [3, 'error'],
    [4, 'repetition'],
    [5, undefined],
    [-1, undefined],
    [0.5, undefined],
    [Number.NaN, undefined],
    ['length', undefined],
    ['0', undefined],
    [{}, undefined],
  ])('of %j is %s', (code, reason) => {
    expect(finishReasonOf(code as number)).toBe(reason);
  });
});

describe('isFinishReason', () => {
  it.each(['stop', 'length', 'abort', 'error', 'repetition'])('is true of %s', (reason) => {
    expect(isFinishReason(reason)).toBe(true);
  });

  it.each(['Stop', 'cancelled', '', 0, null, undefined])('is false of %j', (value) => {
    expect(isFinishReason(value)).toBe(false);
  });
});
