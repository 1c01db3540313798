import type { Attributes } from '@opentelemetry/api';
import { jsonText } from '../metrics/json-text.ts';

/**
 * Attributes as the text between the braces of a sample, without the braces: `engine="0",model_name="m"`.
 *
 * Names keep letters, digits and `_`; every run of other characters becomes one `_`, and a leading digit gets `key_`
 * before it. Where two names become one, the values are joined with `;` in the order of the original names.
 * Sorted by name, so that equal label sets have equal texts. `undefined` and `null` are left out, as OpenMetrics
 * wants for labels without a value.
 *
 * The rule is that of OpenTelemetry's "Prometheus and OpenMetrics Compatibility", "Metric Attributes".
 *
 * @param reserved - A label name that belongs to the format (`le` in a histogram): an attribute of that name is
 *   exposed as `exported_` and the name.
 */
export function labelText(attributes: Attributes, reserved?: string): string {
  const labels = new Map<string, string>();
  for (const key of Object.keys(attributes).sort()) {
    const value = attributes[key];
    if (value === undefined || value === null) continue;
    const sanitised = labelName(key);
    const name = sanitised === reserved ? `exported_${sanitised}` : sanitised;
    const before = labels.get(name);
    labels.set(name, before === undefined ? labelValue(value) : `${before};${labelValue(value)}`);
  }
  return [...labels.keys()]
    .sort()
    .map((name) => `${name}="${escapeText(labels.get(name) ?? '')}"`)
    .join(',');
}

/** Escapes a label value, or a HELP text of OpenMetrics. */
export function escapeText(text: string): string {
  return text.replaceAll(/[\\"\n]/g, (character) => (character === '\n' ? String.raw`\n` : `\\${character}`));
}

function labelName(key: string): string {
  const name = key.replaceAll(/[^a-zA-Z0-9]+/g, '_');
  return name === '' || /^[0-9]/.test(name) ? `key_${name}` : name;
}

function labelValue(value: unknown): string {
  if (typeof value === 'string') return value;
  // JSON would turn NaN and the infinities into null, and has no bigints.
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : jsonText(value);
}
