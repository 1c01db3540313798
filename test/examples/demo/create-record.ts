import type { RequestRecord } from '../../../examples/simulated-engine/request-log.ts';

interface RecordSettings extends Partial<Pick<RequestRecord, 'engine' | 'promptTokens'>> {
  readonly id: string;
  readonly finishReason: RequestRecord['finishReason'];
  readonly preemptions?: number;
  readonly generatedTokens?: number;
  /** End to end, in seconds. */
  readonly latency?: number;
  /** Preemptions that no output told of. */
  readonly untold?: number;
}

/** A record of which only the given parts matter. */
export function createRecord(settings: RecordSettings): RequestRecord {
  const { id, engine = 0, promptTokens = 10, finishReason, preemptions = 0, generatedTokens = 1 } = settings;
  return {
    id,
    engine,
    arrival: 2,
    promptTokens,
    maxTokens: undefined,
    firstReceivedAt: undefined,
    endedAt: finishReason === undefined ? undefined : 2 + (settings.latency ?? 1),
    finishReason,
    reported: { preemptions, generatedTokens },
    actual: { preemptions: preemptions + (settings.untold ?? 0), generatedTokens },
  };
}
