import { describe, expect, it } from 'vitest';
import { Drops } from '../../src/metrics/drops.ts';
import { resolveRequestOptions, type RequestOptions } from '../../src/request/request-options.ts';
import { startService } from '../support/service.ts';

const signal = new AbortController().signal;

const BAD_NUMBERS = [
  -1,
  Number.NaN,
  Infinity,
  -Infinity,
  '5',
  true,
  {},
  5n,
  Symbol('5'),
  Object.create(null),
];
const BAD_COUNTS = [...BAD_NUMBERS, 1.5, 2 ** 53];
const BAD_TEXTS = ['', 5, true, {}, Symbol('text'), Object.create(null)];

describe('the options of a request', () => {
  it.each<RequestOptions>([
    { requestId: 'r' },
    { promptTokens: 0 },
    { promptTokens: Number.MAX_SAFE_INTEGER },
    { maxTokens: 0 },
    { n: 1 },
    { n: 16_384 },
    { loraName: 'adapter' },
    { arrivalTime: 0 },
    { arrivalTime: 1000.25 },
    { signal },
    { temperature: 0 },
    { temperature: -1 },
    { topP: 0.9 },
    { attributes: { route: '/chat' } },
  ])('are taken as they are: %j', (options) => {
    const drops = new Drops();
    expect(resolveRequestOptions(options, drops)).toMatchObject(options);
    expect(Object.values(drops.snapshot()).every((count) => count === 0)).toBe(true);
  });

  it.each<[keyof RequestOptions, readonly unknown[]]>([
    ['requestId', BAD_TEXTS],
    ['promptTokens', BAD_COUNTS],
    ['maxTokens', BAD_COUNTS],
    ['n', [...BAD_COUNTS, 0, 16_385]],
    ['loraName', BAD_TEXTS],
    ['arrivalTime', BAD_NUMBERS],
    ['signal', [5, 'signal', {}, true, Symbol('signal'), { addEventListener: 1 }, Object.create(null)]],
    ['temperature', [Number.NaN, Infinity, '1', {}, Symbol('1'), Object.create(null)]],
    ['topP', [Number.NaN, Infinity, '1', {}, Symbol('1'), Object.create(null)]],
  ])('that cannot be right are left out and counted, each once: %s', (name, values) => {
    for (const value of values) {
      const drops = new Drops();
      const resolved = resolveRequestOptions({ [name]: value }, drops);
      expect(resolved[name]).not.toBe(value);
      if (name === 'n') expect(resolved.n).toBe(1);
      else if (name === 'requestId') expect(resolved.requestId).toMatch(/^[\da-f-]{36}$/);
      else expect(resolved[name]).toBeUndefined();
      expect(drops.snapshot().invalidValue).toBe(1);
    }
  });

  it.each([undefined, null])('may all be %s, which is no mistake', (nothing) => {
    const drops = new Drops();
    const names = ['requestId', 'promptTokens', 'maxTokens', 'n', 'loraName', 'arrivalTime', 'signal'];
    const options = Object.fromEntries(names.map((name) => [name, nothing])) as RequestOptions;
    expect(resolveRequestOptions(options, drops)).toMatchObject({ n: 1, promptTokens: undefined });
    expect(drops.snapshot().invalidValue).toBe(0);
  });

  it('give every request without an id one of its own', () => {
    const { engine } = startService();
    const ids = [engine.startRequest().requestId, engine.startRequest().requestId];
    expect(new Set(ids).size).toBe(2);
  });

  it.each([[undefined], [null], [5], ['options'], [Symbol('options')]])('may be %s as a whole', (options) => {
    const { engine, dropped } = startService();
    expect(engine.startRequest(options as RequestOptions).end()).toBe(true);
    expect(dropped()).toEqual({});
  });
});
