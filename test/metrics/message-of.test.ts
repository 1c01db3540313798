import { describe, expect, it } from 'vitest';
import { messageOf } from '../../src/metrics/message-of.ts';

describe('messageOf', () => {
  it.each<[string, unknown, string]>([
    ['the message of an error', new TypeError('no such thing'), 'no such thing'],
    ['a text itself', 'no such thing', 'no such thing'],
    ['the text of what is no error', 7n, '7'],
    ['the type of what has no text', Object.create(null), 'object'],
    ['the text of a message that is none', Object.assign(new Error(), { message: 7 }), '7'],
    [
      'the type of an error whose message cannot be read',
      Object.defineProperty(new Error(), 'message', {
        get: () => {
          throw new Error('sealed');
        },
      }),
      'object',
    ],
  ])('is %s', (_what, thrown, text) => {
    expect(messageOf(thrown)).toBe(text);
  });
});
