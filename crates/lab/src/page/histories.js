// Tree of moments: the branch of each moment, and navigation between moments. A row is the index of
// a moment in the list of all moments. A lane is the number of a branch.

export class Histories {
  constructor({ tree, moment }) {
    this.all = tree;
    this.now = moment;
    this.rowOf = new Map(tree.map((each, row) => [each.moment, row]));
    this.lane = [];
    this.depth = [];
    /** For each lane: its first and last row, and the row from which it branches off. */
    this.lanes = [];
    const continued = new Set();
    tree.forEach((each, row) => this.place(each, row, continued));
    this.path = new Set();
    for (let row = this.rowOf.get(moment); row !== undefined; row = this.parent(row)) {
      this.path.add(row);
    }
  }

  /**
   * Assigns a moment to a lane. The first child of a moment continues the lane of this moment, and
   * every other child begins a new lane.
   */
  place({ parent }, row, continued) {
    const before = parent === null ? undefined : this.rowOf.get(parent);
    this.depth[row] = before === undefined ? 0 : this.depth[before] + 1;
    if (before !== undefined && !continued.has(before)) {
      continued.add(before);
      this.lane[row] = this.lane[before];
      this.lanes[this.lane[row]].last = row;
      return;
    }
    this.lane[row] = this.lanes.length;
    this.lanes.push({ from: before, first: row, last: row });
  }

  /** Returns the row of the parent of the moment in a row, or undefined for the beginning. */
  parent(row) {
    const { parent } = this.all[row];
    return parent === null ? undefined : this.rowOf.get(parent);
  }

  get row() {
    return this.rowOf.get(this.now);
  }

  /** Returns the rows of the children of the moment in a row. */
  children(row) {
    const { moment } = this.all[row];
    return this.all.flatMap((each, child) => (each.parent === moment ? [child] : []));
  }

  /**
   * Returns a row of the lane `by` lanes beside that of the present moment. Selects the row whose
   * depth is closest to that of the present moment. Returns undefined if there is no such lane.
   */
  beside(by) {
    const lane = this.lane[this.row] + by;
    if (lane < 0 || lane >= this.lanes.length) return undefined;
    let best;
    this.lane.forEach((each, row) => {
      if (each !== lane) return;
      const far = Math.abs(this.depth[row] - this.depth[this.row]);
      if (best === undefined || far < best.far) best = { row, far };
    });
    return best?.row;
  }
}
