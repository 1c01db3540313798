import { spawnSync } from 'node:child_process';

/**
 * Whether a program that tests check against is on this machine: whether it ends with 0 when it is run so. Without it they are
 * skipped, which is said once; with `VLLM_TEST_REQUIRE_PROGRAMS=1`, as in CI, they fail.
 *
 * @param where - Where to get it, for what is said.
 */
export function hasProgram(program: string, args: readonly string[], where: string): boolean {
  const { status } = spawnSync(program, args, { stdio: 'ignore' });
  if (status === 0) return true;
  const message = `${program} ${args.join(' ')} does not run here (${where}): what it checks is not checked`;
  if (process.env['VLLM_TEST_REQUIRE_PROGRAMS'] === '1') throw new Error(message);
  console.warn(message);
  return false;
}
