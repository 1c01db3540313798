import { describe, expect, it } from 'vitest';
import { overdue } from '../../src/otlp/overdue.ts';

const DAY = 86_400_000;

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

describe('overdue', () => {
  it('tells whether the time was over first', async () => {
    expect(await overdue(Promise.resolve(), DAY)).toBe(false);
    expect(await overdue(new Promise(() => {}), 1)).toBe(true);
  });

  it('rejects as the work does', async () => {
    await expect(overdue(Promise.reject(new Error('no')), DAY)).rejects.toThrow('no');
  });

  it('holds the process for as long as it waits, and no longer', async () => {
    const before = timers();
    let finish = (): void => {};
    const waiting = overdue(
      new Promise((resolve) => {
        finish = resolve;
      }),
      DAY,
    );
    expect(timers()).toBe(before + 1);
    finish();
    await waiting;
    await expect(overdue(Promise.reject(new Error('no')), DAY)).rejects.toThrow('no');
    expect(timers()).toBe(before);
  });
});
