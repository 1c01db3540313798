// Builds dist/esm and dist/cjs, each with its own types: the compiler runs once per module format.
// An argument is the directory that gets `dist`; this package's own unless given.
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = resolve(process.argv[2] ?? root, 'dist');
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');

function compile(format, ...flags) {
  const args = [tsc, '-p', 'tsconfig.build.json', '--outDir', join(dist, format), ...flags];
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

rmSync(dist, { recursive: true, force: true });
compile('esm');
// `/register` is CommonJS only: it has to run to its end before the application starts.
for (const name of readdirSync(join(dist, 'esm')).filter((entry) => /^register(\.|$)/.test(entry))) {
  rmSync(join(dist, 'esm', name), { recursive: true });
}
// prettier-ignore
compile('cjs', '--module', 'commonjs', '--moduleResolution', 'bundler', '--verbatimModuleSyntax', 'false');
writeFileSync(join(dist, 'cjs', 'package.json'), '{ "type": "commonjs" }\n');
