import { describe, expect, it } from 'vitest';
import { TimeSlice } from '../../src/metrics/time-slice.ts';

describe('TimeSlice', () => {
  it('is over after a millisecond, and begins anew once the event loop has turned', async () => {
    let now = 100;
    const slice = new TimeSlice(() => now);
    now = 100.9;
    expect(slice.isOver).toBe(false);
    now = 101;
    expect(slice.isOver).toBe(true);
    let hasTurned = false;
    setImmediate(() => {
      hasTurned = true;
      now = 150;
    });
    await slice.next();
    expect(hasTurned).toBe(true);
    expect(slice.isOver).toBe(false);
    now = 151;
    expect(slice.isOver).toBe(true);
  });

  it('goes by the real time where no clock is given', () => {
    const slice = new TimeSlice();
    const end = performance.now() + 1;
    while (performance.now() < end);
    expect(slice.isOver).toBe(true);
  });
});
