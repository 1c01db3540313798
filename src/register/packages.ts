import { createRequire } from 'node:module';
import type { OtlpProtocol } from './otlp-settings.ts';
import type { RegisterConfiguration } from './read-environment.ts';
import { StartUpError } from './start-up-error.ts';

// `/register` is published as CommonJS only, so that `--import` too runs it to its end before the application starts.
const requireFromHere = createRequire(__filename);

/** The package of the OTLP exporter for a signal. */
export function otlpPackage(signal: 'metrics' | 'trace', protocol: OtlpProtocol): string {
  const ending = { 'http/protobuf': 'proto', 'http/json': 'http', grpc: 'grpc' }[protocol];
  return `@opentelemetry/exporter-${signal}-otlp-${ending}`;
}

/** @throws StartUpError naming what to install, where something that the configuration needs is not. */
export function requirePackages(configuration: RegisterConfiguration): void {
  const missing = packagesFor(configuration).filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  // SDK 2.x, which Node.js 20 needs, takes no newer API than 1.9, and npm would choose the newest.
  const suited = isOldNode() ? [...missing, '@opentelemetry/api@1.9'] : missing;
  throw new StartUpError(`packages are missing; install them with: npm install ${suited.join(' ')}`);
}

/**
 * Loads a module when it is called and not before, other than an import.
 *
 * @param name - A package that {@link requirePackages} has found, or a path from here.
 */
export function load(name: string): unknown {
  return requireFromHere(name);
}

function packagesFor({ metrics, traces }: RegisterConfiguration): string[] {
  const names = ['api', 'context-async-hooks', 'core', 'resources', 'sdk-metrics'].map(
    (name) => `@opentelemetry/${name}`,
  );
  if (metrics.otlp !== undefined) names.push(otlpPackage('metrics', metrics.otlp));
  if (traces.otlp !== undefined || traces.console) names.push('@opentelemetry/sdk-trace');
  if (traces.otlp !== undefined) names.push(otlpPackage('trace', traces.otlp));
  return names;
}

function isOldNode(): boolean {
  return Number.parseInt(process.versions.node, 10) < 22;
}

function isInstalled(name: string): boolean {
  try {
    requireFromHere.resolve(name);
    return true;
  } catch {
    return false;
  }
}
