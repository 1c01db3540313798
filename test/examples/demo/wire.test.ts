import { expect, it, onTestFinished } from 'vitest';
import { Wire } from '../../../examples/demo/wire.ts';
import { message, output } from '../../support/messages.ts';

it('carries a message as frames, in which metrics find of token ids only how many there are', async () => {
  const wire = await Wire.open();
  onTestFinished(() => wire.close());
  const sent = message(1.5, output('a', 0, { new_token_ids: [7, 8, 9], finish_reason: 1 }));
  const arrived = await wire.carry({ ...sent, finished_requests: ['a'] });
  expect(arrived).toEqual({
    engine_index: 0,
    timestamp: 1.5,
    outputs: [{ request_id: 'a', new_token_ids: { length: 3 }, finish_reason: 1 }],
    finished_requests: ['a'],
  });
});
