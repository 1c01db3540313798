// Writes docs/grafana/vllm-requests.json: `npm run docs`. A test says when the file is stale.
import { mkdirSync, writeFileSync } from 'node:fs';
import { buildDashboard } from './dashboard/dashboard.ts';

const folder = new URL('../docs/grafana/', import.meta.url);
mkdirSync(folder, { recursive: true });
writeFileSync(new URL('vllm-requests.json', folder), JSON.stringify(buildDashboard(), undefined, 2));
