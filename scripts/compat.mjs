// Runs the type check and the tests with OpenTelemetry SDK 2.x on Node 20, the older of the two supported lines.
// Arguments are passed on to vitest. No version of @opentelemetry/api suits both lines, hence a second installation:
// test/compat/node_modules, and below it, where these modules are found first, a copy of this package.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  if (status !== 0) process.exit(status ?? 1);
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
  run('npm', ['ci'], { cwd: compat });
  writeFileSync(installed, lock);
}

const left = new Set(['.git', 'node_modules', 'dist', 'coverage']);
rmSync(tree, { recursive: true, force: true });
mkdirSync(tree);
for (const name of readdirSync(root).filter((entry) => !left.has(entry))) {
  cpSync(join(root, name), join(tree, name), { recursive: true, filter: (path) => path !== compat });
}

const versionOf = (name) => readJson(join(modules, name, 'package.json')).version;
const line = ['api', 'sdk-metrics', 'sdk-node'].map((name) => `${name} ${versionOf(`@opentelemetry/${name}`)}`);
console.log(`Node ${versionOf('node')}, @opentelemetry/ ${line.join(', ')}`);

const bin = join(modules, '.bin');
const node = join(bin, 'node');
const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
run(node, [join(modules, 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.json'], { cwd: tree, env });
run(node, [join(modules, 'vitest', 'vitest.mjs'), 'run', ...process.argv.slice(2)], { cwd: tree, env });
