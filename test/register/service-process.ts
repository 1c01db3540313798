import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import type { InstalledPackage } from '../package/installed-package.ts';

const REGISTER = 'opentelemetry-instrumentation-vllm/register';

/** How a process ended, and everything it wrote. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a service is started. */
export interface ServiceOptions {
  /** The service: an ES module, CommonJS where it is started with `--require`. */
  readonly code: string;
  /** The variables of the process, beside PATH. */
  readonly env?: Readonly<Record<string, string>>;
  readonly flag?: '--import' | '--require';
  /** Options of Node.js in front of the flag. */
  readonly before?: readonly string[];
}

/** Where the package is installed: what runs there can say so. */
export function directoryOf(installed: InstalledPackage): string {
  return installed.run('commonjs', 'process.stdout.write(process.cwd())');
}

/** A service that runs in a process of its own, started with `/register`, until the test ends. */
export class ServiceProcess {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  #stdout = '';
  #stderr = '';

  /** @param cwd - Where the package is installed. */
  constructor(cwd: string, { code, env = {}, flag = '--import', before = [] }: ServiceOptions) {
    const inputType = flag === '--import' ? 'module' : 'commonjs';
    const args = [...before, flag, REGISTER, `--input-type=${inputType}`, '--eval', code];
    const { PATH } = process.env;
    const child = spawn(process.execPath, args, {
      cwd,
      env: { PATH, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    this.#child = child;
    this.ended = this.#end();
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
  }

  /** Resolves when the service has written this to its output. */
  async said(text: string): Promise<void> {
    while (!this.#stdout.includes(text)) await once(this.#child.stdout!, 'data');
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async #end(): Promise<Ended> {
    const [code, signal] = (await once(this.#child, 'close')) as [number | null, NodeJS.Signals | null];
    return { code, signal, stdout: this.#stdout, stderr: this.#stderr };
  }
}
