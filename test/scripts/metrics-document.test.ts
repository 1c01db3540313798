import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { metricsDocument } from '../../scripts/metrics-document.ts';

describe('docs/metrics.md', () => {
  it('is what the catalogue makes it; where this fails, run `npm run docs`', () => {
    const written = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
    expect(written).toBe(metricsDocument());
  });
});
