import { expect, it } from 'vitest';
import { EngineRequest } from '../../../examples/simulated-engine/engine-request.ts';
import { stepSeconds } from '../../../examples/simulated-engine/step-cost.ts';

const COST = { perStep: 1, perPrefillToken: 10, perDecode: 100, perContextToken: 1000 };

const request = new EngineRequest({ id: 'a', prompt: [{ content: 1n, tokens: 9 }], outputTokens: 5 }, 4, 100);

it('charges an empty step for itself alone', () => {
  expect(stepSeconds(COST, [])).toBe(1);
});

it('charges prompt tokens one by one, and for the context they attend to', () => {
  expect(stepSeconds(COST, [{ request, tokens: 9 }])).toBe(1 + 90 + 9000);
});

it('charges a decode once, and for its whole context', () => {
  request.advance(9, 0);
  expect(stepSeconds(COST, [{ request, tokens: 1 }])).toBe(1 + 100 + 10_000);
});
