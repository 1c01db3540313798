import { describe, expect, it } from 'vitest';
import { FrontendLog } from '../../../examples/engine-core-zmq/frontend-log.ts';
import type { WorkloadRequest } from '../../../examples/simulated-engine/workload.ts';
import { message, output, preempted } from '../../support/messages.ts';

const request = (id: string): WorkloadRequest => ({
  id,
  arrival: 0,
  prompt: [{ content: 0n, tokens: 3 }],
  outputTokens: 9,
});

describe('FrontendLog', () => {
  it('replays what was sent up to the message after which a client left', () => {
    const log = new FrontendLog();
    for (const id of ['a', 'b', 'c']) log.start(request(id), 0);
    log.start(request('d'), 7);
    log.abort('c', 0);
    log.receive(0);
    log.receive(7);
    log.receive(0);
    log.abort('b', 0);
    const sent = [
      message(1, output('a', 1), output('b', 1), output('c', 5)),
      message(2, output('a', 1, { events: [preempted(2)] }), output('b', 2)),
      message(3, output('a', 1, { finish_reason: 0 }), output('b', 50)),
    ];
    const records = log.replay(
      new Map([
        [0, sent],
        [7, [message(1, output('d', 4))]],
      ]),
    );
    expect(
      records.map(({ id, engine, finishReason, reported }) => [
        id,
        engine,
        finishReason,
        reported.generatedTokens,
        reported.preemptions,
      ]),
    ).toEqual([
      ['a', 0, 'stop', 3, 1],
      ['b', 0, 'abort', 3, 0],
      ['c', 0, 'abort', 0, 0],
      ['d', 7, undefined, 4, 0],
    ]);
  });

  it('replays the abort of a client that left after the last message', () => {
    const log = new FrontendLog();
    log.start(request('a'), 0);
    log.receive(0);
    log.abort('a', 0);
    expect(log.replay(new Map([[0, [message(1, output('a', 2))]]]))).toMatchObject([
      { finishReason: 'abort', reported: { generatedTokens: 2 } },
    ]);
  });
});
