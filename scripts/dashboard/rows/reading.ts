import type { Row } from '../panel.ts';

const content = `
**Preemptions**

- 0 and 1 share the lowest bucket: the share of requests that were *never* preempted is not in the data. "More than 1" is the first thing that can be told.
- Shares are exact at the boundaries 1, 2, 3, 4, 5, 10 and 20 and nowhere between. A p99 of 7.3 is a point between 5 and 10 that no request need have, and 20 means 20 or more.
- The mean is diluted by the zeros of all the requests that were never preempted. So is a low quantile: a p50 of 0.5 says only that half of the requests had at most one.
- The engine-wide counter counts a preemption when it happens, the histogram when the request ends. They differ in time, and by the preemptions of requests in flight: counter = \`_sum\` of the histogram + those.
- Which request it was is in no metric. An exemplar has it, for the last sampled request of each bucket alone, where the store keeps exemplars.

**Time**

- TTFT and e2e are by the frontend's clock, queue, prefill, decode, inference and ITL by the engine's: e2e is not queue + inference, TTFT is not queue + prefill.
- A phase that a request did not live counts as 0 seconds: many aborts in the queue make prefill and decode look fast.
- ITL has one sample per output, not per token. A preemption is one long sample in it, and part of decode and inference time.
- Request histograms say what *ended*. A request that hangs is in none; see running requests.

**Rates and gaps**

- A gap is no zero: nothing ended, or nothing was looked up. No query here turns missing data into a 0.
- \`$__rate_interval\` follows the scrape interval set in the data source. With OTLP, set that to the export interval (60 s by default), or every rate is empty.
- A service that is both scraped and pushed to the same store has its series twice, under two jobs: choose one above.
- A rate cannot see what a series is born with. The series of an engine exist at 0 from its start, except those that come with later statistics (draft positions, connectors): their first step is lost.
- Quantiles are over all selected engines together, which is not the mean of theirs.
`.trim();

export const readingRow: Row = {
  title: 'Reading: what is not in the data?',
  panels: [
    {
      kind: 'text',
      title: 'What cannot be read from the data',
      width: 24,
      height: 16,
      content,
      shows: 'The limits of these numbers.',
      whenBad:
        'a conclusion rests on one of these: look at single requests instead, in the traces that the exemplars open, or at the stats log of the service.',
      queries: [],
    },
  ],
};
