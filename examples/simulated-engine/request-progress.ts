/** How far a request has come. Times are engine-monotonic seconds. */
export interface RequestProgress {
  /** When the engine put it into its waiting queue. */
  queuedAt?: number;
  /** When the scheduler first took it out of there. */
  scheduledAt?: number;
  /** End of the step that brought the first generated token. */
  firstTokenAt?: number;
  /** End of the step that brought the latest generated token. */
  lastTokenAt?: number;
  /** Prompt tokens found in the prefix cache when it was first scheduled. */
  cachedTokens?: number;
  generatedTokens: number;
  preemptions: number;
}
