export type { VllmPrometheusExporterOptions } from './exporter-options.ts';
export { VllmPrometheusExporter, type VllmPrometheusExporterStatus } from './vllm-prometheus-exporter.ts';
