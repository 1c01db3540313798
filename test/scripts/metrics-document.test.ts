import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { COMES_LATER, metricsDocument } from '../../scripts/metrics-document.ts';
import { catalogue } from '../../src/metrics/catalogue/index.ts';
import { startService } from '../support/service.ts';

describe('docs/metrics.md', () => {
  it('is what the catalogue makes it; where this fails, run `npm run docs`', () => {
    const written = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
    expect(written).toBe(metricsDocument());
  });

  it('names every metric that an engine does not show from the start', async () => {
    const { names } = await startService().read();
    const missing = catalogue.map(({ name }) => name).filter((name) => !names.includes(name));
    expect(missing.toSorted()).toEqual([...COMES_LATER.values()].flat().toSorted());
  });
});
