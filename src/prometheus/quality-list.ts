/** One entry of an Accept or Accept-Encoding header. */
export interface QualityItem {
  /** The media range or coding, in lower case. */
  readonly token: string;
  /** Its parameters without `q`: names in lower case, values without quotes. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Its weight from 0 (not acceptable) to 1 (RFC 9110, 12.4.2). */
  readonly quality: number;
}

/** Reads a header that lists weighted alternatives. Entries with a weight that is no number from 0 to 1 are left out. */
export function parseQualityList(header: string): QualityItem[] {
  const items: QualityItem[] = [];
  for (const entry of header.split(',')) {
    const [token = '', ...rest] = entry.split(';').map((part) => part.trim());
    const parameters = new Map(rest.map(parseParameter));
    const quality = Number(parameters.get('q') ?? 1);
    parameters.delete('q');
    if (token !== '' && quality >= 0 && quality <= 1)
      items.push({ token: token.toLowerCase(), parameters, quality });
  }
  return items;
}

function parseParameter(text: string): [name: string, value: string] {
  const equals = text.indexOf('=');
  if (equals === -1) return [text.toLowerCase(), ''];
  const value = text.slice(equals + 1).trim();
  return [text.slice(0, equals).trim().toLowerCase(), value.replaceAll(/^"|"$/g, '')];
}
