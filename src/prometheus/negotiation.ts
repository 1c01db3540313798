import { OPEN_METRICS, TEXT, type ExpositionFormat } from './exposition-format.ts';
import { parseQualityList, type QualityItem } from './quality-list.ts';

/**
 * The format that a scrape prefers, from its Accept header: the one with the higher weight, each weighed by the most
 * specific range that names it (RFC 9110, 12.5.1); of equal weights the one named more specifically. Everything else,
 * no header and formats that are not written included, gets text 0.0.4, which Prometheus' "Scrape protocol content
 * negotiation" makes the last resort.
 */
export function negotiateFormat(accept: string | undefined): ExpositionFormat {
  if (accept === undefined) return TEXT;
  const ranges = parseQualityList(accept);
  const openMetrics = weigh(OPEN_METRICS, ranges);
  const text = weigh(TEXT, ranges);
  if (openMetrics.quality === 0 || openMetrics.quality < text.quality) return TEXT;
  return openMetrics.quality > text.quality || openMetrics.specificity > text.specificity
    ? OPEN_METRICS
    : TEXT;
}

/** Whether a scrape prefers gzip to the plain body, from its Accept-Encoding header. */
export function prefersGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  const codings = parseQualityList(acceptEncoding);
  const quality = (...names: readonly string[]): number | undefined =>
    codings.find((coding) => names.includes(coding.token))?.quality;
  const gzip = quality('gzip', 'x-gzip') ?? quality('*') ?? 0;
  return gzip > 0 && gzip >= (quality('identity') ?? 0);
}

interface Weight {
  readonly quality: number;
  readonly specificity: number;
}

function weigh(format: ExpositionFormat, ranges: readonly QualityItem[]): Weight {
  let best: Weight = { quality: 0, specificity: -1 };
  for (const range of ranges) {
    const specificity = specificityOf(range, format);
    if (specificity === undefined || specificity < best.specificity) continue;
    if (specificity > best.specificity || range.quality > best.quality)
      best = { quality: range.quality, specificity };
  }
  return best;
}

function specificityOf(range: QualityItem, format: ExpositionFormat): number | undefined {
  const version = range.parameters.get('version');
  if (version !== undefined && version !== format.version) return undefined;
  if (range.token === format.mediaType) return version === undefined ? 2 : 3;
  if (range.token === `${format.mediaType.split('/', 1)[0]}/*`) return 1;
  return range.token === '*/*' ? 0 : undefined;
}
