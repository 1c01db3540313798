import { diag, DiagLogLevel } from '@opentelemetry/api';
import { fastify } from 'fastify';
import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LineWriter } from '../../src/stats-log/line-writer.ts';
import type { StatsAttributes, StatsLine } from '../../src/stats-log/stats-line.ts';

const LINES: readonly StatsLine[] = [
  { kind: 'throughput', level: 'info', text: 'usage: 45.7%, rate: 0.0%d %s %o', attributes: { a: 1 } },
  { kind: 'cudagraph', level: 'debug', text: 'one\ntwo %', attributes: { b: [2] } },
];

function collector() {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { chunks, stream };
}

function write(logger: ConstructorParameters<typeof LineWriter>[0], attributesMade = () => {}): unknown[] {
  const failures: unknown[] = [];
  const writer = new LineWriter(logger, (error) => failures.push(error));
  for (const line of LINES) {
    const attributes = (): StatsAttributes => {
      attributesMade();
      return line.attributes;
    };
    writer.write({ ...line, attributes });
  }
  return failures;
}

describe('lines', () => {
  it('go to a console as they are, percent signs included', () => {
    const { chunks, stream } = collector();
    expect(write(new Console({ stdout: stream }))).toEqual([]);
    expect(chunks).toEqual(['usage: 45.7%, rate: 0.0%d %s %o\n', 'one\ntwo %\n']);
  });

  it('go to pino as they are, each at its level', () => {
    const { chunks, stream } = collector();
    // Fastify's logger is pino.
    const { log } = fastify({ logger: { level: 'debug', stream } });
    expect(write(log)).toEqual([]);
    const records = chunks.map((chunk) => JSON.parse(chunk) as { level: number; msg: string });
    expect(records.map(({ level, msg }) => [level, msg])).toEqual([
      [30, 'usage: 45.7%, rate: 0.0%d %s %o'],
      [20, 'one\ntwo %'],
    ]);
  });

  it('go to the diag logger of OpenTelemetry, each at its level', () => {
    const said: unknown[][] = [];
    const say =
      (level: string) =>
      (...args: unknown[]): void => {
        said.push([level, ...args]);
      };
    const [error, warn, info, debug, verbose] = ['error', 'warn', 'info', 'debug', 'verbose'].map(say);
    diag.setLogger(
      { error: error!, warn: warn!, info: info!, debug: debug!, verbose: verbose! },
      { logLevel: DiagLogLevel.ALL, suppressOverrideMessage: true },
    );
    onTestFinished(() => diag.disable());
    // Of its own registration.
    said.length = 0;
    expect(write(diag)).toEqual([]);
    expect(said).toEqual([
      ['info', 'usage: 45.7%, rate: 0.0%d %s %o'],
      ['debug', 'one\ntwo %'],
    ]);
  });

  it('go whole to a logger that takes whole lines', () => {
    const lines: StatsLine[] = [];
    expect(write({ writeLine: (line) => lines.push(line) })).toEqual([]);
    expect(lines).toEqual(LINES);
  });

  it('have their attributes made for such a logger alone', () => {
    let made = 0;
    const count = (): void => {
      made += 1;
    };
    write({ info: () => {}, debug: () => {} }, count);
    expect(made).toBe(0);
    write({ writeLine: () => {} }, count);
    expect(made).toBe(LINES.length);
  });

  it('that a logger fails on are told of, thrown or rejected, and cost no other line', async () => {
    const failures = write({
      info: () => {
        throw new Error('thrown');
      },
      debug: () => Promise.reject(new Error('rejected')),
    });
    await new Promise(setImmediate);
    expect(failures).toEqual([new Error('thrown'), new Error('rejected')]);
  });

  it.each<[string, () => unknown]>([
    [
      'a thenable that rejects',
      () => (_: unknown, reject: (error: Error) => void) => reject(new Error('no')),
    ],
    [
      'a thenable that throws',
      () => () => {
        throw new Error('no');
      },
    ],
    [
      'what cannot be looked into',
      () => {
        throw new Error('no');
      },
    ],
  ])('survive whatever a logger returns: %s', async (_, get) => {
    const failures = write({ info: () => new Proxy({}, { get }), debug: () => undefined });
    await new Promise(setImmediate);
    expect(failures).toEqual([new Error('no')]);
  });

  it('are written with the logger as `this`', () => {
    class Strict {
      #lines = 0;
      info(): number {
        return (this.#lines += 1);
      }
      debug(): number {
        return (this.#lines += 1);
      }
      get lines(): number {
        return this.#lines;
      }
    }
    const logger = new Strict();
    expect(write(logger)).toEqual([]);
    expect(logger.lines).toBe(2);
  });
});
