// Logs in the style of papers: a row of boxes per process, after the selected event.

/** Maximum number of entries drawn; the last ones are kept. */
const ENTRIES = 40;
/** Maximum number of letters of an entry. The title of the entry has the full text. */
const LETTERS = 5;
/** Number of colors that terms cycle through. */
const TERMS = 6;

class Logs {
  constructor(trace, states) {
    Object.assign(this, { trace, states });
    const { row } = trace.logs;
    // A change is visible once all earlier changes are.
    let latest = -1;
    this.steps = row.map((each) => {
      latest = Math.max(latest, each < 0 ? -1 : trace.detailStep[each]);
      return latest;
    });
    this.begin();
    // Processes without a log learn of the leader too.
    const { terms, snapshot } = trace.logs;
    this.any = terms.some((stored) => stored.length > 0) || snapshot.some((index) => index > 0);
    byId("logs").hidden = !this.any;
  }

  begin() {
    this.read = 0;
    this.logs = Array.from({ length: this.trace.n }, () => null);
  }

  /** Moves the logs to the state after a step. */
  go(step) {
    if (this.read > 0 && this.steps[this.read - 1] > step) this.begin();
    while (this.read < this.steps.length && this.steps[this.read] <= step) this.change(this.read++);
  }

  change(place) {
    const { at, stays, snapshot, terms, description, committed } = this.trace.logs;
    this.logs[at[place]] ??= { entries: [], committed: 0 };
    const log = this.logs[at[place]];
    log.snapshot = snapshot[place];
    log.entries.length = Math.min(log.entries.length, stays[place]);
    while (log.entries.length < log.snapshot) log.entries.push(null);
    terms[place].forEach((term, entry) =>
      log.entries.push({ term, description: description[place][entry] }));
    log.committed = committed[place];
  }

  show(step) {
    if (!this.any) return;
    this.go(step);
    const last = Math.max(0, ...this.logs.map((log) => log?.entries.length ?? 0));
    const first = Math.max(1, last - ENTRIES + 1);
    const indexes = Array.from({ length: last - first + 1 }, (_, place) => first + place);
    const corner = element("th", { class: "soft" }, first > 1 ? "…" : "");
    const head = element("tr", {}, corner,
      ...indexes.map((index) => element("th", { scope: "col" }, String(index))));
    const rows = this.logs.map((log, process) => element("tr", {}, this.name(process, step),
      ...indexes.filter((index) => index <= (log?.entries.length ?? 0))
        .map((index) => this.entry(log, index))));
    byId("rows").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
  }

  name(process, step) {
    const { leads, phase } = this.states.lasting(process, step);
    const crown = leads === null ? null : element("i", { class: "crown", title: "leads" });
    const label = phase === "down" ? " down" : "";
    return element("th", { scope: "row" }, element("strong", {}, this.trace.name(process)), label,
      crown);
  }

  entry(log, index) {
    const mark = index === log.committed ? " mark" : "";
    if (index <= log.snapshot) {
      return element("td", { class: `snapshot safe${mark}`, title: "in a snapshot" }, "▒");
    }
    const { term, description } = log.entries[index - 1];
    const text = description < 0 ? "" : this.trace.texts[description];
    const short = text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text;
    const safe = index <= log.committed ? " safe" : "";
    const title = `${text || "nothing"} of term ${term}${safe ? ", committed" : ""}`;
    return element("td", { class: `term${term % TERMS}${safe}${mark}`, title },
      element("b", {}, String(term)), short ? element("small", {}, short) : null);
  }
}
