import { describe, expect, it } from 'vitest';
import { OPEN_METRICS, TEXT } from '../../src/prometheus/exposition-format.ts';
import type { MetricFamily } from '../../src/prometheus/metric-family.ts';
import { renderExposition } from '../../src/prometheus/render-exposition.ts';

/** One series of 100 bytes per point. */
function family(name: string, size: number): MetricFamily {
  const line = `${name}${'x'.repeat(99 - name.length)}\n`;
  return { name, type: 'gauge', help: '', unit: '', members: [{ size, write: () => line }] };
}

describe('renderExposition', () => {
  it('gives other work its turn about every 32 KiB, within a family too', async () => {
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      if (isDone) return;
      turns += 1;
      setImmediate(count);
    };
    setImmediate(count);
    const body = await renderExposition([family('a', 5000), family('b', 5000)], TEXT, () => {});
    isDone = true;
    expect(body.length).toBe(2 * (5000 * 100 + '# TYPE a gauge\n'.length));
    expect(turns).toBeGreaterThanOrEqual(30);
  });

  it('writes a small exposition at once', async () => {
    let hasTurned = false;
    setImmediate(() => {
      hasTurned = true;
    });
    await renderExposition([family('a', 3)], OPEN_METRICS, () => {});
    expect(hasTurned).toBe(false);
  });

  it('joins chunks without losing or splitting a character', async () => {
    const line = `${'é😀'.repeat(300)}\n`;
    const wide: MetricFamily = {
      name: 'w',
      type: 'gauge',
      help: 'ü',
      unit: '',
      members: [{ size: 200, write: () => line }],
    };
    const body = await renderExposition([wide], TEXT, () => {});
    expect(body.toString()).toBe(`# HELP w ü\n# TYPE w gauge\n${line.repeat(200)}`);
  });
});
