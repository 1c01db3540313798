import { describe, expect, it } from 'vitest';
import { pace } from '../../../examples/simulated-engine/pace.ts';

/** A clock that shows what it slept, and what each event took. */
class FakeClock {
  readonly naps: number[] = [];
  time = 100;

  now(): number {
    return this.time;
  }

  async sleep(seconds: number): Promise<void> {
    this.naps.push(seconds);
    this.time += seconds;
  }
}

const run = async (times: readonly number[], timeScale: number, work = 0) => {
  const clock = new FakeClock();
  const seen: number[] = [];
  const events = times.map((at) => ({ at }));
  for await (const { at } of pace(events, timeScale, clock)) {
    seen.push(at);
    clock.time += work;
  }
  return { seen, naps: clock.naps };
};

describe('pace', () => {
  it('waits until the time of each event, simulated seconds passing as fast as the scale says', async () => {
    expect(await run([0, 10, 10, 40], 10)).toEqual({ seen: [0, 10, 10, 40], naps: [1, 3] });
  });

  it('makes up for the time that the events themselves take', async () => {
    expect(await run([0, 10, 20], 10, 0.25)).toEqual({ seen: [0, 10, 20], naps: [0.75, 0.75] });
  });

  it('lets others run now and then where it is late all the time', async () => {
    expect(await run([0, 0, 0, 0, 0, 0, 0], 10, 0.0078125)).toEqual({
      seen: [0, 0, 0, 0, 0, 0, 0],
      naps: [0, 0],
    });
  });

  it('paces by the clock of the process where it is given none', async () => {
    const seen: number[] = [];
    for await (const { at } of pace([{ at: 0 }, { at: 1 }], 1000)) seen.push(at);
    expect(seen).toEqual([0, 1]);
  });
});
