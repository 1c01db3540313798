// Runs every example that ends with a block comment `Expected output:` and compares the output with it line by line,
// where `<…>` stands for anything within its line.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../examples/', import.meta.url));

function expectedOutput(name) {
  const source = readFileSync(folder + name, 'utf8');
  return /\/\*\nExpected output:\n([^]*?)\n\*\/\s*$/.exec(source)?.[1].split('\n');
}

function matches(line, expected) {
  const literals = expected
    .split('<…>')
    .map((text) => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`));
  return new RegExp(`^${literals.join('.*')}$`).test(line);
}

/** @returns what is wrong with the example, or undefined. */
function faultOf(name, expected) {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [folder + name], {
    encoding: 'utf8',
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  const printed = `\n${stdout}${stderr}`;
  if (status !== 0) return `ended with ${status ?? signal}${printed}`;
  const lines = stdout.trimEnd().split('\n');
  const wrong = expected.findIndex((line, index) => !matches(lines[index] ?? '', line));
  if (wrong !== -1) return `should have printed as line ${wrong + 1}: ${expected[wrong]}${printed}`;
  return lines.length > expected.length ? `printed more than it says${printed}` : undefined;
}

const examples = readdirSync(folder)
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, expected: expectedOutput(name) }))
  .filter(({ expected }) => expected !== undefined);
if (examples.length === 0) throw new Error('No example says what it prints.');

for (const { name, expected } of examples) {
  const fault = faultOf(name, expected);
  if (fault !== undefined) process.exitCode = 1;
  console.log(fault === undefined ? `ok    ${name}` : `wrong ${name} ${fault}`);
}
