import type { Attributes } from '@opentelemetry/api';

/**
 * Values by attributes. Two sets of attributes are the same where they have the same keys with the same values of the
 * same types, in whatever order; null and undefined are the same value, as both are the empty value on the wire.
 *
 * A tree of maps, a level per key and a level per value, so that a look-up builds and hashes no string: it hashes
 * what is already there.
 */
export class AttributeMap<Value> {
  readonly #root = new Node<Value>();

  get(attributes: Attributes): Value | undefined {
    let node: Node<Value> | undefined = this.#root;
    const path = pathOf(attributes);
    for (let index = 0; index < path.length && node !== undefined; index += 1) {
      node = node.next.get(path[index]);
    }
    return node?.value;
  }

  set(attributes: Attributes, value: Value): void {
    let node = this.#root;
    for (const step of pathOf(attributes)) {
      let next = node.next.get(step);
      if (next === undefined) node.next.set(step, (next = new Node()));
      node = next;
    }
    node.value = value;
  }

  delete(attributes: Attributes): void {
    remove(this.#root, pathOf(attributes), 0);
  }
}

class Node<Value> {
  readonly next = new Map<unknown, Node<Value>>();
  value: Value | undefined;
}

/** Takes the value at the end of a path out, and every node that then leads nowhere. */
function remove(node: Node<unknown>, path: readonly unknown[], depth: number): void {
  if (depth === path.length) {
    node.value = undefined;
    return;
  }
  const next = node.next.get(path[depth]);
  if (next === undefined) return;
  remove(next, path, depth + 1);
  if (next.value === undefined && next.next.size === 0) node.next.delete(path[depth]);
}

/** Stands before the text of a value that is no primitive, which no attribute that is a string can then equal. */
const STRUCTURED = Symbol('structured attribute value');

/** Keys and values by turns, by ascending key. */
function pathOf(attributes: Attributes): unknown[] {
  const keys = Object.keys(attributes);
  sort(keys);
  const path: unknown[] = [];
  for (const key of keys) {
    const value = attributes[key];
    if (typeof value === 'object' && value !== null) path.push(key, STRUCTURED, textOf(value));
    else path.push(key, value ?? null);
  }
  return path;
}

/** By insertion: for the handful of keys that there are, several times as fast as `Array.sort`. */
function sort(keys: string[]): void {
  for (let end = 1; end < keys.length; end += 1) {
    const key = keys[end] as string;
    let place = end;
    for (; place > 0 && (keys[place - 1] as string) > key; place -= 1)
      keys[place] = keys[place - 1] as string;
    keys[place] = key;
  }
}

/** Cyclic values and those with a bigint inside have no text; all such of one kind are taken for the same. */
function textOf(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}
