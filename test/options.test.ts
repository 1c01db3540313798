import { describe, expect, it } from 'vitest';
import { VllmInstrumentation } from '../src/instrumentation.ts';
import { resolveOptions, type VllmInstrumentationOptions } from '../src/options.ts';

describe('the options of VllmInstrumentation', () => {
  it.each([
    ['trackUnknownRequests', 'yes', 'trackUnknownRequests must be true or false; got "yes"'],
    ['trackUnknownRequests', 1, 'trackUnknownRequests must be true or false; got 1'],
    ['trackUnknownRequests', null, 'trackUnknownRequests must be true or false; got null'],
    ['isDiffusion', 'true', 'isDiffusion must be true or false; got "true"'],
    ['isDiffusion', 0, 'isDiffusion must be true or false; got 0'],
    ['exemplars', 'off', 'exemplars must be true or false; got "off"'],
    ['maxLoras', 0, 'maxLoras must be a whole number of adapters, 1 or more; got 0'],
    ['maxLoras', -1, 'maxLoras must be a whole number of adapters, 1 or more; got -1'],
    ['maxLoras', 1.5, 'maxLoras must be a whole number of adapters, 1 or more; got 1.5'],
    ['maxLoras', Number.NaN, 'maxLoras must be a whole number of adapters, 1 or more; got NaN'],
    ['maxLoras', Infinity, 'maxLoras must be a whole number of adapters, 1 or more; got Infinity'],
    ['maxLoras', 2 ** 53, 'maxLoras must be a whole number of adapters, 1 or more; got 9007199254740992'],
    ['maxLoras', '4', 'maxLoras must be a whole number of adapters, 1 or more; got "4"'],
    ['maxLoras', 4n, 'maxLoras must be a whole number of adapters, 1 or more; got 4'],
    ['maxLoras', null, 'maxLoras must be a whole number of adapters, 1 or more; got null'],
  ])('refuse %s: %s', (option, value, text) => {
    const options = { modelName: 'm', [option]: value } as unknown as VllmInstrumentationOptions;
    expect(() => new VllmInstrumentation(options)).toThrow(new TypeError(text));
  });

  it('are off, exemplars apart, and know no number of adapters, where they are not given', () => {
    const nothing = { trackUnknownRequests: undefined, isDiffusion: undefined, maxLoras: undefined };
    const off = { trackUnknownRequests: false, isDiffusion: false, maxLoras: undefined, exemplars: true };
    expect(resolveOptions({ modelName: 'm' })).toMatchObject(off);
    expect(resolveOptions({ modelName: 'm', ...nothing })).toMatchObject(off);
  });

  it.each([
    { trackUnknownRequests: true },
    { trackUnknownRequests: false },
    { isDiffusion: true },
    { exemplars: false },
    { exemplars: true },
    { maxLoras: 1 },
    { maxLoras: Number.MAX_SAFE_INTEGER },
  ])('are taken as they are: %j', (options) => {
    expect(resolveOptions({ modelName: 'm', ...options })).toMatchObject(options);
  });
});
