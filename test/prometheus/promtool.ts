import { spawnSync } from 'node:child_process';

/** Debian package `prometheus`. */
export const hasPromtool: boolean = spawnSync('promtool', ['--version']).status === 0;

if (!hasPromtool) {
  const message = 'promtool (Debian package prometheus) is not on the PATH: what it checks is not checked';
  if (process.env['VLLM_TEST_REQUIRE_PROMTOOL'] !== undefined) throw new Error(message);
  console.warn(message);
}

/** Parses the text format and lints it. */
export function checkMetrics(text: string): 'parsed' | 'parsed, with remarks' | 'not parsed' {
  const { status } = spawnSync('promtool', ['check', 'metrics'], { input: text });
  if (status === 0) return 'parsed';
  return status === 3 ? 'parsed, with remarks' : 'not parsed';
}

/**
 * Parses OpenMetrics, by importing it into a new database in a directory.
 *
 * @returns What promtool complains about, `''` where all is well.
 */
export function importOpenMetrics(file: string, directory: string): string {
  return spawnSync('promtool', [
    'tsdb',
    'create-blocks-from',
    'openmetrics',
    file,
    directory,
  ]).stderr.toString();
}
