// Builds dist/esm and dist/cjs, each with its own types: the compiler runs once per module format.
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const typescript = createRequire(import.meta.url).resolve('typescript/package.json');
const tsc = join(dirname(typescript), 'bin', 'tsc');

function compile(...flags) {
  const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', ...flags], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}

rmSync(join(root, 'dist'), { recursive: true, force: true });
compile();
compile(
  ...['--outDir', 'dist/cjs', '--module', 'commonjs', '--moduleResolution', 'bundler'],
  ...['--verbatimModuleSyntax', 'false'],
);
writeFileSync(join(root, 'dist', 'cjs', 'package.json'), '{ "type": "commonjs" }\n');
