import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExpositionFormat } from './exposition-format.ts';
import { escapeText } from './label-text.ts';
import type { MetricFamily } from './metric-family.ts';

/** Characters written between two turns of the event loop: well under a millisecond of work. */
const CHUNK_LENGTH = 32_768;

/**
 * Writes families in a format, without timestamps. Other work of the process gets its turn after every
 * {@link CHUNK_LENGTH}, so the families must not change meanwhile; what the SDK collects does not.
 *
 * @param onDuplicate - Called with the name of a family each time a series is left out because one of its label
 *   set has been written.
 */
export async function renderExposition(
  families: readonly MetricFamily[],
  format: ExpositionFormat,
  onDuplicate: (family: string) => void,
): Promise<Buffer> {
  const writeMetadata = format.name === 'text' ? writeTextMetadata : openMetricsMetadataWriter(families);
  const chunks: Buffer[] = [];
  let text = '';
  for (const family of families) {
    text += writeMetadata(family);
    const written = new Set<string>();
    for (const member of family.members) {
      for (let index = 0; index < member.size; index += 1) {
        const lines = member.write(index, format, written);
        if (lines === '') onDuplicate(family.name);
        text += lines;
        if (text.length < CHUNK_LENGTH) continue;
        chunks.push(Buffer.from(text));
        text = '';
        await nextTurn();
      }
    }
  }
  if (format.name === 'openmetrics') text += '# EOF\n';
  chunks.push(Buffer.from(text));
  return Buffer.concat(chunks);
}

function writeTextMetadata({ name, type, help }: MetricFamily): string {
  const escaped = help.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
  return `${help === '' ? '' : `# HELP ${name} ${escaped}\n`}# TYPE ${name} ${type === 'info' ? 'gauge' : type}\n`;
}

/**
 * OpenMetrics names a counter without `_total` and an info metric without `_info`. Where another family has that name,
 * it stands under its full name and with the type that needs no suffix, so that nothing is lost.
 */
function openMetricsMetadataWriter(families: readonly MetricFamily[]): (family: MetricFamily) => string {
  const taken = new Set(families.map(({ name }) => name));
  return ({ name, type, help, unit }) => {
    const base = type === 'counter' || type === 'info' ? name.slice(0, name.lastIndexOf('_')) : name;
    if (base !== name && taken.has(base)) {
      return `# TYPE ${name} ${type === 'counter' ? 'unknown' : 'gauge'}\n${helpLine(name, help)}`;
    }
    taken.add(base);
    // Prometheus refuses the whole scrape where a unit is no suffix: a metric called "seconds", say.
    const unitLine = unit !== '' && base.endsWith(`_${unit}`) ? `# UNIT ${base} ${unit}\n` : '';
    return `# TYPE ${base} ${type}\n${unitLine}${helpLine(base, help)}`;
  };
}

function helpLine(name: string, help: string): string {
  return help === '' ? '' : `# HELP ${name} ${escapeText(help)}\n`;
}
