const SAMPLE = /^([\w:]+(?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})? \S+)( # .*)?$/gm;

/**
 * Gives every sample of an exposition, which has none, a time. The exemplars behind them keep their own.
 *
 * @param contentType The exposition's: OpenMetrics has seconds, the text format milliseconds.
 */
export function stampExposition(text: string, contentType: string, unixSeconds: number): string {
  const isOpenMetrics = contentType.startsWith('application/openmetrics-text');
  const time = isOpenMetrics ? unixSeconds : unixSeconds * 1000;
  return text.replaceAll(SAMPLE, (_, sample: string, exemplar = '') => `${sample} ${time}${exemplar}`);
}
