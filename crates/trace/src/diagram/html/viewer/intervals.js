// Index of the visible part of large collections.

const BLOCK = 128;

/** Intervals sorted by their start, with the maximum end of each block. */
class Intervals {
  constructor(starts, ends) {
    this.order = Uint32Array.from(starts.keys());
    let sorted = true;
    for (let place = 1; place < starts.length && sorted; place++) {
      sorted = starts[place - 1] <= starts[place];
    }
    if (!sorted) this.order.sort((a, b) => starts[a] - starts[b]);
    this.starts = starts;
    this.ends = ends;
    this.furthest = new Float64Array(Math.ceil(starts.length / BLOCK)).fill(-Infinity);
    this.order.forEach((which, place) => {
      const block = Math.floor(place / BLOCK);
      this.furthest[block] = Math.max(this.furthest[block], ends[which]);
    });
  }

  /** Visits all intervals that intersect `from` to `to`. */
  each(from, to, visit) {
    const limit = upTo(this.order, to, (which) => this.starts[which]);
    for (let block = 0; block * BLOCK < limit; block++) {
      if (this.furthest[block] < from) continue;
      const end = Math.min(limit, (block + 1) * BLOCK);
      for (let place = block * BLOCK; place < end; place++) {
        const which = this.order[place];
        if (this.ends[which] >= from) visit(which);
      }
    }
  }

  /** Returns the range of positions in `order` of the intervals that start from `from` to `to`. */
  range(from, to) {
    const value = (which) => this.starts[which];
    return [upTo(this.order, from - Number.EPSILON, value), upTo(this.order, to, value)];
  }
}
