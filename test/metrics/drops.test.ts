import { diag } from '@opentelemetry/api';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Drops } from '../../src/metrics/drops.ts';
import { captureDiag } from '../support/captured-diag.ts';

function fail(): never {
  throw new Error('the logger failed');
}

describe('Drops', () => {
  it('counts every drop and says the first of each kind', () => {
    const said = captureDiag();
    const drops = new Drops();
    drops.count('unknownRequest', 'a');
    drops.count('unknownRequest', 'b');
    drops.count('invalidValue', -1, 'promptTokens of a request');
    expect(drops.snapshot()).toEqual({
      unknownRequest: 2,
      duplicateRequestId: 0,
      afterEnd: 0,
      invalidValue: 1,
      unknownEvent: 0,
      unknownFinishReason: 0,
      invalidEngineIndex: 0,
      removedEngine: 0,
      ambiguousChoice: 0,
      malformedMessage: 0,
      providerError: 0,
    });
    expect(said).toEqual([
      'opentelemetry-instrumentation-vllm: unknownRequest: a (further ones are only counted in status().dropped)',
      'opentelemetry-instrumentation-vllm: invalidValue: promptTokens of a request: -1 (further ones are only counted in status().dropped)',
    ]);
  });

  it.each([
    ['a symbol', Symbol('odd'), 'Symbol(odd)'],
    ['an object without a prototype', Object.create(null), 'object'],
    ['null', null, 'null'],
    ['a bigint', 7n, '7'],
  ])('can say %s', (_, value, text) => {
    const said = captureDiag();
    new Drops().count('afterEnd', value);
    expect(said[0]).toContain(`afterEnd: ${text} (`);
  });

  it('says where an error came from', () => {
    const said = captureDiag();
    new Drops().count('providerError', new Error('no meter today'));
    expect(said[0]).toContain('providerError: Error: no meter today\n    at ');
  });

  it('survives a diag logger that throws', () => {
    const logger = { error: fail, warn: fail, info: fail, debug: fail, verbose: fail };
    diag.setLogger(logger, { suppressOverrideMessage: true });
    onTestFinished(() => diag.disable());
    const drops = new Drops();
    drops.count('unknownEvent', 9);
    expect(drops.snapshot().unknownEvent).toBe(1);
  });

  it('says no more than 2000 characters of what came', () => {
    const said = captureDiag();
    new Drops().count('unknownRequest', 'x'.repeat(10_000_000));
    expect(said.join('').length).toBeLessThan(2200);
  });

  it('hands out copies', () => {
    const drops = new Drops();
    const before = drops.snapshot();
    drops.count('unknownEvent', 9);
    expect(before.unknownEvent).toBe(0);
  });
});
