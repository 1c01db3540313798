import { describe, expect, it } from 'vitest';
import { kvTransferLine } from '../../src/stats-log/kv-transfer-line.ts';
import { intervalOf, observedBy } from './intervals.ts';

type Stats = Parameters<Parameters<Parameters<typeof observedBy>[0]>[0]['observeNixl']>[0];

function lineOf(stats: Stats): ReturnType<typeof kvTransferLine> {
  return kvTransferLine(
    intervalOf({ observed: observedBy((accumulator) => accumulator.observeNixl(stats)) }),
  );
}

describe('the line on NIXL transfers', () => {
  it('tells means, nineties percentiles and throughput of the transfers themselves', () => {
    const line = lineOf({
      transfer_duration: [0.001, 0.002, 0.003, 0.004],
      post_duration: [0.0001, 0.0002, 0.0003, 0.0005],
      bytes_transferred: [2 ** 20, 2 ** 20, 2 ** 21, 3 * 2 ** 20],
      num_descriptors: [4, 6, 8, 9],
      num_failed_transfers: [],
      num_failed_notifications: [],
      num_kv_expired_reqs: [],
    });
    expect(line?.text).toBe(
      'KV Transfer metrics: Num successful transfers=4, Avg xfer time (ms)=2.5, P90 xfer time (ms)=3.7, Avg post time (ms)=0.275, P90 post time (ms)=0.44, Avg MB per transfer=1.75, Throughput (MB/s)=700.0, Avg number of descriptors=6.8',
    );
    expect(line?.kind).toBe('kv_transfer');
    expect(line?.attributes()).toEqual({
      'vllm.stats.kv_transfer.transfers': 4,
      'vllm.stats.kv_transfer.avg_transfer_millis': 2.5,
      'vllm.stats.kv_transfer.p90_transfer_millis': expect.closeTo(3.7) as number,
      'vllm.stats.kv_transfer.avg_post_millis': expect.closeTo(0.275) as number,
      'vllm.stats.kv_transfer.p90_post_millis': expect.closeTo(0.44) as number,
      'vllm.stats.kv_transfer.mebibytes_per_transfer': 1.75,
      'vllm.stats.kv_transfer.mebibytes_per_second': 700,
      'vllm.stats.kv_transfer.descriptors_per_transfer': 6.75,
      'vllm.stats.kv_transfer.failed_transfers': 0,
      'vllm.stats.kv_transfer.failed_notifications': 0,
      'vllm.stats.kv_transfer.kv_expired_requests': 0,
    });
  });

  it('tells of failures, which vLLM leaves out', () => {
    const line = lineOf({
      transfer_duration: [0.5],
      post_duration: [0.25],
      bytes_transferred: [0],
      num_descriptors: [1],
      num_failed_transfers: [1, 1],
      num_kv_expired_reqs: [3],
    });
    expect(line?.text).toBe(
      'KV Transfer metrics: Num successful transfers=1, Avg xfer time (ms)=500.0, P90 xfer time (ms)=500.0, Avg post time (ms)=250.0, P90 post time (ms)=250.0, Avg MB per transfer=0.0, Throughput (MB/s)=0.0, Avg number of descriptors=1.0, Num failed transfers=2, Num KV expired reqs=3',
    );
  });

  it('has plain zeros for measures where nothing but failures came', () => {
    const line = lineOf({ num_failed_notifications: [1] });
    expect(line?.text).toBe(
      'KV Transfer metrics: Num successful transfers=0, Avg xfer time (ms)=0, P90 xfer time (ms)=0, Avg post time (ms)=0, P90 post time (ms)=0, Avg MB per transfer=0, Throughput (MB/s)=0, Avg number of descriptors=0, Num failed notifications=1',
    );
    expect(line?.attributes()).toEqual({
      'vllm.stats.kv_transfer.transfers': 0,
      'vllm.stats.kv_transfer.failed_transfers': 0,
      'vllm.stats.kv_transfer.failed_notifications': 1,
      'vllm.stats.kv_transfer.kv_expired_requests': 0,
    });
  });

  it('says inf, and has no attribute, for a throughput over no time', () => {
    const line = lineOf({ transfer_duration: [0], bytes_transferred: [1] });
    expect(line?.text).toContain('Throughput (MB/s)=inf');
    expect(line?.attributes()).not.toHaveProperty('vllm.stats.kv_transfer.mebibytes_per_second');
  });

  it('is left out where statistics came and nothing had happened, or none came', () => {
    expect(lineOf({ transfer_duration: [], num_failed_transfers: [] })).toBeUndefined();
    expect(kvTransferLine(intervalOf({}))).toBeUndefined();
  });
});
