// Text panels beside the diagram.

const PAGE = 50;
const PHASES = {
  idle: "outside", waiting: "waits to enter", inside: "is inside",
  down: "has crashed",
};
/** Services with a leader, and services with a critical section. */
const LED = ["election", "log"];
const LOCKED = ["mutex", "office"];

/** Renders the state of a process as nested lists. */
function tree(value) {
  if (value === null) return "none";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) {
    if (value.length === 0) return "empty";
    const short = value.every((each) => each === null || typeof each !== "object");
    if (short) return value.map((each) => tree(each)).join(", ");
    return element("ol", {}, ...value.map((each) => element("li", {}, tree(each))));
  }
  const { type, ...fields } = value;
  const rows = Object.entries(fields).map(([name, field]) => [name, tree(field)]);
  const name = type === undefined ? null : element("span", { class: "type" }, type);
  return element("div", { class: "tree" }, name, rows.length > 0 ? facts(rows) : null);
}

class Panels {
  constructor(trace, states, picture, act) {
    Object.assign(this, { trace, states, picture, act });
    this.head();
    this.legend();
    this.verdicts();
    this.messages();
    this.processes();
    this.refilter();
  }

  head() {
    const { trace } = this;
    const { header, verification } = trace;
    const parts = [trace.card?.title, `written by the ${header.source}`];
    if (header.seed !== undefined) parts.push(`seed ${header.seed}`);
    parts.push(`${trace.records} records`);
    byId("about").textContent = parts.filter(Boolean).join(" · ");
    if (header.replay) byId("about").append(" · ", element("code", {}, header.replay));
    const verdict = header.violates ? "violated" : verification.verdict;
    byId("verdict").textContent = `${SIGNS[verdict]} ${verdict}`;
    byId("verdict").className = verdict;
    const counts = verification.violations.filter((found) => found.counts);
    byId("violation").replaceChildren(...counts.slice(0, 2).map(({ property, description }) =>
      element("p", {}, `✗ ${property} violated: ${description}`)));
    const [first, last] = trace.shown ?? [0, 0];
    if (trace.shown && first === 1 && !trace.isCutOff) return;
    const notice = byId("notice");
    notice.hidden = false;
    notice.textContent = trace.shown
      ? `This page shows the records ${first} to ${last} of ${trace.records}. Verdicts and counts `
        + "are of the whole run. Choose others with --events FROM..TO, or --from and --to."
      : "The requested window contains no records.";
  }

  legend() {
    const { trace } = this;
    const conditions = new Set(trace.spanCondition);
    const marks = new Set(trace.mark);
    const fates = new Set(trace.fate);
    const entries = [
      ["inside", "inside", conditions.has(CONDITION.inside)],
      ["waits", "waits", conditions.has(CONDITION.waiting)],
      ["leads", "leads (crown)", conditions.has(CONDITION.leading)],
      ["token", "has the token", conditions.has(CONDITION.token) || trace.token.includes(1)],
      ["lost", "lost message", fates.has(FATE.lost)],
      ["open", "still under way", fates.has(FATE.underWay)],
      ["crash", "crashes, down", marks.has(MARK.crashes) || conditions.has(CONDITION.down)],
      ["suspects", "suspects", this.states.suspicions.includes(1)],
      ["trusts", "trusts again", this.states.suspicions.includes(2)],
      ["split", "network split", trace.regions.length > 0],
    ];
    byId("legend").replaceChildren(...entries.filter(([, , there]) => there).map(
      ([name, label]) =>
        element("li", {}, element("i", { class: name, "aria-hidden": "true" }), label),
    ));
  }

  verdicts() {
    const { trace } = this;
    const { properties, violations } = trace.verification;
    const rows = Object.entries(properties).map(([property, judgement]) => {
      const found = violations.findIndex((violation) => violation.property === property);
      const row = element("li", { class: judgement },
        element("strong", {}, `${SIGNS[judgement]} ${property}`), ` ${judgement}`);
      if (found >= 0) row.append(...this.violation(found));
      return row;
    });
    const kept = trace.header.violates;
    if (kept && properties[kept] !== "violated") {
      rows.unshift(element("li", { class: "violated" }, element("strong", {}, `✗ ${kept}`),
        " violated: this trace is its counterexample"));
    }
    if (rows.length === 0) rows.push(element("li", {}, "No property to verify."));
    byId("verdicts").replaceChildren(...rows);
  }

  violation(place) {
    const found = this.trace.verification.violations[place];
    const step = this.trace.violated[place];
    const label = `Show at ${Number(found.at.toFixed(3))} ${this.trace.unit}`;
    const promised = found.counts ? "" : " (not promised)";
    const jump = step < 0
      ? element("span", { class: "soft" }, "It lies outside the records shown.")
      : element("button", { type: "button", onclick: () => this.act.jump(step) }, label);
    return [element("p", {}, `${found.description}${promised}`), jump];
  }

  violations() {
    return this.trace.violated.filter((step) => step >= 0).sort((a, b) => a - b);
  }

  messages() {
    const { trace } = this;
    const { sent, dropped, duplicated } = trace.verification.messages;
    const layers = Object.keys(sent).length > 1;
    const swatch = ({ colour, dash }) => `swatch ${colour} dash${dash}`;
    const rows = trace.kinds.map(({ name, layer }, kind) => element("tr", {},
      element("td", {}, element("label", {}, element("input", {
        type: "checkbox", checked: true, "data-kind": String(kind),
        onchange: (event) => this.act.showKind(kind, event.target.checked),
      }), element("i", { class: swatch(lookOf(kind)) }), ` ${name}`)),
      layers ? element("td", { class: "soft" }, layer) : null,
      element("td", { class: "number" }, String(sent[layer]?.[name] ?? 0))));
    const head = element("tr", {}, element("th", { scope: "col" }, "kind"),
      layers ? element("th", { scope: "col" }, "layer") : null,
      element("th", { scope: "col", class: "number" }, "sent"));
    byId("messages").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
    const lines = [this.measured(sent), this.promised()];
    if (dropped + duplicated > 0) lines.push(`${dropped} lost, ${duplicated} duplicated.`);
    byId("cost").replaceChildren(...lines.filter(Boolean).map((line) => element("span", {}, line)));
  }

  measured(sent) {
    const { verification, header } = this.trace;
    const of = (layer) => Object.values(sent[layer] ?? {}).reduce((sum, count) => sum + count, 0);
    const per = (count, total, what) => {
      const mean = Number((total / count).toFixed(2));
      return `Measured: ${total} for ${count} ${what}, ${mean} each.`;
    };
    const { entries, elections } = verification;
    if (entries > 0) return per(entries, of("mutex"), entries === 1 ? "entry" : "entries");
    if (header.service !== "election" || elections.length === 0) return null;
    return per(elections.length, of("election"), elections.length === 1 ? "election" : "elections");
  }

  promised() {
    const cost = this.trace.card?.messages;
    if (!cost) return null;
    const least = cost.least === cost.most ? `${cost.least}` : `${cost.least} to ${cost.most}`;
    const range = cost.most === null ? `at least ${cost.least}` : least;
    return `Claimed by the card: ${cost.formula} per ${cost.per}, here ${range}.`;
  }

  processes() {
    const { trace } = this;
    byId("processes").replaceChildren(...Array.from({ length: trace.n }, (_, process) =>
      element("label", {}, element("input", {
        type: "checkbox", checked: true, "data-process": String(process),
        onchange: (event) => this.act.showProcess(process, event.target.checked),
      }), ` ${trace.name(process)}`)));
    const idle = trace.idle().length;
    byId("folding").hidden = idle === 0 || idle === trace.n;
    const label = idle === 1 ? "Hide one that does" : `Hide ${idle} that do`;
    byId("folding").querySelector("span").textContent = `${label} nothing`;
  }

  /** Recomputes the events that pass the filters. */
  refilter() {
    const { trace, picture } = this;
    const kept = new Int32Array(trace.size);
    let count = 0;
    for (let step = 0; step < trace.size; step++) if (picture.shows(step)) kept[count++] = step;
    this.kept = kept.subarray(0, count);
  }

  /** Returns the number of filtered events up to and including a step. */
  place(step) {
    return upTo(this.kept, step);
  }

  event(step) {
    const { trace } = this;
    if (step < 0) return byId("event").replaceChildren("Nothing is selected.");
    const rows = [["when", trace.timeOf(step)], ["record", String(trace.record[step])]];
    if (trace.at[step] >= 0) rows.unshift(["process", trace.name(trace.at[step])]);
    rows.push(["causal rank", String(trace.rank[step])]);
    if (trace.isOwn(step)) {
      rows.push(["Lamport clock", String(trace.clock[step])]);
      rows.push(["vector clock", this.vector(step)]);
    }
    const details = Array.from(trace.detailAt.of(step));
    const kindOf = (row) => trace.texts[trace.detailKind[row]];
    const data = details.filter((row) => kindOf(row) !== "state").map((row) => {
      const isSuspicion = kindOf(row) === "suspicion";
      const what = isSuspicion ? -1 : trace.detailData[row];
      const label = element("span", {}, trace.texts[trace.detailDescription[row]]);
      if (what < 0) return element("li", {}, label);
      return element("li", {}, label, element("code", {}, JSON.stringify(trace.data[what])));
    });
    byId("event").replaceChildren(element("ol", { class: "did" }, ...data), facts(rows));
    return null;
  }

  vector(step) {
    const { trace } = this;
    if (this.counted?.step !== step) this.counted = { step, counts: this.states.vector(step) };
    const cut = trace.shown && trace.shown[0] > 1 ? " (since the first record shown)" : "";
    return `[${this.counted.counts.join(", ")}]${cut}`;
  }

  process(process, step) {
    const { trace } = this;
    if (process < 0) return byId("process").replaceChildren("No process is selected.");
    const state = this.states.of(process, step);
    const when = step < 0 ? "before the first event" : `at ${trace.timeOf(step)}`;
    const election = ["election", "office"].includes(trace.header.service);
    const rows = [["phase", `${this.phase(state)}${state.stopped ? ", stopped" : ""}`]];
    if (election || state.belief) rows.push(["leader in its view", this.leader(state)]);
    if (state.token) rows.push(["token", "has it"]);
    if (this.states.opinions[process].length > 0) {
      rows.push(["suspects", state.suspects.map((peer) => trace.name(peer)).join(" ") || "none"]);
    }
    const kinds = ({ total, kinds: each }) => {
      const parts = [...each].map(([name, count]) => `${name} ${count}`).join(", ");
      return parts ? `${total}: ${parts}` : "0";
    };
    rows.push(["sent", kinds(state.sent)], ["received", kinds(state.received)]);
    rows.push(["Lamport clock", String(state.clock)]);
    rows.push(["vector clock", state.latest < 0 ? "all 0" : this.vector(state.latest)]);
    if (state.protocolState) rows.push(["protocol state", tree(state.protocolState.data)]);
    byId("process").replaceChildren(
      element("p", {}, element("strong", {}, trace.name(process)), ` ${when}`), facts(rows));
    return null;
  }

  phase({ phase, leads }) {
    const term = leads > 0 ? ` (term ${leads})` : "";
    const leading = leads === null ? "" : `leads${term}`;
    const { service } = this.trace.header;
    if (phase === "idle" && LED.includes(service)) return leading || "does not lead";
    const idle = phase === "idle" && !LOCKED.includes(service);
    return [idle ? "is up" : PHASES[phase], leading].filter(Boolean).join(", ");
  }

  leader({ belief }) {
    if (!belief) return this.trace.shown?.[0] > 1 ? "unknown in these records" : "none yet";
    const term = belief.term?.number > 0 ? ` (term ${belief.term.number})` : "";
    return belief.leader < 0 ? `none${term}` : `${this.trace.name(belief.leader)}${term}`;
  }

  /** Shows the page of the event list that contains the step. */
  events(step, page = null) {
    const { trace, kept } = this;
    const pages = Math.max(1, Math.ceil(kept.length / PAGE));
    const here = page ?? Math.floor(Math.max(0, this.place(step) - 1) / PAGE);
    this.page = Math.min(Math.max(here, 0), pages - 1);
    const first = this.page * PAGE;
    const rows = Array.from(kept.subarray(first, first + PAGE), (each, place) =>
      element("div", {
        role: "option", id: `event-${each}`, "data-step": String(each),
        "aria-selected": String(each === step), "aria-setsize": String(kept.length),
        "aria-posinset": String(first + place + 1),
        onclick: () => this.act.select(each),
      }, element("span", { class: "time" }, String(Number(trace.time[each].toFixed(3)))),
      element("span", {}, trace.words(each).join("; "))));
    const list = byId("events");
    updateChildren(list, ...rows);
    const selected = list.querySelector("[aria-selected=true]");
    list.setAttribute("aria-activedescendant", selected?.id ?? "");
    if (selected) list.scrollTop = selected.offsetTop - list.offsetTop - list.clientHeight / 2;
    const last = Math.min(first + PAGE, kept.length);
    byId("page").textContent = kept.length === 0 ? "no events"
      : `${first + 1} to ${last} of ${kept.length}`;
    byId("earlier").disabled = this.page === 0;
    byId("later").disabled = this.page >= pages - 1;
  }
}

const SIGNS = { holds: "✓", violated: "✗", incomplete: "…" };
