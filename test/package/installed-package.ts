import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NAME = 'opentelemetry-instrumentation-vllm';
const root = fileURLToPath(new URL('../..', import.meta.url));

/** The package as built now, installed in a temporary directory of its own, as a service finds it. */
export class InstalledPackage {
  readonly #directory = mkdtempSync(join(tmpdir(), 'vllm-package-'));
  readonly #modules = join(this.#directory, 'node_modules');
  #links: string[] = [];

  constructor() {
    const installed = join(this.#modules, NAME);
    mkdirSync(installed, { recursive: true });
    cpSync(join(root, 'package.json'), join(installed, 'package.json'));
    outputOf(spawnNode(root, [join(root, 'scripts', 'build.mjs'), installed]));
  }

  /** From now on these packages, of the tree under test, are all that can be found beside it. */
  provide(names: readonly string[]): void {
    for (const link of this.#links) rmSync(link);
    this.#links = names.map((name) => join(this.#modules, name));
    for (const [index, link] of this.#links.entries()) {
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(folderOf(names[index]!), link);
    }
  }

  /** What `code` writes to its output when it runs there. */
  run(format: 'module' | 'commonjs', code: string): string {
    return outputOf(spawnNode(this.#directory, [`--input-type=${format}`, '--eval', code]));
  }

  /** What the compiler has to say against `code` as the file `name`, declarations of dependencies included. */
  typeErrors(name: string, code: string): string {
    writeFileSync(join(this.#directory, name), code);
    const tsc = join(folderOf('typescript'), 'bin', 'tsc');
    const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--types', 'node'];
    return spawnNode(this.#directory, [tsc, ...options, '--module', 'nodenext', '--target', 'es2022', name])
      .stdout;
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true });
  }
}

/** Looked for by hand: the `exports` of SDK 3.x hide package.json from `require.resolve`. */
function folderOf(name: string): string {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${name} is not installed`);
  return found;
}

function spawnNode(cwd: string, args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
}

function outputOf({ status, stdout, stderr }: SpawnSyncReturns<string>): string {
  if (status !== 0) throw new Error(`node ended with ${String(status)}: ${stdout}${stderr}`);
  return stdout;
}
