import { spawnSync } from 'node:child_process';
import { hasProgram } from './has-program.ts';

export const hasPromtool: boolean = hasProgram('promtool', ['--version'], 'Debian package prometheus');

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
