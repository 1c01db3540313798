import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(`src/${path}`, import.meta.url));

export default defineConfig({
  // Node 20, the older of the two supported lines, does not parse `using`.
  oxc: { target: 'es2022' },
  resolve: {
    alias: [
      { find: /^opentelemetry-instrumentation-vllm$/, replacement: source('index.ts') },
      { find: /^opentelemetry-instrumentation-vllm\/prometheus$/, replacement: source('prometheus/index.ts') },
      { find: /^opentelemetry-instrumentation-vllm\/(.+)$/, replacement: source('$1.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/compat/**', 'test/e2e/**'],
    pool: 'forks',
    execArgv: ['--expose-gc'],
    testTimeout: 60_000,
  },
});
