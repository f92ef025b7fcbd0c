// State of the processes over time, and causality.

/** State of each process after any step. */
class States {
  constructor(trace) {
    this.trace = trace;
    this.beliefs = Array.from({ length: trace.n }, () => []);
    this.opinions = Array.from({ length: trace.n }, () => []);
    this.protocolStates = Array.from({ length: trace.n }, () => []);
    this.suspicions = new Int32Array(trace.size);
    for (let row = 0; row < trace.detailStep.length; row++) this.read(row);
    const steps = { from: new Int32Array(trace.messages), to: new Int32Array(trace.messages) };
    for (let message = 0; message < trace.messages; message++) {
      const arrived = trace.fate[message] === FATE.arrives && trace.ended[message] >= 0;
      steps.from[message] = trace.sent[message] >= 0 ? trace.from[message] : -1;
      steps.to[message] = arrived ? trace.to[message] : -1;
    }
    this.sent = groups(steps.from, trace.n);
    this.received = groups(steps.to, trace.n);
  }

  read(row) {
    const { trace } = this;
    const step = trace.detailStep[row];
    const at = step < 0 ? -1 : trace.at[step];
    if (at < 0 || trace.detailData[row] < 0) return;
    const data = trace.data[trace.detailData[row]];
    const kind = trace.texts[trace.detailKind[row]];
    if (kind === "event") {
      const event = data?.Election ?? data;
      if (event?.Elected) this.beliefs[at].push({ step, ...event.Elected });
      else if (event?.Deposed) {
        this.beliefs[at].push({ step, leader: -1, term: event.Deposed.term });
      } else if (event?.Leading) this.follows(at, step, at, event.Leading.term);
      else if (event?.Relaying) {
        this.follows(at, step, event.Relaying.leader, event.Relaying.term);
      } else if (event?.Following) {
        this.follows(at, step, event.Following.leader ?? -1, event.Following.term);
      }
    } else if (kind === "suspicion") {
      const [peer, verdict] = data;
      this.opinions[at].push({ step, peer, suspected: verdict === "Suspect" });
      this.suspicions[step] = verdict === "Suspect" ? 1 : 2;
    } else if (kind === "state") {
      this.protocolStates[at].push({ step, data });
    }
  }

  /** Applies the report of a leader. A replicated log reports only the number of the term. */
  follows(at, step, leader, number) {
    this.beliefs[at].push({ step, leader, term: { number, leader } });
  }

  /** Returns the conditions of a process after a step. */
  lasting(process, step) {
    const { trace } = this;
    const state = { phase: "idle", leads: null, token: false, stopped: false };
    for (const span of trace.spansOf.of(process)) {
      const [from, until] = [trace.spanFrom[span], trace.spanUntil[span]];
      if ((from >= 0 && from > step) || (until >= 0 && until <= step)) continue;
      const condition = trace.spanCondition[span];
      if (condition === CONDITION.leading) state.leads = trace.spanTerm[span];
      else if (condition === CONDITION.token) state.token = true;
      else if (condition === CONDITION.stopped) state.stopped = true;
      else if (condition === CONDITION.down) state.phase = "down";
      else state.phase = condition === CONDITION.inside ? "inside" : "waiting";
    }
    return state;
  }

  /** Returns all that is known about the state of a process after a step. */
  of(process, step) {
    const { trace } = this;
    const state = this.lasting(process, step);
    state.belief = this.last(this.beliefs[process], step);
    state.protocolState = this.last(this.protocolStates[process], step);
    state.suspects = this.suspects(process, step);
    state.sent = this.counts(this.sent.of(process), trace.sent, step);
    state.received = this.counts(this.received.of(process), trace.ended, step);
    const own = trace.stepsOf.of(process);
    const latest = own[upTo(own, step) - 1] ?? -1;
    state.latest = latest;
    state.clock = latest < 0 ? 0 : trace.clock[latest];
    return state;
  }

  last(list, step) {
    return list[upTo(list, step, (each) => each.step) - 1] ?? null;
  }

  suspects(process, step) {
    const suspected = new Set();
    for (const opinion of this.opinions[process]) {
      if (opinion.step > step) break;
      if (opinion.suspected) suspected.add(opinion.peer);
      else suspected.delete(opinion.peer);
    }
    return [...suspected].sort((a, b) => a - b);
  }

  /** Returns the number of these messages up to a step, in total and by kind. */
  counts(messages, when, step) {
    const kinds = new Map();
    let total = 0;
    for (const message of messages) {
      if (when[message] > step) continue;
      const { name } = this.trace.kinds[this.trace.kind[message]];
      kinds.set(name, (kinds.get(name) ?? 0) + 1);
      total++;
    }
    return { total, kinds };
  }

  /**
   * Returns the relation of each step to this one: 1 if it happened before, 2 if after, 3 for the
   * step itself.
   */
  cone(step) {
    const { trace } = this;
    const cone = new Uint8Array(trace.size);
    if (step < 0 || trace.at[step] < 0) return null;
    this.spread(step, cone, 1, (from, add) => {
      const own = trace.isOwn(from);
      if (own) add(trace.previous[from]);
      add(trace.cause(from));
    });
    this.spread(step, cone, 2, (from, add) => {
      add(trace.next[from]);
      for (const message of trace.sentBy.of(from)) {
        if (trace.ended[message] >= 0) add(trace.ended[message]);
      }
    });
    cone[step] = 3;
    return cone;
  }

  spread(step, cone, colour, neighbours) {
    const open = [step];
    const add = (other) => {
      if (other < 0 || cone[other] !== 0 || other === step) return;
      cone[other] = colour;
      open.push(other);
    };
    while (open.length > 0) neighbours(open.pop(), add);
  }

  /**
   * Returns the vector clock of a step: for each process, its number of events in the window that
   * are the step itself or happened before it.
   */
  vector(step) {
    const { trace } = this;
    const counts = new Array(trace.n).fill(0);
    const cone = this.cone(step);
    cone?.forEach((colour, other) => {
      if ((colour === 1 || colour === 3) && trace.isOwn(other)) counts[trace.at[other]]++;
    });
    return counts;
  }
}
