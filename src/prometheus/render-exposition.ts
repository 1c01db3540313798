import type { ExpositionWriter } from './exposition-writer.ts';
import type { ExpositionFormat } from './exposition-format.ts';
import { escapeText } from './label-text.ts';
import type { MetricFamily } from './metric-family.ts';
import { TimeSlice } from '../metrics/time-slice.ts';

/** How many points are written between two looks at the clock, which costs as much as the line of a counter. */
const POINTS_PER_LOOK = 8;

/**
 * Writes families in a format, without timestamps. Other work of the process gets its turn after every slice of time, so
 * the families must not change meanwhile; what the SDK collects does not.
 *
 * @param writer - Where to, an empty one.
 * @param onDuplicate - Called with the name of a family each time a series is left out because one of its label
 *   set has been written.
 */
export async function renderExposition(
  families: readonly MetricFamily[],
  format: ExpositionFormat,
  writer: ExpositionWriter,
  onDuplicate: (family: string) => void,
  slice: TimeSlice = new TimeSlice(),
): Promise<Buffer> {
  const metadataOf = format.name === 'text' ? textMetadata : openMetricsMetadata(families);
  let points = 0;
  for (const family of families) {
    writer.text(metadataOf(family));
    const written = new Set<string>();
    for (const member of family.members) {
      for (let index = 0; index < member.size; index += 1) {
        if (!member.write(index, format, written, writer)) onDuplicate(family.name);
        points += 1;
        if (points % POINTS_PER_LOOK === 0 && slice.isOver) await slice.next();
      }
    }
  }
  if (format.name === 'openmetrics') writer.text('# EOF\n');
  return writer.written;
}

function textMetadata({ name, type, help }: MetricFamily): string {
  const escaped = help.replaceAll('\\', String.raw`\\`).replaceAll('\n', String.raw`\n`);
  return `${help === '' ? '' : `# HELP ${name} ${escaped}\n`}# TYPE ${name} ${type === 'info' ? 'gauge' : type}\n`;
}

/**
 * OpenMetrics names a counter without `_total` and an info metric without `_info`. Where another family has that name,
 * it stands under its full name and with the type that needs no suffix, so that nothing is lost.
 */
function openMetricsMetadata(families: readonly MetricFamily[]): (family: MetricFamily) => string {
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
