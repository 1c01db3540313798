import { spawnSync } from 'node:child_process';

/** Debian package `prometheus`. */
export const hasPromtool: boolean = spawnSync('promtool', ['--version']).status === 0;

if (!hasPromtool)
  console.warn('promtool is not on the PATH: the exposition is not checked with Prometheus itself');

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
