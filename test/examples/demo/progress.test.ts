import { describe, expect, it } from 'vitest';
import {
  formatProgress,
  Progress,
  type ProgressNumbers,
  type Terminal,
} from '../../../examples/demo/progress.ts';

const NUMBERS: ProgressNumbers = { done: 0.5, simulatedSeconds: 61.4, running: 20, waiting: 3, preempted: 7 };
const LINE = '████████████░░░░░░░░░░░░ 50 %  61 s   running 20   waiting 3   preempted 7';

class FakeTerminal implements Terminal {
  readonly isTTY: boolean;
  readonly columns: number;
  readonly written: string[] = [];

  constructor(isTTY = true, columns = 100) {
    this.isTTY = isTTY;
    this.columns = columns;
  }

  write(text: string): void {
    this.written.push(text);
  }
}

const failToRead = (): ProgressNumbers => {
  throw new Error('nobody is to ask');
};

describe('formatProgress', () => {
  it('shows a bar, the simulated time, and what the engines do', () => {
    expect(formatProgress(NUMBERS)).toBe(LINE);
  });

  it('keeps its columns from beginning to end', () => {
    const columns = [0, 0.5, 1].map((done) => formatProgress({ ...NUMBERS, done }).indexOf('running'));
    expect(new Set(columns).size).toBe(1);
  });
});

describe('Progress', () => {
  it('redraws its line in place and takes it away at the end', () => {
    const terminal = new FakeTerminal();
    const progress = new Progress(terminal, () => 0);
    progress.update(() => NUMBERS);
    progress.clear();
    expect(terminal.written).toEqual([`\r\u001B[K${LINE}`, '\r\u001B[K']);
  });

  it('draws ten times a second at most, and does not ask for numbers in between', () => {
    const terminal = new FakeTerminal();
    let now = 0;
    const progress = new Progress(terminal, () => now);
    progress.update(() => NUMBERS);
    now = 99;
    progress.update(failToRead);
    now = 100;
    progress.update(() => NUMBERS);
    expect(terminal.written).toHaveLength(2);
  });

  it('cuts the line off where the terminal is narrow', () => {
    const terminal = new FakeTerminal(true, 11);
    new Progress(terminal, () => 0).update(() => NUMBERS);
    expect(terminal.written).toEqual(['\r\u001B[K██████████']);
  });

  it.each([
    ['what is no terminal', new FakeTerminal(false)],
    ['nothing', undefined],
  ])('draws nothing on %s', (_, terminal) => {
    const progress = new Progress(terminal, () => 0);
    progress.update(failToRead);
    progress.clear();
    expect(terminal?.written ?? []).toEqual([]);
  });

  it('takes nothing away where it has drawn nothing', () => {
    const terminal = new FakeTerminal();
    new Progress(terminal).clear();
    expect(terminal.written).toEqual([]);
  });
});
