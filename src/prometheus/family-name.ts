/** How a metric is exposed. */
export type FamilyType = 'counter' | 'gauge' | 'histogram' | 'info';

/**
 * The name under which an OpenTelemetry metric is exposed. Colons, letters and digits stay; every run of other
 * characters becomes one `_`, a leading digit gets one before it. The unit follows unless the name ends in it,
 * then `_total` for counters, once. A vLLM metric has a valid name and no unit, so only its counters change.
 *
 * The rule is that of OpenTelemetry's "Prometheus and OpenMetrics Compatibility", "Metric Metadata" and "Sums",
 * with the default strategy of escaping and suffixes.
 *
 * @param unit - The Prometheus unit, `''` for none.
 */
export function familyName(name: string, unit: string, type: FamilyType): string {
  const isTotal = type === 'counter' && name.endsWith('_total');
  let text = (isTotal ? name.slice(0, -'_total'.length) : name).replaceAll(/[^a-zA-Z0-9:]+/g, '_');
  if (text === '' || /^[0-9]/.test(text)) text = `_${text}`;
  if (unit !== '' && text !== unit && !text.endsWith(`_${unit}`)) text = join(text, unit);
  return type === 'counter' ? join(text, 'total') : text;
}

function join(name: string, suffix: string): string {
  return name.endsWith('_') ? name + suffix : `${name}_${suffix}`;
}
