const GAMMA = 0x9e3779b97f4a7c15n;

/**
 * Scatters 64 bits: the finalising step of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
 * number generators", 2014). The random numbers and the block hashes of the simulator both come from it.
 */
export function mix64(value: bigint): bigint {
  let bits = BigInt.asUintN(64, value);
  bits = BigInt.asUintN(64, (bits ^ (bits >> 30n)) * 0xbf58476d1ce4e5b9n);
  bits = BigInt.asUintN(64, (bits ^ (bits >> 27n)) * 0x94d049bb133111ebn);
  return bits ^ (bits >> 31n);
}

/** A seeded random number generator (SplitMix64): the same seed gives the same numbers on every machine. */
export class Random {
  #state: bigint;

  /** @param seed Any integer. */
  constructor(seed: number | bigint) {
    this.#state = mix64(BigInt(seed));
  }

  /** The next number, uniform in [0, 1). */
  next(): number {
    return Number(this.#nextBits() >> 11n) / 2 ** 53;
  }

  /** An integer, uniform in [0, `limit`). */
  integer(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** The gap to the next event of a Poisson process: exponential with this mean. */
  exponential(mean: number): number {
    return -Math.log1p(-this.next()) * mean;
  }

  /** Log-normal: half of the numbers below `median`; a larger `sigma` makes the tail longer. */
  logNormal(median: number, sigma: number): number {
    const radius = Math.sqrt(-2 * Math.log1p(-this.next()));
    return median * Math.exp(sigma * radius * Math.cos(2 * Math.PI * this.next()));
  }

  /** An independent generator: what is drawn from it does not move the numbers of this one. */
  fork(): Random {
    return new Random(this.#nextBits());
  }

  #nextBits(): bigint {
    this.#state = BigInt.asUintN(64, this.#state + GAMMA);
    return mix64(this.#state);
  }
}
