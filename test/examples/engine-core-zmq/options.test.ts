import { describe, expect, it } from 'vitest';
import { HELP, parseOptions } from '../../../examples/engine-core-zmq/options.ts';

const parse = (line: string) => parseOptions(line === '' ? [] : line.split(' '));

describe('the options of the ZeroMQ example', () => {
  it('have defaults', () => {
    expect(parse('')).toEqual({
      engines: 1,
      kvBlocks: 256,
      rate: 40,
      duration: 2,
      abortShare: 0.1,
      seed: 1,
      port: 9464,
    });
  });

  it('are taken from the command line', () => {
    const line = '--engines 3 --kv-blocks 64 --rate 2.5 --duration 1 --abort-share 0 --seed 7 --port 0';
    expect(parse(line)).toEqual({
      engines: 3,
      kvBlocks: 64,
      rate: 2.5,
      duration: 1,
      abortShare: 0,
      seed: 7,
      port: 0,
    });
  });

  it('are all in the help', () => {
    expect(parse('--port nonsense --help')).toBe('help');
    const listed = [...HELP.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => name);
    expect(listed).toEqual([
      'engines',
      'kv-blocks',
      'rate',
      'duration',
      'abort-share',
      'seed',
      'port',
      'help',
    ]);
  });

  it.each([
    ['--engines 65', '--engines must be an integer from 1 to 64, got "65"'],
    ['--wire', "Unknown option '--wire'; --help lists the options"],
  ])('are refused where they are impossible: %s', (line, reason) => {
    expect(() => parse(line)).toThrow(reason);
  });
});
