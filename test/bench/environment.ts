import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';

const PACKAGES = [
  '@opentelemetry/api',
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/exporter-prometheus',
  'prom-client',
  'msgpackr',
  '@msgpack/msgpack',
];

/** What the figures depend on. */
export interface Environment {
  readonly cpu: string;
  readonly cores: number;
  readonly node: string;
  readonly v8: string;
  /** By name. */
  readonly packages: Readonly<Record<string, string>>;
}

/** The machine, Node.js, and the versions of what this package is compared with. */
export function environment(): Environment {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    node: process.versions.node,
    v8: process.versions.v8,
    packages: Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
  };
}

/** Not every package exports its package.json. */
function versionOf(name: string): string {
  const { resolve } = createRequire(import.meta.url);
  let folder = dirname(resolve(name));
  while (!folder.endsWith(join('node_modules', name))) folder = dirname(folder);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  return version;
}
