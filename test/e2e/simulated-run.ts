import { createScenario, type Scenario } from '../../examples/demo/scenario.ts';
import { parseOptions } from '../../examples/demo/options.ts';

/** The demo's scenario for these command-line options. */
export async function scenarioOf(...args: readonly string[]): Promise<Scenario> {
  const options = parseOptions(args);
  if (options === 'help') throw new Error('--help is no scenario');
  return createScenario(options);
}
