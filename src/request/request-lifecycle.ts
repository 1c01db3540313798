import type { Span } from '@opentelemetry/api';
import type { FinishReason } from './finish-reason.ts';
import type { RequestEvent } from './request-event.ts';
import type { RequestHost } from './request-host.ts';
import type { EndOptions, RecordTokensOptions } from './request-options.ts';

/**
 * What stands behind a `VllmRequest`: one engine request, or the parent of several. It holds no reference to the
 * `VllmRequest`, so that a request the application dropped can be noticed.
 */
export interface RequestLifecycle {
  readonly id: string;
  readonly host: RequestHost;
  readonly ended: boolean;
  readonly numPreemptions: number;
  /** Undefined once an adopted span is gone. */
  readonly span: Span | undefined;
  recordEvent(event: RequestEvent, timestamp?: number): boolean;
  recordTokens(count: number, options: RecordTokensOptions): boolean;
  end(reason: FinishReason, options?: EndOptions): boolean;
  /** To be called when the application has dropped its `VllmRequest`. */
  lost(): void;
}
