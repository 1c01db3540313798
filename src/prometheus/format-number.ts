/**
 * Spells a number as Python's and Go's Prometheus clients do, for sample values and `le`: the shortest digits that
 * read back as the same float, always with a decimal point or an exponent (`1.0`, `0.25`), an exponent of at least
 * two digits from a million up and below 0.0001 (`1e+06`, `1e-05`), and `NaN`, `+Inf`, `-Inf`.
 *
 * The spelling is part of a series' identity in `le`: Prometheus 2 and other stores hold `1` and `1.0` for two
 * labels. The rule is that of OpenMetrics 1.0, "Canonical Numbers".
 */
export function formatNumber(value: number): string {
  if (Number.isInteger(value) && value < 1e6 && value > -1e6)
    return Object.is(value, -0) ? '-0.0' : `${value}.0`;
  if (!Number.isFinite(value)) return formatNonFinite(value);
  const magnitude = Math.abs(value);
  if (magnitude >= 1e-4 && magnitude < 1e6) return String(value);
  const text = value.toExponential();
  const digits = text.indexOf('e') + 2;
  return text.length - digits === 1 ? `${text.slice(0, digits)}0${text.slice(digits)}` : text;
}

function formatNonFinite(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
