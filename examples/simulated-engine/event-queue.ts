interface Entry<T> {
  readonly at: number;
  readonly order: number;
  readonly value: T;
}

/** What is going to happen, the earliest first; at equal times, what was added first. A binary heap. */
export class EventQueue<T> {
  readonly #heap: Entry<T>[] = [];
  #added = 0;

  add(at: number, value: T): void {
    const heap = this.#heap;
    const entry = { at, order: this.#added, value };
    this.#added += 1;
    let index = heap.length;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(entry, parent)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = entry;
  }

  /** Takes out the next event, or undefined where none is left. */
  take(): { readonly at: number; readonly value: T } | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (child === undefined || !isBefore(child, last)) break;
      heap[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(one: Entry<unknown>, other: Entry<unknown>): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
