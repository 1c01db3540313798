import { parseAzureTrace } from './azure-trace.ts';
import { parseMooncakeTrace } from './mooncake-trace.ts';
import type { WorkloadRequest } from './workload.ts';

/**
 * Reads a trace in either of the formats known here, told apart by how it begins.
 *
 * @throws TraceError naming the line that is not as it should be.
 */
export function parseTrace(text: string): readonly WorkloadRequest[] {
  return text.trimStart().startsWith('{') ? parseMooncakeTrace(text) : parseAzureTrace(text);
}
