import type { ViteUserConfig } from 'vitest/config';
import suite from '../../../vitest.config.ts';

/** The tests that need Prometheus and VictoriaMetrics, which `npm run test:e2e` brings. */
const config: ViteUserConfig = {
  ...suite,
  test: {
    ...suite.test,
    include: ['test/e2e/servers/**/*.test.ts'],
    exclude: [],
    // Hooks run whole simulations.
    hookTimeout: 300_000,
  },
};

export default config;
