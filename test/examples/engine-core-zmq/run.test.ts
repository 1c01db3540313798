import { createServer, type AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { EngineProcess } from '../../../examples/engine-core-zmq/engine-process.ts';
import { HELP } from '../../../examples/engine-core-zmq/options.ts';
import { runExample, type Surroundings } from '../../../examples/engine-core-zmq/run.ts';

/** Engines are TypeScript, which Node 20 does not run. */
const runsTypeScript = Boolean((process.features as { readonly typescript?: unknown }).typescript);

const SMALL = '--engines 2 --rate 40 --duration 0.4 --kv-blocks 96 --abort-share 0.5 --port 0';

const run = async (line: string, more: Partial<Surroundings> = {}) => {
  const printed: string[] = [];
  const complaints: string[] = [];
  const pids: (number | undefined)[] = [];
  const code = await runExample(line.split(' '), {
    print: (text) => printed.push(text),
    complain: (text) => complaints.push(text),
    interrupted: new AbortController().signal,
    ...more,
    started(engines, output) {
      pids.push(...engines.map(({ pid }) => pid));
      more.started?.(engines, output);
    },
  });
  return { code, output: printed.join('\n'), complaints, pids };
};

const isRunning = (pid: number | undefined): boolean => {
  try {
    return process.kill(pid!, 0);
  } catch {
    return false;
  }
};

describe.runIf(runsTypeScript)('the ZeroMQ example', () => {
  it('records in one process exactly what engines in two others sent', async () => {
    const { code, output, complaints, pids } = await run(SMALL);
    expect(output).toMatch(
      /^Engine 0 is ready: 96 KV blocks of 16 tokens, requests of up to 1,536 tokens\nEngine 1 /,
    );
    expect(output).toMatch(/\nThe scrape and the simulator's own log agree: 11 requests, \d+ preemptions?$/);
    expect([code, complaints]).toEqual([0, []]);
    expect(pids.map(isRunning)).toEqual([false, false]);
  });

  it('ends with code 1, and ends the other engine too, when one is killed', async () => {
    const kill = ([engine]: readonly EngineProcess[]) => process.kill(engine!.pid!, 'SIGKILL');
    const { code, complaints, pids } = await run(`${SMALL} --duration 1000`, { started: kill });
    expect(complaints).toEqual(['An engine died, which ended the requests in flight']);
    expect([code, pids.map(isRunning)]).toEqual([1, [false, false]]);
  });

  it('lets its clients go, and ends with all its engines, when it is interrupted', async () => {
    const controller = new AbortController();
    const interruptAtWork = async ([engine]: readonly EngineProcess[]) => {
      while (engine!.sent().length === 0) await setImmediate();
      controller.abort();
    };
    const { code, output, pids } = await run(`${SMALL} --rate 1000 --duration 5 --abort-share 0`, {
      interrupted: controller.signal,
      started: (engines) => void interruptAtWork(engines),
    });
    expect(output).toMatch(/\nEnded by .*abort [1-9]/);
    expect(output).toContain("The scrape and the simulator's own log agree: ");
    expect([code, pids.map(isRunning)]).toEqual([0, [false, false]]);
  });

  it('ends before it has begun when it was interrupted by then', async () => {
    expect(await run(SMALL, { interrupted: AbortSignal.abort() })).toEqual({
      code: 1,
      output: '',
      complaints: [],
      pids: [],
    });
  });

  it('leaves Ctrl-C to the frontend in its engines', async () => {
    const interrupt = (engines: readonly EngineProcess[]) => {
      for (const { pid } of engines) process.kill(pid!, 'SIGINT');
    };
    const { code, output } = await run(`${SMALL} --duration 0.1`, { started: interrupt });
    expect(output).toContain('log agree: 1 request,');
    expect(code).toBe(0);
  });

  it('ends with code 2 and one line where the port is taken', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    const { port } = server.address() as AddressInfo;
    const { code, output, complaints } = await run(`--port ${port}`);
    server.close();
    expect([code, output, complaints.length]).toEqual([2, '', 1]);
    expect(complaints[0]).toContain(`--port: cannot listen on ${port}`);
  });
});

describe('the command line of the ZeroMQ example', () => {
  it('can ask for help', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, output: HELP });
  });

  it('is refused in one line where it asks for something impossible', async () => {
    expect(await run('--engines 0')).toEqual({
      code: 2,
      output: '',
      complaints: ['--engines must be an integer from 1 to 64, got "0"'],
      pids: [],
    });
  });
});
