import type { Attributes } from '@opentelemetry/api';
import { jsonText } from '../metrics/json-text.ts';

/** What a set of attributes is known by: its keys and values by turns, by ascending key. See {@link pathOf}. */
export type AttributePath = readonly unknown[];

/**
 * Values by attributes. Two sets of attributes are the same where they have the same keys with the same values of the
 * same types, in whatever order; null and undefined are the same value, as both are the empty value on the wire.
 *
 * A tree of maps, a level per key and a level per value, so that a look-up builds and hashes no string: it hashes
 * what is already there.
 */
export class AttributeMap<Value> {
  readonly #root = new Node<Value>();

  get(path: AttributePath): Value | undefined {
    let node: Node<Value> | undefined = this.#root;
    for (let index = 0; index < path.length && node !== undefined; index += 1) {
      node = node.next.get(path[index]);
    }
    return node?.value;
  }

  set(path: AttributePath, value: Value): void {
    let node = this.#root;
    for (const step of path) {
      let next = node.next.get(step);
      if (next === undefined) node.next.set(step, (next = new Node()));
      node = next;
    }
    node.value = value;
  }

  delete(path: AttributePath): void {
    remove(this.#root, path, 0);
  }
}

class Node<Value> {
  readonly next = new Map<unknown, Node<Value>>();
  value: Value | undefined;
}

/** Takes the value at the end of a path out, and every node that then leads nowhere. */
function remove(node: Node<unknown>, path: AttributePath, depth: number): void {
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

/**
 * The path of attributes as they are now; a later change of them does not change it.
 *
 * @throws whatever their accessors throw.
 */
export function pathOf(attributes: Attributes): AttributePath {
  const keys = Object.keys(attributes);
  sort(keys);
  const path: unknown[] = [];
  for (const key of keys) {
    const value = attributes[key];
    if (typeof value === 'object' && value !== null) path.push(key, STRUCTURED, jsonText(value));
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
