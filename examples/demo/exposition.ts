/** One line of a Prometheus text exposition. */
export interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

const LINE = /^(?<name>[\w:]+)(?:\{(?<labels>.*)\})? (?<value>\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** The samples of an exposition: as much of the text format as is needed to read one's own metrics back. */
export function parseExposition(text: string): readonly Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    const { name, labels = '', value } = LINE.exec(line)?.groups ?? {};
    if (name === undefined || value === undefined) continue;
    samples.push({
      name,
      labels: new Map(
        [...labels.matchAll(LABEL)].map(([, key = '', content = '']) => [key, unescape(content)]),
      ),
      value: Number(value.replace('Inf', 'Infinity')),
    });
  }
  return samples;
}

/** The sum over all samples with this name and these labels, whatever other labels they have. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  let sum = 0;
  for (const sample of samples) {
    if (sample.name !== name) continue;
    if (Object.entries(labels).every(([key, value]) => sample.labels.get(key) === value)) sum += sample.value;
  }
  return sum;
}

function unescape(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}
