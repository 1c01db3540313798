import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';

/** How a server is started. */
export interface ServerProgram {
  /** Its name on the PATH. */
  readonly name: string;
  /** Fills the server's folder, and returns the arguments. */
  prepare(folder: string): readonly string[];
  /** The line of its log that tells host and port, as the first group. */
  readonly address: RegExp;
  /** Answers 200 when the server is ready. */
  readonly readyPath: string;
}

/** A server with a folder of its own, which is gone when it is stopped. */
export class ServerProcess {
  readonly #name: string;
  readonly #process: ChildProcess;
  readonly #lines: Interface;
  readonly #log: string[] = [];
  readonly #end: () => void;
  #url = '';

  private constructor(name: string, child: ChildProcess, folder: string) {
    this.#name = name;
    this.#process = child;
    this.#lines = createInterface({ input: child.stderr as Readable });
    this.#lines.on('line', (line) => this.#log.push(line));
    this.#end = () => {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    };
    process.once('exit', this.#end);
  }

  /**
   * Starts a server, and waits until it is ready.
   *
   * @throws Error with its log, where it ends before that.
   */
  static async start(program: ServerProgram): Promise<ServerProcess> {
    const folder = mkdtempSync(join(tmpdir(), `vllm-${program.name}-`));
    const child = spawn(program.name, program.prepare(folder), { stdio: ['ignore', 'ignore', 'pipe'] });
    const server = new ServerProcess(program.name, child, folder);
    try {
      server.#url = `http://${await server.#logged(program.address)}`;
      while (!(await fetch(server.#url + program.readyPath)).ok);
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  /** Where it listens. */
  get url(): string {
    return this.#url;
  }

  /** What it has logged so far. */
  get log(): string {
    return `${this.#name}:\n${this.#log.join('\n')}`;
  }

  async stop(): Promise<void> {
    process.off('exit', this.#end);
    if (this.#process.pid !== undefined && this.#process.exitCode === null) {
      this.#process.kill('SIGTERM');
      await once(this.#process, 'exit');
    }
    this.#end();
  }

  #logged(pattern: RegExp): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#lines.on('line', (line) => {
        const group = pattern.exec(line)?.[1];
        if (group !== undefined) resolve(group);
      });
      this.#lines.once('close', () => reject(new Error(`ended before it listened; ${this.log}`)));
      this.#process.once('error', ({ message }) =>
        reject(new Error(`${message}: \`npm run test:e2e\` brings ${this.#name}`)),
      );
    });
  }
}
