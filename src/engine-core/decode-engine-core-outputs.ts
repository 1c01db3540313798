import type { EngineCoreOutput, EngineCoreOutputs } from '../engine/messages.ts';
import { decodeOutput } from './decode-output.ts';
import { messageOf } from '../metrics/message-of.ts';
import { EngineCoreDecodeError } from './engine-core-decode-error.ts';
import { decodeMap } from './decode-map.ts';
import { MessagePackCursor } from './message-pack-cursor.ts';

/** What an engine that has died leaves: this text as the only frame. */
const ENGINE_CORE_DEAD = Buffer.from('ENGINE_CORE_DEAD', 'latin1');

/** Settings of {@link decodeEngineCoreOutputs}. */
export interface DecodeOptions {
  /**
   * The index of the engine that the frames come from, for `ENGINE_CORE_DEAD`, which does not say which engine died.
   * Default: unknown; `vllm.observe` then ends the requests of every engine, as vLLM's own client gives them all up.
   */
  readonly engineIndex?: number | undefined;
}

/**
 * Decodes what an engine sends its frontend, for `vllm.observe`. Metrics need ids, counts, events, reasons and
 * statistics: log probabilities, tensors, token ids and everything unknown are passed over, extension types among them.
 *
 * All layouts of vLLM's V1 engine are told apart by their content; arrays may be shorter or longer than known, and
 * unknown map keys are there and mean nothing. Within scheduler statistics an integer that takes 64 bits on the wire is
 * a bigint, and so exact. Trace headers come with the first output of a request, beside its prefill statistics; the
 * engine repeats them in every output, where they are passed over.
 *
 * @param frames - The frames of one message, or its only one. Only the first is looked into: the others are tensors.
 * @throws EngineCoreDecodeError saying which position was wrong. Nothing of the message has been recorded then.
 */
export function decodeEngineCoreOutputs(
  frames: Uint8Array | readonly Uint8Array[],
  options: DecodeOptions = {},
): EngineCoreOutputs {
  try {
    return decodeFrames(frames, options);
  } catch (error) {
    if (error instanceof EngineCoreDecodeError) throw error;
    // A frame whose buffer was transferred away, a list that can't be read, an id longer than a string can be.
    throw new EngineCoreDecodeError('message', messageOf(error), { cause: error });
  }
}

function decodeFrames(frames: Uint8Array | readonly Uint8Array[], options: DecodeOptions): EngineCoreOutputs {
  const all = frames instanceof Uint8Array ? [frames] : frames;
  const [frame] = Array.isArray(all) ? (all as readonly unknown[]) : [];
  if (!(frame instanceof Uint8Array))
    throw new EngineCoreDecodeError('message', 'must be a frame of bytes, or a list of them');
  if (all.length === 1 && ENGINE_CORE_DEAD.equals(frame)) {
    return { engine_index: options.engineIndex, engine_dead: true };
  }
  const cursor = new MessagePackCursor(frame);
  const message = decodeMessage(cursor);
  if (!cursor.atEnd) throw new EngineCoreDecodeError('message', 'has bytes behind its end');
  return message;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

function decodeMessage(cursor: MessagePackCursor): EngineCoreOutputs {
  const message: Writable<EngineCoreOutputs> = {};
  const length = cursor.readArrayLength('message');
  for (let position = 0; position < length; position += 1) {
    if (position > 0 && cursor.skipNil()) continue;
    switch (position) {
      case 0:
        message.engine_index = cursor.readNumber('engine_index');
        break;
      case 1:
        message.outputs = decodeOutputs(cursor);
        break;
      case 2:
        message.scheduler_stats = decodeMap(cursor, 'scheduler_stats', 'bigint');
        break;
      case 3:
        message.timestamp = cursor.readNumber('timestamp');
        break;
      case 5:
        message.finished_requests = decodeIds(cursor);
        break;
      default:
        cursor.skip(`message[${position}]`);
    }
  }
  return message;
}

function decodeOutputs(cursor: MessagePackCursor): readonly EngineCoreOutput[] {
  const length = cursor.readArrayLength('outputs');
  const outputs: EngineCoreOutput[] = [];
  try {
    while (outputs.length < length) outputs.push(decodeOutput(cursor));
  } catch (error) {
    throw error instanceof EngineCoreDecodeError ? error.within(`outputs[${outputs.length}]`) : error;
  }
  return outputs;
}

function decodeIds(cursor: MessagePackCursor): readonly string[] {
  const length = cursor.readArrayLength('finished_requests');
  const ids: string[] = [];
  for (let index = 0; index < length; index += 1) ids.push(cursor.readId(`finished_requests[${index}]`));
  return ids;
}
