/** A text format that a scrape can ask for. */
export interface ExpositionFormat {
  readonly name: 'text' | 'openmetrics';
  /** The media type that an Accept header names. */
  readonly mediaType: string;
  /** The one version of it that is written. */
  readonly version: string;
}

/** Prometheus' text format: what a scrape gets that asks for nothing else. */
export const TEXT: ExpositionFormat = { name: 'text', mediaType: 'text/plain', version: '0.0.4' };

/** OpenMetrics 1.0: what current Prometheus servers prefer, and the only one of the two that holds exemplars. */
export const OPEN_METRICS: ExpositionFormat = {
  name: 'openmetrics',
  mediaType: 'application/openmetrics-text',
  version: '1.0.0',
};

/** The Content-Type header of a body in a format. */
export function contentType(format: ExpositionFormat): string {
  return `${format.mediaType}; version=${format.version}; charset=utf-8`;
}
