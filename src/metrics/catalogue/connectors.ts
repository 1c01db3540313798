import { OFFLOAD_BYTES_BOUNDARIES } from '../boundaries.ts';
import {
  BASE_LABELS,
  perEngineCounter as counter,
  type CounterMetric,
  type HistogramMetric,
  type Metric,
} from '../metric.ts';

function histogram(
  name: Metric['name'],
  unit: string,
  boundaries: readonly number[],
  description: string,
): HistogramMetric {
  return { name, kind: 'histogram', labels: BASE_LABELS, unit, boundaries, description };
}

const OPERATION: Pick<Metric, 'labels' | 'labelValues'> = {
  labels: [...BASE_LABELS, 'operation', 'status'],
  labelValues: {
    operation: ['save_exists', 'save_put', 'load_get', 'lookup_exists'],
    status: ['ok', 'error', 'partial_failure'],
  },
};

const TRANSFER_TYPE: Pick<Metric, 'labels' | 'labelValues'> = {
  labels: [...BASE_LABELS, 'transfer_type'],
  labelValues: { transfer_type: ['CPU_to_GPU', 'GPU_to_CPU'] },
};

/** What the KV connectors of an engine report. */
export const connectorMetrics: readonly (CounterMetric | HistogramMetric)[] = [
  histogram(
    'vllm:nixl_xfer_time_seconds',
    'seconds',
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 5],
    'How long each NIXL transfer of KV blocks took.',
  ),
  histogram(
    'vllm:nixl_post_time_seconds',
    'seconds',
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 5],
    'How long it took to hand each transfer to NIXL.',
  ),
  histogram(
    'vllm:nixl_bytes_transferred',
    'bytes',
    Array.from({ length: 12 }, (_, step) => 2 ** (11 + 2 * step)),
    'Bytes moved by each NIXL transfer.',
  ),
  histogram(
    'vllm:nixl_num_descriptors',
    'descriptors',
    [10, 20, 30, 50, 75, 100, 200, 400, 1000, 2000, 4000, 10_000, 20_000, 50_000],
    'Memory descriptors of each NIXL transfer.',
  ),
  counter('vllm:nixl_num_failed_transfers', 'transfers', 'NIXL transfers that failed.'),
  counter('vllm:nixl_num_failed_notifications', 'notifications', 'NIXL notifications that failed.'),
  counter(
    'vllm:nixl_num_kv_expired_reqs',
    'requests',
    'Requests whose KV blocks expired before the decoding engine fetched them.',
  ),
  {
    ...OPERATION,
    name: 'vllm:mooncake_store_operation_time_seconds',
    kind: 'histogram',
    unit: 'seconds',
    boundaries: [0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.5, 2, 3, 4],
    description: 'How long each operation of the Mooncake store took.',
  },
  {
    ...OPERATION,
    name: 'vllm:mooncake_store_operation',
    kind: 'counter',
    unit: 'operations',
    description: 'Operations of the Mooncake store.',
  },
  {
    ...OPERATION,
    name: 'vllm:mooncake_store_operation_keys',
    kind: 'counter',
    unit: 'keys',
    description: 'Keys that operations of the Mooncake store were about.',
  },
  {
    ...OPERATION,
    name: 'vllm:mooncake_store_operation_bytes',
    kind: 'counter',
    unit: 'bytes',
    description: 'Bytes that operations of the Mooncake store moved.',
  },
  {
    ...OPERATION,
    name: 'vllm:mooncake_store_operation_failed_keys',
    kind: 'counter',
    unit: 'keys',
    description: 'Keys for which operations of the Mooncake store failed.',
  },
  counter('vllm:kv_offload_load_bytes', 'bytes', 'KV bytes loaded back from the offload tier.'),
  counter('vllm:kv_offload_load_time', 'seconds', 'Time spent on loads from the offload tier.'),
  histogram(
    'vllm:kv_offload_load_size',
    'bytes',
    OFFLOAD_BYTES_BOUNDARIES,
    'Size of each load from the offload tier.',
  ),
  counter('vllm:kv_offload_store_bytes', 'bytes', 'KV bytes stored in the offload tier.'),
  counter('vllm:kv_offload_store_time', 'seconds', 'Time spent on stores to the offload tier.'),
  histogram(
    'vllm:kv_offload_store_size',
    'bytes',
    OFFLOAD_BYTES_BOUNDARIES,
    'Size of each store to the offload tier.',
  ),
  counter(
    'vllm:kv_offload_stores_skipped',
    'stores',
    'Stores to the offload tier left out for blocks that had not been reused enough.',
  ),
  {
    ...TRANSFER_TYPE,
    name: 'vllm:kv_offload_total_bytes',
    kind: 'counter',
    unit: 'bytes',
    description: 'Bytes moved to and from the offload tier; the older form of the load and store metrics.',
  },
  {
    ...TRANSFER_TYPE,
    name: 'vllm:kv_offload_total_time',
    kind: 'counter',
    unit: 'seconds',
    description:
      'Time spent on moves to and from the offload tier; the older form of the load and store metrics.',
  },
  {
    ...TRANSFER_TYPE,
    name: 'vllm:kv_offload_size',
    kind: 'histogram',
    unit: 'bytes',
    boundaries: OFFLOAD_BYTES_BOUNDARIES,
    description:
      'Size of each move to and from the offload tier; the older form of the load and store metrics.',
  },
];
