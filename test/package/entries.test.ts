import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { InstalledPackage } from './installed-package.ts';

const NAME = manifest.name;
const API = '@opentelemetry/api';

const entries = [
  {
    entry: NAME,
    needs: [API],
    exports: ['VllmInstrumentation', 'checkViews', 'getRequest', 'recordPreemption', 'vllmViews'],
  },
  {
    entry: `${NAME}/prometheus`,
    needs: [API, '@opentelemetry/sdk-metrics'],
    exports: ['VllmPrometheusExporter'],
  },
  {
    entry: `${NAME}/otlp`,
    needs: [API, '@opentelemetry/sdk-metrics'],
    exports: ['ConfirmingMetricReader'],
  },
  {
    entry: `${NAME}/engine-core`,
    needs: [API, '@msgpack/msgpack'],
    exports: ['EngineCoreDecodeError', 'decodeEngineCoreOutputs'],
  },
  {
    entry: `${NAME}/stats-log`,
    needs: [API],
    exports: ['StatsLogger', 'otelLogger'],
  },
  {
    entry: `${NAME}/bound-meter`,
    needs: [API],
    exports: ['BoundMeterProvider'],
  },
];

let installed: InstalledPackage;
beforeAll(() => {
  installed = new InstalledPackage();
});
afterAll(() => installed.remove());

describe('the entries of package.json', () => {
  it('are those of this test and the manifest itself', () => {
    const tested = [...entries.map(({ entry }) => entry), `${NAME}/register`, `${NAME}/package.json`];
    expect(Object.keys(manifest.exports).map((subpath) => NAME + subpath.slice(1))).toEqual(tested);
  });

  it.each(entries)(
    '$entry has exactly its public names in both formats, and loads nothing but what it needs',
    (row) => {
      installed.provide(row.needs);
      const imported = `import * as entry from '${row.entry}'; console.log(JSON.stringify(Object.keys(entry).sort()))`;
      const required = `console.log(JSON.stringify(Object.keys(require('${row.entry}')).sort()))`;
      expect(JSON.parse(installed.run('module', imported))).toEqual(row.exports);
      expect(JSON.parse(installed.run('commonjs', required))).toEqual(row.exports);
    },
  );

  it('start things once: /register is one CommonJS module for `import` and `require`', () => {
    installed.provide([API]);
    const code = `
      process.env.OTEL_SDK_DISABLED = 'true';
      const required = require('${NAME}/register');
      import('${NAME}/register').then(({ shutdown }) => {
        console.log(Object.keys(required), shutdown === required.shutdown);
      });`;
    expect(installed.run('commonjs', code)).toBe("[ 'shutdown' ] true\n");
  });

  it('carry the version of package.json in their instrumentation scope', () => {
    installed.provide([API]);
    const code = `console.log(new (require('${NAME}').VllmInstrumentation)({ modelName: 'm' }).instrumentationVersion)`;
    expect(installed.run('commonjs', code)).toBe(`${manifest.version}\n`);
  });
});

describe('the two formats in one process', () => {
  it('share a request through the Context: what the ESM half starts, the CJS half finds and preempts', () => {
    installed.provide([API, '@opentelemetry/context-async-hooks']);
    const code = `
      import { createRequire } from 'node:module';
      import { context } from '${API}';
      import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
      import * as esm from '${NAME}';
      const cjs = createRequire(import.meta.url)('${NAME}');
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
      const request = new esm.VllmInstrumentation({ modelName: 'm' }).engine(0).startRequest({ requestId: 'r' });
      await request.run(async () => {
        await undefined;
        console.log(JSON.stringify({
          twoCopies: esm.getRequest !== cjs.getRequest,
          same: cjs.getRequest() === request,
          recorded: cjs.recordPreemption(),
          numPreemptions: request.numPreemptions,
        }));
      });
      request.end('stop');`;
    expect(JSON.parse(installed.run('module', code))).toEqual({
      twoCopies: true,
      same: true,
      recorded: true,
      numPreemptions: 1,
    });
  });
});
