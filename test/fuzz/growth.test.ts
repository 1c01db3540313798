import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { describe, expect, it } from 'vitest';
import { TestReader } from '../support/test-reader.ts';
import { Growth } from './growth.ts';

/** Two collections of a counter that is read at collection: what it holds then, by label. */
async function checkTwo(first: Record<string, number>, second: Record<string, number>): Promise<void> {
  const reader = new TestReader();
  const provider = new MeterProvider({ readers: [reader] });
  let now = first;
  provider
    .getMeter('test')
    .createObservableCounter('count')
    .addCallback((result) => {
      for (const [label, value] of Object.entries(now)) result.observe(value, { label });
    });
  const growth = new Growth();
  growth.check(await reader.read());
  now = second;
  growth.check(await reader.read());
}

describe('what only grows', () => {
  it('may stand still, grow and be joined by others', async () => {
    await expect(checkTwo({ a: 1, b: 2 }, { a: 1, b: 3, c: 0 })).resolves.toBeUndefined();
  });

  it.each([
    ['shrinks', { a: 2 }, { a: 1 }, 'count{"label":"a"} went from 2 to 1'],
    ['is infinite', { a: 2 }, { a: Infinity }, 'count{"label":"a"} holds Infinity'],
    ['is no number', { a: Number.NaN }, { a: 1 }, 'count{"label":"a"} holds NaN'],
  ])('is found where it %s', async (_, first, second, fault) => {
    await expect(checkTwo(first, second)).rejects.toThrow(fault);
  });
});
