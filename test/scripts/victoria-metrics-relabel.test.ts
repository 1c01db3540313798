import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { catalogue } from '../../src/metrics/catalogue/index.ts';

interface Rule {
  readonly regex?: string | readonly string[];
  readonly source_labels?: readonly string[];
}

const rules = parse(
  readFileSync(new URL('../../docs/victoria-metrics-relabel.yml', import.meta.url), 'utf8'),
) as readonly Rule[];

describe('docs/victoria-metrics-relabel.yml', () => {
  it('names every counter of the catalogue, and nothing else, in order', () => {
    const counters = rules.find(({ source_labels }) => source_labels?.[0] === '__name__');
    expect(counters?.regex).toEqual(
      catalogue
        .filter(({ kind }) => kind === 'counter')
        .map(({ name }) => name)
        .sort(),
    );
  });
});
