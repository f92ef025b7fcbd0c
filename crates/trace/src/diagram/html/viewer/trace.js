// The run in typed arrays, made from the columns that the page carries.

/** What a step began with. */
const MARK = {
  receives: 0, acts: 1, says: 2, crashes: 3, recovers: 4,
  loses: 5, duplicates: 6, network: 7, note: 8,
};
/** What lasted at a process. */
const HOLD = { waiting: 0, inside: 1, leading: 2, token: 3, down: 4, stopped: 5 };
/** What became of a message. */
const FATE = { arrives: 0, lost: 1, underWay: 2 };
const TICKS = 1e6;
/** What is longer than so many usual pauses is a quiet stretch. */
const QUIET = 12;

/** Places by the value that each of `keys` has, as one array and where each value begins. */
function groups(keys, values) {
  const starts = new Int32Array(values + 1);
  for (const key of keys) if (key >= 0) starts[key + 1]++;
  for (let value = 0; value < values; value++) starts[value + 1] += starts[value];
  const places = new Int32Array(starts[values]);
  const next = starts.slice();
  keys.forEach((key, place) => {
    if (key >= 0) places[next[key]++] = place;
  });
  return { of: (value) => places.subarray(starts[value], starts[value + 1]) };
}

/** How many of the ascending `values` are at most `limit`. */
function upTo(values, limit, value = (each) => each) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (value(values[middle]) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

class Trace {
  constructor(told) {
    Object.assign(this, {
      header: told.header, caption: told.caption, unit: told.unit, card: told.card,
      verification: told.verification, records: told.records, shown: told.shown,
      goesOn: told.goes_on, scale: told.scale, violated: told.violated,
      texts: told.names.texts, data: told.names.data, logs: told.logs,
    });
    this.n = told.header.n;
    this.readSteps(told.steps);
    this.readMessages(told.crossings);
    this.linkSteps();
    this.readSpans(told.spans, told.regions);
    this.crimes = told.crimes.step.map((step, place) => (
      { step, until: told.crimes.until[place], who: told.crimes.who[place] }
    ));
    this.readRecords(told.told);
    this.rank = this.ranks();
    this.placed = this.times();
    this.folded = this.folds();
  }

  readSteps(steps) {
    this.size = steps.at.length;
    this.at = Int32Array.from(steps.at);
    this.mark = Uint8Array.from(steps.mark);
    this.says = Int32Array.from(steps.says);
    this.about = Int32Array.from(steps.about);
    this.record = Float64Array.from(steps.record);
    this.clock = Float64Array.from(steps.clock);
    this.time = new Float64Array(this.size);
    let ticks = 0;
    for (let step = 0; step < this.size; step++) {
      ticks += steps.time[step];
      this.time[step] = ticks / TICKS;
    }
  }

  readMessages(crossings) {
    this.messages = crossings.from.length;
    for (const field of ["from", "to", "sent", "ended"]) {
      this[field] = Int32Array.from(crossings[field]);
    }
    this.fate = Uint8Array.from(crossings.fate);
    this.token = Uint8Array.from(crossings.token);
    const kinds = new Map();
    this.kinds = [];
    this.kind = new Int32Array(this.messages);
    for (let message = 0; message < this.messages; message++) {
      const [name, layer] = [crossings.message[message], crossings.layer[message]];
      const key = `${layer} ${name}`;
      if (!kinds.has(key)) {
        kinds.set(key, this.kinds.length);
        this.kinds.push({ name: this.texts[name], layer: this.texts[layer].toLowerCase() });
      }
      this.kind[message] = kinds.get(key);
    }
    this.sentBy = groups(this.sent, this.size);
  }

  /** Those who do nothing, and to whom nothing is sent. */
  idle() {
    const busy = new Set([...this.from, ...this.to, ...this.spanAt]);
    return Array.from({ length: this.n }, (_, process) => process)
      .filter((process) => !busy.has(process) && this.stepsOf.of(process).length === 0);
  }

  /** Whether a step is an event of its process, that clocks count. */
  isOwn(step) {
    const mark = this.mark[step];
    return this.at[step] >= 0 && mark < MARK.loses;
  }

  linkSteps() {
    this.previous = new Int32Array(this.size).fill(-1);
    this.next = new Int32Array(this.size).fill(-1);
    const last = new Int32Array(this.n).fill(-1);
    const own = new Int32Array(this.size).fill(-1);
    for (let step = 0; step < this.size; step++) {
      if (!this.isOwn(step)) continue;
      const at = this.at[step];
      own[step] = at;
      this.previous[step] = last[at];
      if (last[at] >= 0) this.next[last[at]] = step;
      last[at] = step;
    }
    this.stepsOf = groups(own, this.n);
  }

  readSpans(spans, regions) {
    this.spans = spans.at.length;
    this.spanAt = Int32Array.from(spans.at);
    this.spanHold = Uint8Array.from(spans.hold);
    this.spanFrom = Int32Array.from(spans.from);
    this.spanUntil = Int32Array.from(spans.until);
    this.spanTerm = Float64Array.from(spans.term);
    this.spansOf = groups(this.spanAt, this.n);
    this.regions = regions.from.map((from, place) => (
      { from, until: regions.until[place], sides: regions.sides[place] }
    ));
  }

  readRecords(told) {
    this.toldKind = Int32Array.from(told.kind);
    this.toldSays = Int32Array.from(told.says);
    this.toldData = Int32Array.from(told.data);
    this.toldStep = Int32Array.from(told.step);
    this.toldAt = groups(this.toldStep, this.size);
  }

  /** The step at which the message that arrived with this one was sent; -1 without one. */
  cause(step) {
    const about = this.about[step];
    return about < 0 ? -1 : this.sent[about];
  }

  /** The length of the longest chain of steps that ends with each. */
  ranks() {
    const rank = new Float64Array(this.size);
    let barrier = -1;
    let highest = -1;
    const last = new Int32Array(this.n).fill(-1);
    for (let step = 0; step < this.size; step++) {
      const cause = this.cause(step);
      let before = barrier;
      if (this.at[step] < 0) before = highest;
      else if (this.isOwn(step)) before = Math.max(before, last[this.at[step]]);
      if (cause >= 0) before = Math.max(before, rank[cause]);
      rank[step] = before + 1;
      if (this.isOwn(step)) last[this.at[step]] = rank[step];
      if (this.at[step] < 0) barrier = rank[step];
      highest = Math.max(highest, rank[step]);
    }
    return rank;
  }

  /** When each step happened; steps of one process at the same time are set a little apart. */
  times() {
    const pauses = [];
    for (let step = 0; step < this.size && pauses.length < 5000; step++) {
      const before = this.previous[step];
      if (before >= 0 && this.time[step] > this.time[before]) {
        pauses.push(this.time[step] - this.time[before]);
      }
    }
    pauses.sort((a, b) => a - b);
    const apart = (pauses[pauses.length >> 1] ?? 1) / 6;
    const placed = new Float64Array(this.size);
    this.spread = 0;
    for (let step = 0; step < this.size; step++) {
      const [before, cause] = [this.previous[step], this.cause(step)];
      placed[step] = this.time[step];
      if (before >= 0) placed[step] = Math.max(placed[step], placed[before] + apart);
      if (cause >= 0) placed[step] = Math.max(placed[step], placed[cause] + apart);
      this.spread = Math.max(this.spread, placed[step] - this.time[step]);
    }
    return placed;
  }

  /** When each step happened, with quiet stretches cut short: `cuts` are those. */
  folds() {
    const { placed } = this;
    const order = Uint32Array.from(placed.keys()).sort((one, other) => placed[one] - placed[other]);
    const gaps = Array.from(order.subarray(1), (step, place) => placed[step] - placed[order[place]])
      .filter((gap) => gap > 0).sort((one, other) => one - other);
    const most = (gaps[gaps.length >> 1] ?? 1) * QUIET;
    const folded = new Float64Array(this.size);
    this.cuts = [];
    let place = 0;
    order.forEach((step, at) => {
      const gap = at > 0 ? placed[step] - placed[order[at - 1]] : 0;
      if (gap > most) this.cuts.push({ place: place + most / 2, quiet: gap });
      place += Math.min(gap, most);
      folded[step] = place;
    });
    this.inOrder = order;
    return folded;
  }

  /** What a step did, in words, a sentence for each record. */
  words(step) {
    const says = Array.from(this.toldAt.of(step), (row) => this.texts[this.toldSays[row]]);
    const said = says.filter((each) => each !== "");
    if (said.length === 0 && this.says[step] >= 0) said.push(this.texts[this.says[step]]);
    return said;
  }

  /** The time of a step as people read it. */
  timeOf(step) {
    return `${Number(this.time[step].toFixed(3))} ${this.unit}`;
  }

  name(process) {
    return `P${process + 1}`;
  }
}
