// Run in typed arrays, built from the columns embedded in the page.

/** Cause of a step. */
const MARK = {
  receives: 0, acts: 1, emits: 2, crashes: 3, recovers: 4,
  loses: 5, duplicates: 6, network: 7, note: 8,
};
/** Condition of a process. */
const CONDITION = { waiting: 0, inside: 1, leading: 2, token: 3, down: 4, stopped: 5 };
/** Outcome of a message. */
const FATE = { arrives: 0, lost: 1, underWay: 2 };
const TICKS = 1e6;
/** A pause longer than this multiple of the usual pause is shortened. */
const QUIET = 12;

/** Groups indexes by the value of `keys`: one array, and the start of each group. */
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

/** Returns how many of the ascending `values` are at most `limit`. */
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
  constructor(data) {
    Object.assign(this, {
      header: data.header, caption: data.caption, unit: data.unit, card: data.card,
      verification: data.verification, records: data.records, shown: data.shown,
      isCutOff: data.is_cut_off, scale: data.scale, violated: data.violated,
      texts: data.names.texts, data: data.names.data, logs: data.logs,
    });
    this.n = data.header.n;
    this.readSteps(data.steps);
    this.readMessages(data.crossings);
    this.linkSteps();
    this.readSpans(data.spans, data.regions);
    this.violationMarks = data.violation_marks.step.map((step, place) => (
      {
        step,
        until: data.violation_marks.until[place],
        processes: data.violation_marks.processes[place],
      }
    ));
    this.readDetails(data.details);
    this.rank = this.ranks();
    this.placed = this.times();
    this.folded = this.folds();
  }

  readSteps(steps) {
    this.size = steps.at.length;
    this.at = Int32Array.from(steps.at);
    this.mark = Uint8Array.from(steps.mark);
    this.description = Int32Array.from(steps.description);
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

  /** Returns the processes without any events or messages. */
  idle() {
    const busy = new Set([...this.from, ...this.to, ...this.spanAt]);
    return Array.from({ length: this.n }, (_, process) => process)
      .filter((process) => !busy.has(process) && this.stepsOf.of(process).length === 0);
  }

  /** Returns true if the step is an event of its process, which clocks count. */
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
    this.spanCondition = Uint8Array.from(spans.condition);
    this.spanFrom = Int32Array.from(spans.from);
    this.spanUntil = Int32Array.from(spans.until);
    this.spanTerm = Float64Array.from(spans.term);
    this.spansOf = groups(this.spanAt, this.n);
    this.regions = regions.from.map((from, place) => (
      { from, until: regions.until[place], sides: regions.sides[place] }
    ));
  }

  readDetails(details) {
    this.detailKind = Int32Array.from(details.kind);
    this.detailDescription = Int32Array.from(details.description);
    this.detailData = Int32Array.from(details.data);
    this.detailStep = Int32Array.from(details.step);
    this.detailAt = groups(this.detailStep, this.size);
  }

  /** Returns the step that sent the message received in a step; -1 if there is none. */
  cause(step) {
    const about = this.about[step];
    return about < 0 ? -1 : this.sent[about];
  }

  /** Returns for each step the length of the longest causal chain that ends with it. */
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

  /** Returns the time of each step. Simultaneous steps of one process are separated slightly. */
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

  /** Returns the time of each step with long pauses shortened. `cuts` lists these pauses. */
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

  /** Returns the description of a step, one sentence per record. */
  words(step) {
    const rows = Array.from(this.detailAt.of(step));
    const descriptions = rows.map((row) => this.texts[this.detailDescription[row]]);
    const shown = descriptions.filter((each) => each !== "");
    if (shown.length === 0 && this.description[step] >= 0) {
      shown.push(this.texts[this.description[step]]);
    }
    return shown;
  }

  /** Formats the time of a step. */
  timeOf(step) {
    return `${Number(this.time[step].toFixed(3))} ${this.unit}`;
  }

  name(process) {
    return `P${process + 1}`;
  }
}
