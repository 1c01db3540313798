import type { Row } from '../panel.ts';
import { rateOf, ratio } from '../promql.ts';

const DRAFTS = rateOf('vllm:spec_decode_num_drafts');
const ACCEPTED = rateOf('vllm:spec_decode_num_accepted_tokens');
const mayBeEmpty = 'without speculative decoding (`speculative_config`) no drafts are verified.';

export const speculationRow: Row = {
  title: 'Speculative decoding: does it pay?',
  panels: [
    {
      kind: 'lines',
      title: 'Draft acceptance rate',
      width: 8,
      height: 9,
      unit: 'percentunit',
      max: 1,
      shows: 'Of the tokens that the drafter proposed in the interval, the share that was accepted.',
      whenBad:
        'below about a half, verification costs more than it brings: lower `num_speculative_tokens` in `speculative_config`, take a drafter trained for this model and traffic, or switch it off under high load.',
      queries: [
        {
          expr: ratio(ACCEPTED, rateOf('vllm:spec_decode_num_draft_tokens')),
          legend: 'accepted',
          mayBeEmpty,
        },
      ],
    },
    {
      kind: 'lines',
      title: 'Mean acceptance length',
      width: 8,
      height: 9,
      unit: 'short',
      shows:
        'Tokens per verified draft: the accepted ones and the one that the model itself adds. 1 means that drafting brings nothing.',
      whenBad:
        'near 1: switch speculative decoding off or change the drafter (`speculative_config`). Near `num_speculative_tokens` + 1: propose more.',
      queries: [{ expr: `1 + ${ratio(ACCEPTED, DRAFTS)}`, legend: 'tokens', mayBeEmpty }],
    },
    {
      kind: 'lines',
      title: 'Acceptance by position',
      width: 8,
      height: 9,
      unit: 'percentunit',
      max: 1,
      shows:
        'How often the draft was accepted up to each position, counted from 0: of all verified drafts, not of those that got so far.',
      whenBad:
        'positions that are hardly ever accepted are work for nothing: set `num_speculative_tokens` to the last one that is. A position 0 that falls: the traffic no longer suits the drafter.',
      queries: [
        {
          expr: `${rateOf('vllm:spec_decode_num_accepted_tokens_per_pos', ['position'])} / on () group_left () (${DRAFTS} > 0)`,
          legend: 'position {{position}}',
          mayBeEmpty,
        },
      ],
    },
  ],
};
