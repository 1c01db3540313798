import type { Row } from '../panel.ts';
import { ENGINE_LEGEND, PER_ENGINE, rateOf, ratio } from '../promql.ts';

const ENDED = rateOf('vllm:request_success');

export const outcomeRow: Row = {
  title: 'Outcomes: how do requests end?',
  panels: [
    {
      kind: 'lines',
      title: 'Requests by finish reason',
      width: 12,
      height: 9,
      unit: 'reqps',
      stacked: true,
      shows:
        'Requests per second that ended, by reason. The metric is called `request_success`, but failed and aborted requests are in it.',
      whenBad:
        '`error`: read the logs of the engine and the traces of the failed requests. `abort`: clients gave up; compare with TTFT and the queue, and treat those (`max_num_seqs`, `gpu_memory_utilization`, more engines). `length`: outputs are cut off by max_tokens or `max_model_len`. `repetition`: the model loops; check the sampling parameters.',
      queries: [{ expr: rateOf('vllm:request_success', ['finished_reason']), legend: '{{finished_reason}}' }],
    },
    {
      kind: 'lines',
      title: 'Share of requests aborted or failed',
      width: 6,
      height: 9,
      unit: 'percentunit',
      shows: 'Of the requests that ended in the interval, the share with reason `abort` and with `error`.',
      whenBad:
        'aborts that rise with TTFT are impatient users: shorten the queue (`max_num_seqs`, more engines) or refuse early at the gateway. Aborts without: a client or proxy with a timeout that is too short. Errors: the logs of the engine; after an out-of-memory error, `gpu_memory_utilization` down.',
      queries: ['abort', 'error'].map((reason) => ({
        expr: ratio(rateOf('vllm:request_success', [], `finished_reason="${reason}"`), ENDED),
        legend: reason,
      })),
    },
    {
      kind: 'lines',
      title: 'Corrupted requests',
      width: 6,
      height: 9,
      unit: 'reqpm',
      shows:
        'Requests per minute for which some step produced NaN in the logits. Engines look for it only with the environment variable `VLLM_COMPUTE_NANS_IN_LOGITS`; without, it stays at 0.',
      whenBad:
        'any is too many: a faulty GPU if it is one engine (take it out and test it), else numbers that overflow: try `kv_cache_dtype` auto in the place of fp8, `dtype` bfloat16 in the place of float16, or another `quantization`.',
      queries: [{ expr: `60 * ${rateOf('vllm:corrupted_requests', PER_ENGINE)}`, legend: ENGINE_LEGEND }],
    },
  ],
};
