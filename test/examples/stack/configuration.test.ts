import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { catalogue } from '../../../src/metrics/catalogue/index.ts';
import { hasPromtool } from '../../support/promtool.ts';
import { readPromql } from '../../support/promql.ts';
import { readYaml, stackFolder, textsIn, type ComposeFile } from './stack-files.ts';

interface Endpoint {
  readonly endpoint: string;
}
type Receivers = { readonly otlp: { readonly protocols: Readonly<Record<string, Endpoint>> } };
interface Pipeline {
  readonly receivers: readonly string[];
  readonly processors: readonly string[];
  readonly exporters: readonly string[];
}
interface Collector {
  readonly receivers: Receivers;
  readonly processors: object;
  readonly exporters: object;
  readonly service: { readonly pipelines: Readonly<Record<string, Pipeline>> };
}
interface Prometheus {
  readonly scrape_configs: readonly { readonly job_name: string }[];
}
interface Tempo {
  readonly server: { readonly http_listen_port: number };
  readonly distributor: { readonly receivers: Receivers };
}
interface DataSource {
  readonly name: string;
  readonly uid: string;
  readonly type: string;
  readonly isDefault?: boolean;
  readonly jsonData: {
    readonly timeInterval?: string;
    readonly exemplarTraceIdDestinations?: readonly {
      readonly name: string;
      readonly datasourceUid: string;
    }[];
    readonly tracesToMetrics?: {
      readonly datasourceUid: string;
      readonly tags: readonly { readonly key: string; readonly value: string }[];
      readonly queries: readonly { readonly query: string }[];
    };
  };
}

const { services } = readYaml('compose.yaml') as ComposeFile;
const collector = readYaml('collector.yaml') as Collector;
const prometheus = readYaml('prometheus.yml') as Prometheus;
const tempo = readYaml('tempo.yaml') as Tempo;
const { datasources } = readYaml('grafana/datasources.yaml') as { datasources: readonly DataSource[] };
const dashboards = readYaml('grafana/dashboards.yaml') as {
  readonly providers: readonly { readonly options: { readonly path: string } }[];
};

const portsOf = ({ otlp }: Receivers): number[] =>
  Object.values(otlp.protocols).map(({ endpoint }) => Number(endpoint.split(':')[1]));

/** Where each service listens: by its configuration, or by its image's default where that has nothing to say. */
const listening: Readonly<Record<string, readonly number[]>> = {
  gateway: [Number(services['gateway']!.environment!['OTEL_EXPORTER_PROMETHEUS_PORT'])],
  collector: portsOf(collector.receivers),
  prometheus: [9090],
  tempo: [tempo.server.http_listen_port, ...portsOf(tempo.distributor.receivers)],
  grafana: [3000],
};

/** Every address of a service in a file. */
function addressesIn(value: unknown): string[] {
  const found = textsIn(value).map((text) => /^(?:https?:\/\/)?([a-z][a-z-]*:\d+)(?:\/.*)?$/.exec(text)?.[1]);
  return found.filter((address) => address !== undefined && !address.startsWith('localhost:')) as string[];
}

describe('the addresses in examples/stack', () => {
  it('are those of services that listen there', () => {
    const environments = Object.values(services).map(({ environment }) => environment);
    const used = [environments, collector, prometheus, tempo, datasources].flatMap(addressesIn);
    expect(used).toEqual([
      'collector:4318',
      'tempo:4317',
      'prometheus:9090',
      'gateway:9464',
      'prometheus:9090',
      'tempo:3200',
    ]);
    for (const [host, port] of used.map((address) => address.split(':'))) {
      expect(listening[host!]).toContain(Number(port));
    }
  });

  it('are published where a service listens', () => {
    for (const [name, { ports = [] }] of Object.entries(services)) {
      for (const port of ports) expect(listening[name]).toContain(Number(port.split(':')[2]));
    }
  });

  it('lead to services that listen on more than their own loopback', () => {
    expect(services['gateway']!.environment!['OTEL_EXPORTER_PROMETHEUS_HOST']).toBe('0.0.0.0');
    const receivers = [collector.receivers, tempo.distributor.receivers];
    for (const { otlp } of receivers) {
      for (const { endpoint } of Object.values(otlp.protocols)) expect(endpoint).toMatch(/^0\.0\.0\.0:/);
    }
  });
});

describe('examples/stack/collector.yaml', () => {
  it.each(['receivers', 'processors', 'exporters'] as const)(
    'uses the %s that it defines, and no others',
    (kind) => {
      const used = Object.values(collector.service.pipelines).flatMap((pipeline) => pipeline[kind]);
      expect([...new Set(used)].toSorted()).toEqual(Object.keys(collector[kind]).toSorted());
    },
  );

  it('sends spans to Tempo and metrics to the OTLP receiver of Prometheus, which is on', () => {
    const { traces, metrics } = collector.service.pipelines;
    expect(traces!.exporters).toEqual(['otlp_grpc/tempo']);
    expect(metrics!.exporters).toEqual(['otlp_http/prometheus']);
    expect(textsIn(collector.exporters)).toContain('http://prometheus:9090/api/v1/otlp');
    expect(services['prometheus']!.command).toContain('--web.enable-otlp-receiver');
  });

  it('limits memory before all else', () => {
    for (const { processors } of Object.values(collector.service.pipelines)) {
      expect(processors[0]).toBe('memory_limiter');
    }
  });
});

describe('examples/stack/prometheus.yml', () => {
  it('names the job as a push of the same service does, and exemplars are stored', () => {
    const job = services['gateway']!.environment!['OTEL_SERVICE_NAME'];
    expect(prometheus.scrape_configs.map(({ job_name: name }) => name)).toEqual([job]);
    expect(services['prometheus']!.command).toContain('--enable-feature=exemplar-storage');
  });

  it.skipIf(!hasPromtool)('is valid where it is mounted, with the rules that are mounted beside it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'vllm-stack-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    for (const mount of services['prometheus']!.volumes!) {
      const [source, target] = mount.split(':');
      if (source!.startsWith('.'))
        cpSync(resolve(stackFolder, source!), folder + target!, { recursive: true });
    }
    const config = `${folder}/etc/prometheus/prometheus.yml`;
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'config', config], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('SUCCESS: 1 rule files found');
    expect(stdout).toMatch(/SUCCESS: [1-9]\d* rules found/);
  });
});

describe('examples/stack/grafana', () => {
  const source = (type: string): DataSource => datasources.find((candidate) => candidate.type === type)!;

  it('has a Prometheus, which is the default, and a Tempo, each with a uid of its own', () => {
    expect(datasources.map(({ uid, type, isDefault }) => [uid, type, isDefault])).toEqual([
      ['prometheus', 'prometheus', true],
      ['tempo', 'tempo', undefined],
    ]);
  });

  it('leads from the label of an exemplar to Tempo', () => {
    expect(source('prometheus').jsonData.exemplarTraceIdDestinations).toMatchObject([
      { name: 'trace_id', datasourceUid: source('tempo').uid },
    ]);
  });

  it('asks Prometheus for metrics of the catalogue, by labels that they have, around a span', () => {
    const { datasourceUid, tags, queries } = source('tempo').jsonData.tracesToMetrics!;
    expect(datasourceUid).toBe(source('prometheus').uid);
    expect(tags).toEqual([{ key: 'service.name', value: 'job' }]);
    const exposed = catalogue.map(({ name, kind }) => (kind === 'counter' ? `${name}_total` : name));
    for (const { query } of queries) {
      // In a provisioned file $$ is a dollar sign, and Grafana puts the tags in the place of the variable.
      expect(query).toContain('{$$__tags}');
      const { selectors } = readPromql(query.replace('$$__tags', 'job="gateway"'));
      expect(exposed).toEqual(expect.arrayContaining(selectors.map(({ metric }) => metric)));
      expect(selectors).toHaveLength(1);
    }
  });

  it('reads dashboards where they are mounted, which take the data source from a variable', () => {
    const { path } = dashboards.providers[0]!.options;
    const mounted = services['grafana']!.volumes!.map((mount) => mount.split(':'));
    const [folder] = mounted.find(([, target]) => target === path)!;
    const dashboard = readFileSync(resolve(stackFolder, folder!, 'vllm-requests.json'), 'utf8');
    const uids = [...dashboard.matchAll(/"datasource": \{[^}]*"uid": "([^"]*)"/g)].map(([, uid]) => uid);
    expect(new Set(uids)).toEqual(new Set(['${datasource}']));
  });

  it('knows the interval at which Prometheus scrapes', () => {
    const { global } = readYaml('prometheus.yml') as { global: { scrape_interval: string } };
    expect(source('prometheus').jsonData.timeInterval).toBe(global.scrape_interval);
  });
});
