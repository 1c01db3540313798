/** One block of the KV cache: room for the keys and values of a fixed number of tokens. */
export class KvBlock {
  /** Position in the cache. */
  readonly id: number;
  /** How many requests hold it. At 0 it stands in the free queue. */
  references = 0;
  /** What it holds, once it is full and can be shared; it keeps this while free, until it is taken for other tokens. */
  hash: bigint | undefined;
  /** Neighbours in the free queue. */
  previous: KvBlock | undefined;
  next: KvBlock | undefined;

  constructor(id: number) {
    this.id = id;
  }
}

/**
 * The free blocks, least recently used first: a linked list through the blocks themselves, because a prefix hit
 * takes blocks out of its middle.
 */
export class FreeQueue {
  #first: KvBlock | undefined;
  #last: KvBlock | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(block: KvBlock): void {
    block.previous = this.#last;
    if (this.#last === undefined) this.#first = block;
    else this.#last.next = block;
    this.#last = block;
    this.#length += 1;
  }

  shift(): KvBlock | undefined {
    const block = this.#first;
    if (block !== undefined) this.remove(block);
    return block;
  }

  remove(block: KvBlock): void {
    if (block.previous === undefined) this.#first = block.next;
    else block.previous.next = block.next;
    if (block.next === undefined) this.#last = block.previous;
    else block.next.previous = block.previous;
    block.previous = undefined;
    block.next = undefined;
    this.#length -= 1;
  }
}
