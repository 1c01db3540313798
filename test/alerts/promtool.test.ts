import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { hasPromtool } from '../support/promtool.ts';
import { alertRules, rulesFile } from '../support/alert-rules.ts';
import { readPromql } from '../support/promql.ts';

interface RuleTests {
  readonly evaluation_interval: string;
  readonly tests: readonly {
    readonly promql_expr_test?: readonly {
      readonly expr: string;
      readonly exp_samples?: readonly Sample[];
    }[];
    readonly alert_rule_test?: readonly {
      readonly eval_time: string;
      readonly alertname: string;
      readonly exp_alerts?: readonly unknown[];
    }[];
  }[];
}

interface Sample {
  readonly value: number;
}

const folder = join(dirname(rulesFile), 'tests');
const files = readdirSync(folder);
const suites = files.map((file) => parse(readFileSync(join(folder, file), 'utf8')) as RuleTests);

describe.skipIf(!hasPromtool)('promtool', () => {
  const promtool = async (...args: string[]): Promise<string> => {
    const ended = await promisify(execFile)('promtool', args, { encoding: 'utf8' }).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    return ended.stdout + ended.stderr;
  };

  it('finds no fault in the rules', async () => {
    const output = await promtool('check', 'rules', '--lint=all', rulesFile);
    expect(output).toContain(`SUCCESS: ${alertRules.length} rules found`);
    expect(output).not.toContain('FAILED');
  });

  it.each(files)('sees the tests of %s pass', async (file) => {
    expect(await promtool('test', 'rules', join(folder, file))).toMatch(/^Unit Testing: .*\s+SUCCESS\s*$/);
  });
});

describe('docs/alerts/tests', () => {
  it.each(alertRules.filter(({ kind }) => kind === 'alert'))(
    'show from one evaluation to the next how $name begins to fire, and how it ends',
    ({ name }) => {
      const changes = suites.flatMap(({ evaluation_interval, tests }) =>
        tests.flatMap(({ alert_rule_test = [] }) => {
          const asked = alert_rule_test.filter(({ alertname }) => alertname === name);
          const firing = new Map(
            asked.map(({ eval_time, exp_alerts = [] }) => [minutes(eval_time), exp_alerts.length > 0]),
          );
          return [...firing].flatMap(([time, before]) => {
            const after = firing.get(time + minutes(evaluation_interval));
            return after === undefined || after === before ? [] : [after];
          });
        }),
      );
      expect(changes).toContain(true);
      expect(changes).toContain(false);
    },
  );

  it.each(alertRules.filter(({ kind }) => kind === 'record'))('ask for $name at least twice', ({ name }) => {
    const expected = suites
      .flatMap(({ tests }) => tests.flatMap(({ promql_expr_test = [] }) => promql_expr_test))
      .filter(({ expr }) => readPromql(expr).selectors.some(({ metric }) => metric === name))
      .map(({ exp_samples = [] }) => exp_samples.map(({ value }) => value).join());
    expect(new Set(expected).size).toBeGreaterThan(1);
  });
});

function minutes(duration: string): number {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(duration) ?? [];
  if (count === undefined || unit === undefined) throw new Error(`${duration} is not in m, h or d`);
  return Number(count) * { m: 1, h: 60, d: 1440 }[unit]!;
}
