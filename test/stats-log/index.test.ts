import { describe, expect, expectTypeOf, it } from 'vitest';
import * as statsLog from '../../src/stats-log/index.ts';

describe('the stats-log entry', () => {
  it('exports the log and the adapter alone', () => {
    expect(Object.keys(statsLog).sort()).toEqual(['StatsLogger', 'otelLogger']);
    expectTypeOf<ConstructorParameters<typeof statsLog.StatsLogger>>().toEqualTypeOf<
      [source: statsLog.StatsSource, options: statsLog.StatsLoggerOptions]
    >();
    expectTypeOf<Console>().toExtend<statsLog.StatsTextLogger>();
    expectTypeOf(statsLog.otelLogger).returns.toEqualTypeOf<statsLog.StatsRecordLogger>();
  });
});
