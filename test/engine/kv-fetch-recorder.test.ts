import { describe, expect, it } from 'vitest';
import type { SchedulerStats } from '../../src/engine/messages.ts';
import type { Reading } from '../support/reading.ts';
import { startService } from '../support/service.ts';

const BY_STAGE = 'vllm:num_requests_kv_fetch_by_stage';
const STAGES = ['waiting_to_start', 'in_progress', 'completed_waiting'];

type Stages = SchedulerStats['num_kv_fetch_reqs_by_stage'];

/** The value of each stage, in that order; empty where there are no series. */
function byStage(reading: Reading): number[] {
  if (!reading.names.includes(BY_STAGE)) return [];
  expect(reading.points(BY_STAGE)).toHaveLength(STAGES.length);
  return STAGES.map((stage) => reading.value(BY_STAGE, { stage }));
}

describe('requests whose KV is being fetched', () => {
  it('have series for all stages from the first map on, an empty one too', async () => {
    const { engine, read } = startService();
    engine.recordSchedulerStats({ num_running_reqs: 1 });
    engine.recordSchedulerStats({ num_kv_fetch_reqs_by_stage: null });
    expect(byStage(await read())).toEqual([]);
    engine.recordSchedulerStats({ num_kv_fetch_reqs_by_stage: {} });
    expect(byStage(await read())).toEqual([0, 0, 0]);
  });

  it('are set by stage, and are none in a stage that is left out', async () => {
    const { engine, read, dropped } = startService();
    const maps: Stages[] = [
      { waiting_to_start: 3, in_progress: 2 },
      { completed_waiting: 4, in_progress: 1 },
    ];
    engine.recordSchedulerStats({ num_kv_fetch_reqs_by_stage: maps[0] });
    expect(byStage(await read())).toEqual([3, 2, 0]);
    engine.recordSchedulerStats({ num_kv_fetch_reqs_by_stage: maps[1] });
    expect(byStage(await read())).toEqual([0, 1, 4]);
    expect(dropped()).toEqual({});
  });

  it.each<[string, SchedulerStats]>([
    ['left out', {}],
    ['null', { num_kv_fetch_reqs_by_stage: null }],
  ])('are none where later statistics have the map %s, as with its default on the wire', async (_, stats) => {
    const { engine, read } = startService();
    engine.recordSchedulerStats({ num_kv_fetch_reqs_by_stage: { in_progress: 2 } });
    engine.recordSchedulerStats(stats);
    expect(byStage(await read())).toEqual([0, 0, 0]);
  });

  it.each([[-1], [Number.NaN], ['2'], [{}]])(
    'stay as they were in a stage that cannot be right: %s',
    async (bad) => {
      const { engine, read, dropped } = startService();
      engine.recordSchedulerStats({ num_kv_fetch_reqs_by_stage: { in_progress: 2 } });
      const map = { in_progress: bad as number, completed_waiting: 5 };
      engine.recordSchedulerStats({ num_kv_fetch_reqs_by_stage: map });
      expect(byStage(await read())).toEqual([0, 2, 5]);
      expect(dropped()).toEqual({ invalidValue: 1 });
    },
  );

  it('stay as they were, or unknown, where no map comes: that is counted', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({ num_kv_fetch_reqs_by_stage: 5 as unknown as Stages });
    expect(byStage(await read())).toEqual([]);
    engine.recordSchedulerStats({ num_kv_fetch_reqs_by_stage: { in_progress: 2 } });
    engine.recordSchedulerStats({ num_kv_fetch_reqs_by_stage: 'in_progress' as unknown as Stages });
    expect(byStage(await read())).toEqual([0, 2, 0]);
    expect(dropped()).toEqual({ malformedMessage: 2 });
  });

  it('know no further stage', async () => {
    const { engine, read, dropped } = startService();
    engine.recordSchedulerStats({ num_kv_fetch_reqs_by_stage: { in_progress: 2, lost: 7 } });
    expect(byStage(await read())).toEqual([0, 2, 0]);
    expect(dropped()).toEqual({});
  });
});
