import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import { readYaml, stackFolder, type ComposeFile, type ComposeService } from './stack-files.ts';

const { services, volumes } = readYaml('compose.yaml') as ComposeFile;
const all = Object.entries(services);

/** Source, target and mode of each mount. */
function mountsOf({ volumes: mounts = [] }: ComposeService): (readonly string[])[] {
  return mounts.map((mount) => mount.split(':'));
}

/** The services that it is started after, and what is waited for. */
function dependenciesOf({ depends_on: dependencies = [] }: ComposeService): (readonly [string, string])[] {
  return isList(dependencies)
    ? dependencies.map((name) => [name, 'service_started'])
    : Object.entries(dependencies).map(([name, { condition }]) => [name, condition]);
}

function isList(dependencies: NonNullable<ComposeService['depends_on']>): dependencies is readonly string[] {
  return Array.isArray(dependencies);
}

describe('examples/stack/compose.yaml', () => {
  it('has the service and four servers', () => {
    expect(Object.keys(services)).toEqual(['gateway', 'collector', 'prometheus', 'tempo', 'grafana']);
  });

  it('takes each image by name, in one version', () => {
    for (const [, { image }] of all)
      expect(image).toMatch(/^([a-z-]+\/)?[a-z-]+:v?\d+\.\d+\.\d+(-[a-z-]+)?$/);
  });

  it('runs the service on a Node.js that the package supports and that reads TypeScript', () => {
    expect(services['gateway']!.image).toMatch(/^node:24\./);
    expect(manifest.engines.node).toContain('>=22');
  });

  it('publishes ports to this machine alone, each once', () => {
    const published = all.flatMap(([, { ports = [] }]) => ports);
    for (const port of published) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
    expect(new Set(published).size).toBe(published.length);
  });

  it('drops every privilege of every container', () => {
    for (const [, service] of all) {
      expect(service).toMatchObject({ cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
    }
  });

  it('lets nobody into Grafana without the password, which has no default', () => {
    const { environment = {} } = services['grafana']!;
    expect(environment['GF_SECURITY_ADMIN_PASSWORD']).toMatch(/^\$\{GRAFANA_PASSWORD:\?.+\}$/);
    expect(Object.keys(environment).filter((name) => name.includes('ANONYMOUS'))).toEqual([]);
  });

  it('mounts what is there, read-only, files as files and folders as folders', () => {
    const bound = all
      .flatMap(([, service]) => mountsOf(service))
      .filter(([source]) => source!.startsWith('.'));
    expect(bound).toHaveLength(8);
    for (const [source, target, mode] of bound) {
      const isFile = /\.ya?ml$/.test(target!);
      expect([source, statSync(resolve(stackFolder, source!)).isFile(), mode]).toEqual([
        source,
        isFile,
        'ro',
      ]);
    }
  });

  it('declares the volumes that are mounted, and no others', () => {
    const named = all
      .flatMap(([, service]) => mountsOf(service))
      .filter(([source]) => !source!.startsWith('.'));
    expect(new Set(named.map(([source]) => source))).toEqual(new Set(Object.keys(volumes)));
    expect(named).toHaveLength(Object.keys(volumes).length);
  });

  it('gives each server the configuration that is mounted for it', () => {
    for (const name of ['collector', 'prometheus', 'tempo']) {
      const flag = services[name]!.command!.find((argument) => /^--?config(\.file)?=/.test(argument))!;
      const targets = mountsOf(services[name]!).map(([, target]) => target);
      expect(targets).toContain(flag.split('=')[1]);
    }
  });

  it('starts services after services that are there, and waits for health where that is checked', () => {
    for (const [, service] of all) {
      for (const [name, condition] of dependenciesOf(service)) {
        expect(services).toHaveProperty([name]);
        if (condition === 'service_healthy') expect(services[name]).toHaveProperty('healthcheck');
      }
    }
  });

  it('opens Grafana with the dashboard that is mounted', () => {
    const home = services['grafana']!.environment!['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'];
    const [source, target] = mountsOf(services['grafana']!).find(([, to]) =>
      String(home).startsWith(`${to}/`),
    )!;
    expect(statSync(resolve(stackFolder, source!, String(home).slice(target!.length + 1))).isFile()).toBe(
      true,
    );
  });
});
