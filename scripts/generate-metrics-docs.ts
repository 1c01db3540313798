// Writes docs/metrics.md from the catalogue: `npm run docs`. A test says when the file is stale.
import { writeFileSync } from 'node:fs';
import { metricsDocument } from './metrics-document.ts';

writeFileSync(new URL('../docs/metrics.md', import.meta.url), metricsDocument());
