import { fileURLToPath } from 'node:url';
import type { ViteUserConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(`src/${path}`, import.meta.url));

const config: ViteUserConfig = {
  // Node 20, the older of the two supported lines, does not parse `using`.
  oxc: { target: 'es2022' },
  // What examples import by the package's name is, in tests, the source: no build goes stale.
  resolve: {
    alias: [
      { find: /^opentelemetry-instrumentation-vllm$/, replacement: source('index.ts') },
      { find: /^opentelemetry-instrumentation-vllm\/register$/, replacement: source('register.ts') },
      { find: /^opentelemetry-instrumentation-vllm\/(.+)$/, replacement: source('$1/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/compat/**', 'test/e2e/servers/**'],
    pool: 'forks',
    execArgv: ['--expose-gc'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
};

export default config;
