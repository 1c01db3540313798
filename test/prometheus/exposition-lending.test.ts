import type { DataPoint } from '@opentelemetry/sdk-metrics';
import { EventEmitter, once } from 'node:events';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { OPEN_METRICS, TEXT } from '../../src/prometheus/exposition-format.ts';
import { ExpositionWriter } from '../../src/prometheus/exposition-writer.ts';
import { Exposition } from '../../src/prometheus/exposition.ts';
import { MetricPoints, type MetricFamily } from '../../src/prometheus/metric-family.ts';
import { LinesByAttributes, NumberLines } from '../../src/prometheus/series-lines.ts';
import { SpareWriter } from '../../src/prometheus/spare-writer.ts';

/** Long enough that the memory it is written in is worth keeping. */
const help = 'x'.repeat(5000);
const expected = (value: number): string => `# HELP g ${help}\n# TYPE g gauge\ng ${value}.0\n`;

function familyOf(value: number): MetricFamily {
  const point: DataPoint<number> = { attributes: {}, startTime: [0, 0], endTime: [0, 0], value };
  const lines = new LinesByAttributes<number>(() => new NumberLines('g', ''));
  return { name: 'g', type: 'gauge', help, unit: '', members: [new MetricPoints([point], lines)] };
}

/** Expositions of 1, 2 and so on, that share a spare writer. */
function start() {
  const spare = new SpareWriter();
  const writer = new ExpositionWriter();
  writer.text(help);
  spare.give(writer);
  const [first, second] = [1, 2].map((value) => new Exposition([familyOf(value)], spare, () => {}));
  return { first: first!, second: second!, isSpare: () => spare.take() === writer };
}

describe('an exposition that is lent', () => {
  it('is rendered once for all who have it, and its memory is free when the last of them is done', async () => {
    const { first, isSpare } = start();
    const signal = new EventEmitter();
    const bodies: Buffer[] = [];
    const isHere = once(signal, 'here');
    const slow = first.lend(TEXT, async (plain) => {
      bodies.push(plain);
      signal.emit('here');
      await once(signal, 'go on');
    });
    await isHere;
    await first.lend(TEXT, async (plain) => void bodies.push(plain));
    expect(bodies.map(String)).toEqual([expected(1), expected(1)]);
    expect(bodies[0]!.buffer).toBe(bodies[1]!.buffer);
    signal.emit('go on');
    await slow;
    expect(isSpare()).toBe(true);
  });

  it('is not written over by another one while somebody has it', async () => {
    const { first, second } = start();
    await first.lend(TEXT, async (one) => {
      await second.lend(TEXT, async (other) => {
        expect([one, other].map(String)).toEqual([expected(1), expected(2)]);
      });
      await first.lend(TEXT, async (same) => expect(same.buffer).toBe(one.buffer));
      await second.lend(OPEN_METRICS, async (other) => {
        expect([one, other].map(String)).toEqual([
          expected(1),
          `# TYPE g gauge\n# HELP g ${help}\ng 2.0\n# EOF\n`,
        ]);
      });
    });
  });

  it('is written over by the next one when all are done, and rendered anew where it is lent again', async () => {
    const { first, second } = start();
    const bodies: Buffer[] = [];
    for (const exposition of [first, second, first]) {
      await exposition.lend(TEXT, async (plain) => {
        expect(plain.toString()).toBe(expected(exposition === first ? 1 : 2));
        bodies.push(plain);
      });
    }
    expect(new Set(bodies.map(({ buffer }) => buffer)).size).toBe(1);
  });

  it('is never written over where one of its borrowers failed, who may have left it with somebody', async () => {
    const { first, isSpare } = start();
    await expect(first.lend(TEXT, () => Promise.reject(new Error('the client has gone')))).rejects.toThrow(
      'the client has gone',
    );
    await first.lend(TEXT, async (plain) => expect(plain.toString()).toBe(expected(1)));
    expect(isSpare()).toBe(false);
  });

  it('is compressed once, into memory of its own', async () => {
    const { first, second } = start();
    const zipped: Buffer[] = [];
    for (let time = 0; time < 2; time += 1) {
      await first.lend(TEXT, async (plain) => void zipped.push(await first.zip(TEXT, plain)));
    }
    await second.lend(TEXT, async () => {});
    expect(zipped[0]).toBe(zipped[1]);
    expect(gunzipSync(zipped[0]!).toString()).toBe(expected(1));
  });
});
