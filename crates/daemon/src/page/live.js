"use strict";
// What the page does when it is told something, or is told no more.

const SIGNS = { holds: "✓", violated: "✗", incomplete: "…" };

const name = (process) => `P${process}`;
const count = (number) => Math.round(number).toLocaleString("en");
const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;
/** A fencing token, which may be broken behind the dot of TERM.COUNT and nowhere else. */
const token = (fence) => fence.split(".").flatMap((part, place) =>
  (place === 0 ? [part] : [".", element("wbr", {}), part]));
const lasting = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : seconds(ms));

class Live {
  constructor() {
    this.strip = new Strip(byId("strip"));
    this.known = 0;
    this.ended = false;
    this.told = null;
    this.connect();
  }

  /** The browser connects again by itself; all that is needed to go on comes at once. */
  connect() {
    this.source = new EventSource(`/api/live${location.search}`);
    this.source.onmessage = (event) => {
      if (event.data !== "") this.tell(JSON.parse(event.data));
    };
    this.source.onerror = () => this.lost();
  }

  lost() {
    if (this.ended) return;
    const closed = this.source.readyState === EventSource.CLOSED;
    this.status("lost", "the connection is lost; what is shown is old. Trying again …");
    if (!closed) return;
    window.setTimeout(() => this.connect(), 2000);
    this.source.close();
  }

  status(look, says) {
    const status = byId("status");
    if (status.textContent !== says) status.textContent = says;
    status.className = look;
  }

  tell({ about, view, verdicts, last }) {
    this.told = { about, view, verdicts, last };
    // Another run, or another boot of the node: its news are counted anew.
    const newest = view.news.at(-1)?.number ?? 0;
    if (newest < this.known) {
      this.known = 0;
      byId("news").replaceChildren();
    }
    this.ended = last;
    if (last) {
      this.source.close();
      this.status("over", about.own ? "the node has ended" : "the run is over");
    } else if (view.over) this.status("over", "the run is over; its traces are being judged");
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
    const whose = own ? ` This page shows what ${name(own)} knows.` : "";
    byId("about").textContent = `${size} nodes${elected}.${whose}`;
  }

  tiles(view) {
    const fill = (id, says, ...more) => byId(id).replaceChildren(
      ...[says].flat(), ...(more.some((each) => each !== "") ? [element("small", {}, ...more)] : []));
    fill("leader", view.leader ? name(view.leader[0]) : "nobody",
      view.leader ? `term ${view.leader[1]}` : "no live leader is known");
    const up = view.processes.filter(({ life }) => life === "up" || life === "stopped");
    const inside = up.filter(({ lock }) => lock === "inside");
    fill("inside", inside.map((each) => name(each.process)).join(", ") || "nobody",
      ...inside.flatMap((each, place) => [
        place === 0 ? "fence " : "; fence ", ...token(each.fence), `, ${lasting(each.for_ms)}`]));
    const waiting = up.filter(({ lock }) => lock === "waiting");
    waiting.sort((a, b) => b.for_ms - a.for_ms);
    fill("waiting", waiting.map((each) => name(each.process)).join(", ") || "nobody",
      waiting.length > 0 ? `the longest ${lasting(waiting[0].for_ms)}` : "");
    const rate = (id, each, all) => (view.over || this.ended ? fill(id, count(all), "in all")
      : fill(id, `${count(each)}/s`, `${count(all)} in all`));
    rate("entries", view.entries_per_second, view.entries);
    rate("messages", view.messages_per_second, view.messages);
    fill("fence", view.fence ? token(view.fence[0]) : "none",
      view.fence ? `of ${name(view.fence[1])}` : "");
    fill("refused", count(view.refused), view.last_refused
      ? `${view.last_refused[0]}, at ${seconds(view.last_refused[1])}` : "");
  }

  nodes(view) {
    const rows = view.processes.map((each) => {
      const cell = (called, says, more = {}) =>
        element("td", { "data-name": called, ...more }, says);
      const held = { inside: "inside-now", waiting: "waits-now" }[each.lock] ?? "";
      const since = each.for_ms === null || each.life !== "up" ? "" : ` ${lasting(each.for_ms)}`;
      const lock = each.life === "down" || each.life === "unknown" ? "–" : each.lock + since;
      const leader = each.leader ? `${name(each.leader[0])}, term ${each.leader[1]}` : "nobody";
      const rate = (called, number, all) => element("td",
        { class: "number", "data-name": called }, `${count(number)} `,
        element("small", {}, `of ${count(all)}`));
      const gone = each.life === "down" || each.life === "unknown";
      return element("tr", { class: each.life },
        element("th", { scope: "row" }, name(each.process)),
        cell("is", each.life), cell("lock", lock, { class: held }),
        cell("leader", gone ? "–" : leader),
        cell("suspects", gone ? "–" : each.suspects.map(name).join(" ") || "nobody"),
        rate("entries/s", each.entries_per_second, each.entries),
        rate("messages/s", each.messages_per_second, each.messages));
    });
    byId("nodes").tBodies[0].replaceChildren(...rows);
  }

  /**
   * The newest on top, though nodes tell of it one after the other. What is there already stays,
   * so that it is not read out again.
   */
  news(view) {
    const list = byId("news");
    for (const { number, at, kind, says } of view.news) {
      if (number <= this.known) continue;
      this.known = number;
      const item = element("li", { "data-at": String(at) },
        element("time", {}, seconds(at)), element("span", { class: kind }, says));
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
      const says = `${SIGNS[verdict] ?? ""} ${property} ${verdict}`;
      return promised ? element("li", { class: verdict }, says)
        : element("li", { class: "soft" }, `${says} (not promised)`);
    });
    const lines = [
      held ? "Everything that is promised held." : "Something that is promised did not hold.",
      `${count(summary.entries)} entries in ${summary.seconds} s, `
        + `${count(summary.entries_per_second)}/s. The counter is ${count(counter.found)} of `
        + `${count(counter.expected)}: ${counter.lost} updates lost.`,
      ...violated.map((each) => `✗ ${each.property}: ${each.says}`),
      ...summary.notes,
    ];
    byId("verdict").replaceChildren(...lines.map((line) => element("p", {}, line)),
      element("ul", {}, ...rows));
    return null;
  }
}

/** What tests may use. */
window.live = new Live();
