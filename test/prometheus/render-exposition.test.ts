import { describe, expect, it } from 'vitest';
import { OPEN_METRICS, TEXT } from '../../src/prometheus/exposition-format.ts';
import { ExpositionWriter } from '../../src/prometheus/exposition-writer.ts';
import type { MetricFamily } from '../../src/prometheus/metric-family.ts';
import { renderExposition } from '../../src/prometheus/render-exposition.ts';
import { TimeSlice } from '../../src/metrics/time-slice.ts';

/** A gauge of so many points, each of which writes the same line. */
function family(name: string, size: number, line: string): MetricFamily {
  const write: MetricFamily['members'][number]['write'] = (_index, _format, _written, writer) => {
    writer.text(line);
    return true;
  };
  return { name, type: 'gauge', help: '', unit: '', members: [{ size, write }] };
}

/** Counts the turns of the event loop until it is called. */
function countTurns(): () => number {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    if (isOver) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  return () => {
    isOver = true;
    return turns;
  };
}

describe('renderExposition', () => {
  it('gives other work its turn whenever its slice of time is over, within a family too', async () => {
    // The clock is read after 8 points each, and once for each slice that begins: 8 points take a fourth of a slice.
    let fourths = 0;
    const slice = new TimeSlice(() => fourths++ / 4);
    const turns = countTurns();
    const writer = new ExpositionWriter();
    const families = [family('a', 460, 'a 1.0\n'), family('b', 340, 'b 1.0\n')];
    const body = await renderExposition(families, TEXT, writer, () => {}, slice);
    expect(turns()).toBe(25);
    expect(body.toString()).toBe(
      `# TYPE a gauge\n${'a 1.0\n'.repeat(460)}# TYPE b gauge\n${'b 1.0\n'.repeat(340)}`,
    );
  });

  it('writes a small exposition at once', async () => {
    const turns = countTurns();
    const slice = new TimeSlice(() => 0);
    await renderExposition(
      [family('a', 3, 'a 1.0\n')],
      OPEN_METRICS,
      new ExpositionWriter(),
      () => {},
      slice,
    );
    expect(turns()).toBe(0);
  });

  it('neither loses nor splits a character where it needs more room', async () => {
    const line = `${'é😀'.repeat(300)}\n`;
    const wide: MetricFamily = { ...family('w', 200, line), help: 'ü' };
    const body = await renderExposition([wide], TEXT, new ExpositionWriter(), () => {});
    expect(body.toString()).toBe(`# HELP w ü\n# TYPE w gauge\n${line.repeat(200)}`);
  });
});
