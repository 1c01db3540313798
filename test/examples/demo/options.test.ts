import { describe, expect, it } from 'vitest';
import { type DemoOptions, HELP, parseOptions } from '../../../examples/demo/options.ts';
import { UsageError } from '../../../examples/demo/usage-error.ts';

const DEFAULTS: DemoOptions = {
  engines: 2,
  kvBlocks: undefined,
  rate: 10,
  duration: undefined,
  timeScale: undefined,
  abortShare: 0.05,
  seed: 1,
  port: 9464,
  otlp: undefined,
  trace: undefined,
  log: 'python',
  wire: false,
  serve: false,
  progress: true,
};

const parse = (line: string) => parseOptions(line === '' ? [] : line.split(' '));

describe('parseOptions', () => {
  it.each<[line: string, options: Partial<DemoOptions>]>([
    ['', {}],
    ['--engines 64', { engines: 64 }],
    ['--kv-blocks=16', { kvBlocks: 16 }],
    ['--rate 0.5 --duration .5', { rate: 0.5, duration: 0.5 }],
    ['--time-scale 1000', { timeScale: 1000 }],
    ['--abort-share 0', { abortShare: 0 }],
    ['--abort-share 1', { abortShare: 1 }],
    ['--seed 0 --port 0', { seed: 0, port: 0 }],
    ['--otlp https://collector:4318/base', { otlp: 'https://collector:4318/base' }],
    ['--trace trace.csv --duration 60', { trace: 'trace.csv', duration: 60 }],
    ['--log rust', { log: 'rust' }],
    ['--log off', { log: 'off' }],
    ['--wire', { wire: true }],
    ['--serve --no-progress', { serve: true, progress: false }],
    ['--seed 1 --seed 2', { seed: 2 }],
  ])('takes "%s"', (line, options) => {
    expect(parse(line)).toEqual({ ...DEFAULTS, ...options });
  });

  it('gives way to --help, whatever else there is', () => {
    expect(parse('--rate nonsense --help')).toBe('help');
  });

  it.each([
    ['--engines 0', '--engines must be an integer from 1 to 64, got "0"'],
    ['--engines 2.5', '--engines must be an integer from 1 to 64, got "2.5"'],
    ['--engines two', '--engines must be an integer from 1 to 64, got "two"'],
    ['--kv-blocks 15', '--kv-blocks must be an integer from 16 to 1000000, got "15"'],
    ['--rate 0', '--rate must be a number from 0.001 to 10000, got "0"'],
    ['--rate -5', '--rate must be a number from 0.001 to 10000, got "-5"'],
    ['--rate 1e3', '--rate must be a number from 0.001 to 10000, got "1e3"'],
    ['--duration NaN', '--duration must be a number from 0.001 to 1000000, got "NaN"'],
    ['--time-scale Infinity', '--time-scale must be a number from 0.001 to 1000000, got "Infinity"'],
    ['--abort-share 1.1', '--abort-share must be a number from 0 to 1, got "1.1"'],
    ['--abort-share=', '--abort-share must be a number from 0 to 1, got ""'],
    ['--seed 0x10', '--seed must be an integer from 0 to 9007199254740991, got "0x10"'],
    ['--port 65536', '--port must be an integer from 0 to 65535, got "65536"'],
    ['--otlp localhost:4318', '--otlp must be an http or https URL, got "localhost:4318"'],
    ['--otlp nonsense', '--otlp must be an http or https URL, got "nonsense"'],
    ['--log go', '--log must be python, rust or off, got "go"'],
    ['--trace a.csv --rate 2', '--rate has no meaning with --trace, which says when requests arrive'],
    ['--rate', "Option '--rate <value>' argument missing; --help lists the options"],
    ['--serve=1', "Option '--serve' does not take an argument; --help lists the options"],
    ['--nonsense', "Unknown option '--nonsense'; --help lists the options"],
    ['trace.csv', "Unexpected argument 'trace.csv'; --help lists the options"],
  ])('refuses "%s" in one line', (line, message) => {
    expect(() => parse(line)).toThrow(new UsageError(message));
  });
});

describe('HELP', () => {
  it('lists every option, in lines of at most 100 characters', () => {
    const listed = [...HELP.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => name);
    expect(listed).toEqual([
      'engines',
      'kv-blocks',
      'rate',
      'duration',
      'time-scale',
      'abort-share',
      'seed',
      'port',
      'otlp',
      'trace',
      'log',
      'wire',
      'serve',
      'no-progress',
      'help',
    ]);
    expect(Math.max(...HELP.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  });
});
