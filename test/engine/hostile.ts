/** How often something of these was read that throws. */
export function timesThrown(): number {
  return thrown;
}

let thrown = 0;

function fail(): never {
  thrown += 1;
  throw new Error('not to be read');
}

const THROWING = new Proxy(
  {},
  {
    get: fail,
    has: fail,
    ownKeys: fail,
    getOwnPropertyDescriptor: fail,
    getPrototypeOf: fail,
  },
);

const CYCLIC: Record<string, unknown> = {};
CYCLIC['data'] = CYCLIC;
CYCLIC['length'] = CYCLIC;

const REVOKED = Proxy.revocable([], {});
REVOKED.revoke();

/** What may stand anywhere in a message: a value of every kind, and a getter that throws. */
export const HOSTILE: readonly (readonly [kind: string, property: PropertyDescriptor])[] = [
  ...Object.entries<unknown>({
    undefined,
    null: null,
    true: true,
    '0': 0,
    '-0': -0,
    '-1': -1,
    '0.5': 0.5,
    '2^31': 2 ** 31,
    '2^53': 2 ** 53,
    'the largest number': Number.MAX_VALUE,
    NaN: Number.NaN,
    Infinity,
    '-Infinity': -Infinity,
    '-1n': -1n,
    '2n ** 64n': 2n ** 64n,
    'empty text': '',
    text: 'text',
    __proto__: '__proto__',
    symbol: Symbol('odd'),
    function: () => {},
    date: new Date(Number.NaN),
    bytes: new Uint8Array(3),
    'empty list': [],
    'list of odd things': [undefined, null, -1, Number.NaN, 'text', {}, [], Symbol('odd')],
    'sparse list': Object.assign([], { length: 5 }),
    'list of what throws': [THROWING],
    set: new Set(['text', 5]),
    'empty object': {},
    'object without prototype': Object.create(null),
    'object that is no text': { toString: fail, valueOf: fail, [Symbol.toPrimitive]: fail },
    'list that throws when gone through': Object.assign([1], { [Symbol.iterator]: fail }),
    cyclic: CYCLIC,
    throwing: THROWING,
    revoked: REVOKED.proxy,
  }).map(([kind, value]): [string, PropertyDescriptor] => [kind, { value, writable: true }]),
  ['getter that throws', { get: fail }],
];
