import type { Model } from './model.ts';
import { add, createCounter, createHistogram, observe, type Labels } from './series.ts';

type Payload = Readonly<Record<string, unknown>>;

/**
 * Statistics of a KV connector, which only their content tells: of one connector, or of several under their class
 * names, each as it is or below `data`. What is of none of the known kinds is ignored.
 */
export function takeConnectorStatistics(model: Model, labels: Labels, stats: unknown): void {
  if (!isMap(stats)) return;
  if (takeOne(model, labels, stats)) return;
  for (const entry of Object.values(stats)) {
    if (!isMap(entry)) continue;
    if (!takeOne(model, labels, entry) && isMap(entry['data'])) takeOne(model, labels, entry['data']);
  }
}

function takeOne(model: Model, labels: Labels, payload: Payload): boolean {
  if (isNixl(payload)) takeNixl(model, labels, payload);
  else if (isMooncake(payload)) takeMooncake(model, labels, payload);
  else if (isOffloading(payload)) takeOffloading(model, labels, payload);
  else return false;
  return true;
}

const NIXL_SAMPLES = {
  'vllm:nixl_xfer_time_seconds': 'transfer_duration',
  'vllm:nixl_post_time_seconds': 'post_duration',
  'vllm:nixl_bytes_transferred': 'bytes_transferred',
  'vllm:nixl_num_descriptors': 'num_descriptors',
};

const NIXL_COUNTS = {
  'vllm:nixl_num_failed_transfers': 'num_failed_transfers',
  'vllm:nixl_num_failed_notifications': 'num_failed_notifications',
  'vllm:nixl_num_kv_expired_reqs': 'num_kv_expired_reqs',
};

/** All seven arrays are there. */
function isNixl(payload: Payload): boolean {
  const fields = [...Object.values(NIXL_SAMPLES), ...Object.values(NIXL_COUNTS)];
  return fields.every((field) => Array.isArray(payload[field]));
}

function takeNixl({ series, options }: Model, labels: Labels, payload: Payload): void {
  for (const [name, field] of Object.entries(NIXL_SAMPLES)) {
    createHistogram(series, name, labels, options.maxModelLen);
    for (const sample of payload[field] as readonly unknown[]) observe(series, name, labels, sample);
  }
  for (const [name, field] of Object.entries(NIXL_COUNTS)) {
    createCounter(series, name, labels);
    for (const increment of payload[field] as readonly unknown[]) add(series, name, labels, increment);
  }
}

const OPERATIONS = ['save_exists', 'save_put', 'load_get', 'lookup_exists'];

/** Each of its keys is an operation, with an array of records. */
function isMooncake(payload: Payload): boolean {
  return Object.keys(payload).some((key) => OPERATIONS.includes(key) && Array.isArray(payload[key]));
}

/** An operation's series begin to exist with the first record of that status. */
function takeMooncake({ series, options }: Model, base: Labels, payload: Payload): void {
  for (const operation of OPERATIONS) {
    for (const record of (payload[operation] ?? []) as readonly Payload[]) {
      const labels = { ...base, operation, status: String(record['status']) };
      const name = 'vllm:mooncake_store_operation';
      createHistogram(series, `${name}_time_seconds`, labels, options.maxModelLen);
      observe(series, `${name}_time_seconds`, labels, record['duration_seconds']);
      add(series, name, labels, 1);
      add(series, `${name}_keys`, labels, record['num_keys']);
      add(series, `${name}_bytes`, labels, record['num_bytes']);
      add(series, `${name}_failed_keys`, labels, record['num_failed_keys']);
    }
  }
}

function isOffloading(payload: Payload): boolean {
  return 'load_bytes' in payload && 'store_bytes' in payload;
}

/** Loads and stores, and both once more under the deprecated names that have the direction as a label. */
function takeOffloading({ series, options }: Model, labels: Labels, payload: Payload): void {
  for (const [way, transfer_type] of [
    ['load', 'CPU_to_GPU'],
    ['store', 'GPU_to_CPU'],
  ] as const) {
    for (const figure of ['bytes', 'time']) {
      add(series, `vllm:kv_offload_${way}_${figure}`, labels, payload[`${way}_${figure}`]);
      const deprecated = `vllm:kv_offload_total_${figure}`;
      add(series, deprecated, { ...labels, transfer_type }, payload[`${way}_${figure}`]);
    }
    createHistogram(series, `vllm:kv_offload_${way}_size`, labels, options.maxModelLen);
    createHistogram(series, 'vllm:kv_offload_size', { ...labels, transfer_type }, options.maxModelLen);
    for (const size of (payload[`${way}_size`] ?? []) as readonly unknown[]) {
      observe(series, `vllm:kv_offload_${way}_size`, labels, size);
      observe(series, 'vllm:kv_offload_size', { ...labels, transfer_type }, size);
    }
  }
  add(series, 'vllm:kv_offload_stores_skipped', labels, payload['stores_skipped']);
}

function isMap(value: unknown): value is Payload {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
