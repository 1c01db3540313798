import { describe, expect, it } from 'vitest';
import { occurred } from '../support/service.ts';
import { VllmInstrumentation } from '../../src/instrumentation.ts';

describe('a clock of the application', () => {
  it.each<[string, () => number, number]>([
    ['throws', (): never => fail(), 0],
    ['tells no number', () => Number.NaN, 0],
  ])('that %s costs the service nothing: the own one stands in, and it is counted', (_, tell) => {
    const clock = { wallSeconds: tell, monotonicSeconds: tell };
    const vllm = new VllmInstrumentation({ modelName: 'test-model', clock });
    const request = vllm.engine(0).startRequest();
    request.recordEvent('queued');
    vllm.observe({ outputs: [{ request_id: request.requestId, new_token_ids: [1], finish_reason: 0 }] });
    expect(request.ended).toBe(true);
    expect(occurred(vllm).invalidValue).toBeGreaterThan(0);
  });
});

function fail(): never {
  throw new Error('the clock has stopped');
}
