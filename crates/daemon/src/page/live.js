"use strict";
// Updates the live page from server-sent events.

const SIGNS = { holds: "✓", violated: "✗", incomplete: "…" };

const name = (process) => `P${process}`;
const count = (number) => Math.round(number).toLocaleString("en");
const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;
/** Fencing token that may wrap only behind the dot of TERM.COUNT. */
const token = (fence) => fence.split(".").flatMap((part, place) =>
  (place === 0 ? [part] : [".", element("wbr", {}), part]));
const duration = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : seconds(ms));

class Live {
  constructor() {
    this.strip = new Strip(byId("strip"));
    this.known = 0;
    this.ended = false;
    this.lastUpdate = null;
    this.connect();
  }

  /** Opens the event stream. The browser reconnects by itself, and the first event is complete. */
  connect() {
    this.source = new EventSource(`/api/live${location.search}`);
    this.source.onmessage = (event) => {
      if (event.data !== "") this.update(JSON.parse(event.data));
    };
    this.source.onerror = () => this.lost();
  }

  lost() {
    if (this.ended) return;
    const closed = this.source.readyState === EventSource.CLOSED;
    this.status("lost", "connection lost; the page shows old data. Reconnecting …");
    if (!closed) return;
    window.setTimeout(() => this.connect(), 2000);
    this.source.close();
  }

  status(look, label) {
    const status = byId("status");
    if (status.textContent !== label) status.textContent = label;
    status.className = look;
  }

  update({ about, view, verdicts, last }) {
    this.lastUpdate = { about, view, verdicts, last };
    // Another run, or a restart of the node: its events are numbered from the start.
    const newest = view.news.at(-1)?.number ?? 0;
    if (newest < this.known) {
      this.known = 0;
      byId("news").replaceChildren();
    }
    this.ended = last;
    if (last) {
      this.source.close();
      this.status("over", about.own ? "the node has stopped" : "the run is over");
    } else if (view.over) this.status("over", "the run is over; checking its traces");
    else this.status("live", "live");
    this.head(about);
    this.tiles(view);
    this.strip.show(view);
    this.nodes(view);
    this.news(view);
    if (verdicts) this.verdicts(verdicts);
  }

  head({ title, mutex, election, size, own }) {
    const what = `${title}: ${mutex}`;
    document.title = `${what}, live`;
    byId("title").textContent = what;
    const elected = mutex === `coordinated:${election}` ? "" : `, election ${election}`;
    const whose = own ? ` This page shows the view of ${name(own)}.` : "";
    byId("about").textContent = `${size} nodes${elected}.${whose}`;
  }

  tiles(view) {
    const fill = (id, label, ...more) => byId(id).replaceChildren(
      ...[label].flat(),
      ...(more.some((each) => each !== "") ? [element("small", {}, ...more)] : []));
    fill("leader", view.leader ? name(view.leader[0]) : "none",
      view.leader ? `term ${view.leader[1]}` : "no live leader");
    const up = view.processes.filter(({ life }) => life === "up" || life === "stopped");
    const inside = up.filter(({ lock }) => lock === "inside");
    fill("inside", inside.map((each) => name(each.process)).join(", ") || "none",
      ...inside.flatMap((each, place) => [
        place === 0 ? "fence " : "; fence ", ...token(each.fence), `, ${duration(each.for_ms)}`]));
    const waiting = up.filter(({ lock }) => lock === "waiting");
    waiting.sort((a, b) => b.for_ms - a.for_ms);
    fill("waiting", waiting.map((each) => name(each.process)).join(", ") || "none",
      waiting.length > 0 ? `longest ${duration(waiting[0].for_ms)}` : "");
    const rate = (id, each, all) => (view.over || this.ended ? fill(id, count(all), "total")
      : fill(id, `${count(each)}/s`, `${count(all)} total`));
    rate("entries", view.entries_per_second, view.entries);
    rate("messages", view.messages_per_second, view.messages);
    fill("fence", view.fence ? token(view.fence[0]) : "none",
      view.fence ? `of ${name(view.fence[1])}` : "");
    fill("refused", count(view.refused), view.last_refused
      ? `${view.last_refused[0]}, at ${seconds(view.last_refused[1])}` : "");
  }

  nodes(view) {
    const rows = view.processes.map((each) => {
      const cell = (called, label, more = {}) =>
        element("td", { "data-name": called, ...more }, label);
      const held = { inside: "inside-now", waiting: "waits-now" }[each.lock] ?? "";
      const since = each.for_ms === null || each.life !== "up" ? "" : ` ${duration(each.for_ms)}`;
      const lock = each.life === "down" || each.life === "unknown" ? "–" : each.lock + since;
      const leader = each.leader ? `${name(each.leader[0])}, term ${each.leader[1]}` : "none";
      const rate = (called, number, all) => element("td",
        { class: "number", "data-name": called }, `${count(number)} `,
        element("small", {}, `of ${count(all)}`));
      const gone = each.life === "down" || each.life === "unknown";
      return element("tr", { class: each.life },
        element("th", { scope: "row" }, name(each.process)),
        cell("state", each.life), cell("lock", lock, { class: held }),
        cell("leader", gone ? "–" : leader),
        cell("suspects", gone ? "–" : each.suspects.map(name).join(" ") || "none"),
        rate("entries/s", each.entries_per_second, each.entries),
        rate("messages/s", each.messages_per_second, each.messages));
    });
    byId("nodes").tBodies[0].replaceChildren(...rows);
  }

  /**
   * Inserts new events, latest on top. Nodes report them out of order. Existing entries stay in
   * place, so that screen readers do not repeat them.
   */
  news(view) {
    const list = byId("news");
    for (const { number, at, kind, description } of view.news) {
      if (number <= this.known) continue;
      this.known = number;
      const item = element("li", { "data-at": String(at) },
        element("time", {}, seconds(at)), element("span", { class: kind }, description));
      const older = Array.from(list.children).find((each) => Number(each.dataset.at) <= at);
      list.insertBefore(item, older ?? null);
    }
    while (list.children.length > 60) list.lastElementChild.remove();
  }

  verdicts({ held, failed, summary }) {
    const box = byId("verdicts");
    box.hidden = false;
    box.className = held ? "held" : "broken";
    if (failed) return byId("verdict").replaceChildren(element("p", {}, failed));
    const { counter, violated } = summary;
    const rows = Object.entries(summary.verdicts).map(([property, verdict]) => {
      const promised = !summary.not_promised.includes(property);
      const label = `${SIGNS[verdict] ?? ""} ${property} ${verdict}`;
      return promised ? element("li", { class: verdict }, label)
        : element("li", { class: "soft" }, `${label} (not promised)`);
    });
    const lines = [
      held ? "All promised properties hold." : "A promised property is violated.",
      `${count(summary.entries)} entries in ${summary.seconds} s, `
        + `${count(summary.entries_per_second)}/s. Counter ${count(counter.found)}, expected `
        + `${count(counter.expected)}: ${counter.lost} lost updates.`,
      ...violated.map((each) => `✗ ${each.property}: ${each.description}`),
      ...summary.notes,
    ];
    byId("verdict").replaceChildren(...lines.map((line) => element("p", {}, line)),
      element("ul", {}, ...rows));
    return null;
  }
}

/** Accessible to tests. */
window.live = new Live();
