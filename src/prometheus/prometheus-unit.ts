/** UCUM's abbreviations, as OpenTelemetry uses them, in Prometheus' words. Other units keep their own name. */
const UNITS: ReadonlyMap<string, string> = new Map([
  ['d', 'days'],
  ['h', 'hours'],
  ['min', 'minutes'],
  ['s', 'seconds'],
  ['ms', 'milliseconds'],
  ['us', 'microseconds'],
  ['ns', 'nanoseconds'],
  ['By', 'bytes'],
  ['kBy', 'kilobytes'],
  ['KBy', 'kilobytes'],
  ['MBy', 'megabytes'],
  ['GBy', 'gigabytes'],
  ['TBy', 'terabytes'],
  ['KiBy', 'kibibytes'],
  ['MiBy', 'mebibytes'],
  ['GiBy', 'gibibytes'],
  ['TiBy', 'tebibytes'],
  ['m', 'meters'],
  ['V', 'volts'],
  ['A', 'amperes'],
  ['J', 'joules'],
  ['W', 'watts'],
  ['g', 'grams'],
  ['Cel', 'celsius'],
  ['Hz', 'hertz'],
  ['%', 'percent'],
]);

/** The units after a slash, in the singular. `m` is a minute there, as in Prometheus' own translator. */
const PER_UNITS: ReadonlyMap<string, string> = new Map([
  ['s', 'second'],
  ['m', 'minute'],
  ['min', 'minute'],
  ['h', 'hour'],
  ['d', 'day'],
  ['w', 'week'],
  ['wk', 'week'],
  ['mo', 'month'],
  ['y', 'year'],
]);

/**
 * The Prometheus unit of an OpenTelemetry unit: `s` is `seconds`, `By/s` is `bytes_per_second`, what stands in
 * braces is a remark and not a unit (`{request}` is none, `{request}/s` is `per_second`), and `1` is `ratio` for
 * gauges only, because counts of things often carry it too.
 *
 * The rule is that of OpenTelemetry's "Prometheus and OpenMetrics Compatibility", "Metric Metadata".
 *
 * @returns The unit, or `''` where there is none.
 */
export function prometheusUnit(unit: string, isGauge: boolean): string {
  if (unit === '1') return isGauge ? 'ratio' : '';
  const [unitText = '', perText = ''] = unit.replaceAll(/\{[^}]*\}/g, '').split('/', 2);
  const main = translate(unitText, UNITS);
  const per = translate(perText, PER_UNITS);
  if (per === '') return main;
  return main === '' ? `per_${per}` : `${main}_per_${per}`;
}

function translate(unit: string, words: ReadonlyMap<string, string>): string {
  const name = unit.trim();
  if (name === '1') return '';
  return words.get(name) ?? name.replaceAll(/[^a-zA-Z0-9]+/g, '_').replaceAll(/^_|_$/g, '');
}
