import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { EngineCoreOutputs } from 'opentelemetry-instrumentation-vllm';

/** What an engine process is told. */
export interface EngineProcessSettings {
  readonly index: number;
  readonly kvBlocks: number;
  /** Address of the frontend's ROUTER. */
  readonly input: string;
  /** Address of the frontend's PULL. */
  readonly output: string;
}

const PROGRAM = fileURLToPath(new URL('engine.ts', import.meta.url));

/** How long an engine may take to end. */
const END_TIMEOUT_MILLIS = 5000;

/** An engine in a process of its own, which ends with this one. */
export class EngineProcess {
  readonly index: number;
  /** Resolves when the process has ended without having been told to; never, where it was told. */
  readonly died: Promise<void>;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #written: string[] = [];
  #told = false;

  constructor(settings: EngineProcessSettings) {
    this.index = settings.index;
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(settings)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin.on('error', () => {}); // it has ended already
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.#written.push(text));
    this.#child = child;
    this.#ended = once(child, 'close');
    this.died = new Promise((resolve) => {
      child.once('close', () => {
        if (!this.#told) resolve();
      });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Ends it; resolves when it has ended. */
  async stop(): Promise<void> {
    this.#told = true;
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), END_TIMEOUT_MILLIS);
    this.#child.stdin?.end();
    await this.#ended;
    clearTimeout(timer);
  }

  /** What it has sent, by its own account, of which nothing is missing once it has ended well. */
  sent(): readonly EngineCoreOutputs[] {
    const lines = this.#written.join('').trimEnd().split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as EngineCoreOutputs);
  }
}
