// Runs the type check and the tests with OpenTelemetry SDK 2.x on Node 20, the older of the two supported lines.
// Arguments are passed on to vitest. No version of @opentelemetry/api suits both lines, hence a second installation:
// test/compat/node_modules, and below it, where these modules are found first, a copy of this package.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const compat = join(root, 'test', 'compat');
const tree = join(compat, 'tree');
const modules = join(compat, 'node_modules');

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

function run(command, args, options) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', ...options });
  if (error) throw error;
  return status === 0;
}

// A package missing here would be found in the main tree, one line too new, and nobody would notice.
const { devDependencies } = readJson(join(compat, 'package.json'));
const missing = Object.keys(readJson(join(root, 'package.json')).devDependencies).filter(
  (name) => name.startsWith('@opentelemetry/') && !(name in devDependencies),
);
if (missing.length > 0) {
  console.error(`test/compat/package.json lacks the SDK 2.x version of: ${missing.join(', ')}`);
  process.exit(1);
}

const lock = readFileSync(join(compat, 'package-lock.json'), 'utf8');
const installed = join(modules, '.installed-lock.json');
if (!existsSync(installed) || readFileSync(installed, 'utf8') !== lock) {
  if (!run('npm', ['ci'], { cwd: compat })) process.exit(1);
  writeFileSync(installed, lock);
}

const left = new Set(['.git', 'node_modules', 'dist', 'coverage', 'test', 'compat']);
rmSync(tree, { recursive: true, force: true });
for (const folder of ['.', 'test']) {
  for (const name of readdirSync(join(root, folder)).filter((entry) => !left.has(entry))) {
    cpSync(join(root, folder, name), join(tree, folder, name), { recursive: true });
  }
}

const versionOf = (name) => readJson(join(modules, name, 'package.json')).version;
const line = ['api', 'sdk-metrics', 'sdk-node'].map(
  (name) => `${name} ${versionOf(`@opentelemetry/${name}`)}`,
);
console.log(`Node ${versionOf('node')}, @opentelemetry/ ${line.join(', ')}`);

const bin = join(modules, '.bin');
const options = { cwd: tree, env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` } };
const runNode = (...args) => run(join(bin, 'node'), args, options);
const typesHold = runNode(join(modules, 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.json');
const testsPass = runNode(join(modules, 'vitest', 'vitest.mjs'), 'run', ...process.argv.slice(2));
process.exitCode = typesHold && testsPass ? 0 : 1;
