import type {
  EngineCoreOutputs,
  FinishReason,
  SchedulerStats,
  StartRequestOptions,
} from '../../src/index.ts';

/** What a frontend asks of the instrumentation about an engine or one of its requests, as plain data. */
export type Command =
  | {
      readonly kind: 'start';
      readonly engine: number;
      /** By which number ends of this request name it; ids may occur twice. */
      readonly request: number;
      readonly options: StartRequestOptions & { readonly requestId: string };
    }
  | {
      readonly kind: 'end';
      readonly request: number;
      /** Undefined for all choices of the request. */
      readonly choice: number | undefined;
      readonly reason: FinishReason;
      readonly receivedAt: number | undefined;
    }
  | { readonly kind: 'message'; readonly message: EngineCoreOutputs; readonly receivedAt: number | undefined }
  | { readonly kind: 'statistics'; readonly engine: number; readonly stats: SchedulerStats }
  | {
      readonly kind: 'cacheConfig';
      readonly engine: number;
      readonly config: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'sleep'; readonly engine: number; readonly level: 0 | 1 | 2 }
  | { readonly kind: 'wake'; readonly engine: number }
  | {
      readonly kind: 'multiModalCache';
      readonly engine: number;
      readonly queries: number;
      readonly hits: number;
    }
  | {
      readonly kind: 'toolCallParser';
      readonly mode: 'streaming' | 'non_streaming';
      readonly outcome: 'tool_call' | 'no_tool_call';
      readonly requestType: 'chat_completions' | 'responses' | 'other';
    }
  | { readonly kind: 'addEngine'; readonly engine: number }
  | { readonly kind: 'removeEngine'; readonly engine: number }
  | { readonly kind: 'scrape' };

/** A command and when it is given, in seconds since the stream began. Any part of a stream is a stream. */
export type Action = Command & { readonly at: number };

/** The wall clock at the beginning of a stream. */
export const EPOCH = 1_700_000_000;
