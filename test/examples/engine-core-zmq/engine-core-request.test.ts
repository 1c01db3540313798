import { describe, expect, it } from 'vitest';
import {
  decodeRequest,
  encodeRequest,
  type EngineCoreRequest,
} from '../../../examples/engine-core-zmq/engine-core-request.ts';

const ADD: EngineCoreRequest = {
  kind: 'add',
  id: 'a',
  promptTokenIds: [5, 131_071],
  maxTokens: 16,
  outputTokens: 9,
  arrivalTime: 1.5,
};

const frames = (...hex: readonly string[]): readonly Uint8Array[] =>
  hex.map((digits) => Buffer.from(digits, 'hex'));

describe('a request to an engine', () => {
  it('is its type and an array by position', () => {
    const [type, body] = encodeRequest({ kind: 'abort', ids: ['a', 'b'] });
    expect([Buffer.from(type).toString('hex'), Buffer.from(body).toString('hex')]).toEqual([
      '01',
      '92a161a162',
    ]);
    expect(encodeRequest(ADD)[0]).toEqual(Uint8Array.of(0));
  });

  it.each<[string, EngineCoreRequest]>([
    ['an addition', ADD],
    ['an addition without max_tokens', { ...ADD, maxTokens: undefined }],
    ['an abort', { kind: 'abort', ids: ['a', 'b'] }],
  ])('comes out as it went in: %s', (_, request) => {
    expect(decodeRequest(encodeRequest(request))).toEqual(request);
  });

  it('may have positions that are not known, and lack those that have a default', () => {
    // ["a", [5], nil, nil, nil, 1, nil, nil, nil, nil, nil, nil, nil, nil, {}, 99], and ["a", [5]].
    const long = decodeRequest(frames('00', 'dc0010a1619105c0c0c001c0c0c0c0c0c0c0c08063'));
    const short = decodeRequest(frames('00', '92a1619105'));
    expect(long).toEqual({
      ...ADD,
      promptTokenIds: [5],
      maxTokens: undefined,
      outputTokens: Infinity,
      arrivalTime: 1,
    });
    expect(short).toMatchObject({ kind: 'add', id: 'a', promptTokenIds: [5] });
  });

  it('of a type that is not for simulated engines is passed over', () => {
    expect(decodeRequest(frames('03', '90'))).toBeUndefined();
    expect(decodeRequest([])).toBeUndefined();
  });

  it.each([
    ['no body', frames('00'), 'a request must be an array'],
    ['a map', frames('00', '80'), 'a request must be an array'],
    ['nothing in it', frames('00', '90'), 'request_id must be a string'],
    ['a number for an id', frames('00', '920190'), 'request_id must be a string'],
    ['no prompt', frames('00', '92a161c0'), 'prompt_token_ids must be an array'],
  ])('that is none is refused: %s', (_, given, reason) => {
    expect(() => decodeRequest(given)).toThrow(reason);
  });
});
