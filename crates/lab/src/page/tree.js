// Histories: a list of all moments with their branches, and a map of the branches.

import { byId, element, updateChildren } from "./element.js";
import { Histories } from "./histories.js";

/** Height of a row, in pixels. */
const ROW = 24;
/** Distance between two branches, and below it the maximum width of all branches, in pixels. */
const LANE = 14;
const LANES = 112;
const NAMESPACE = "http://www.w3.org/2000/svg";

function drawn(name, attributes) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

export class Tree {
  /** Creates the list. `go` receives the number of the moment that the user selects. */
  constructor(go) {
    this.go = go;
    this.box = byId("tree");
    this.inner = element("div", { class: "all", role: "presentation" });
    this.lines = drawn("svg", { "aria-hidden": "true" });
    this.rows = element("div", { role: "group" });
    this.inner.append(this.lines, this.rows);
    this.box.append(this.inner);
    this.box.addEventListener("scroll", () => this.draw());
    this.box.addEventListener("keydown", (event) => this.key(event));
    byId("map").addEventListener("click", (event) => this.onMapClick(event));
    this.latest = new Map();
    new ResizeObserver(() => this.histories && this.drawMap()).observe(byId("map"));
  }

  show(view) {
    if (view.session !== this.session) this.latest.clear();
    this.session = view.session;
    this.histories = new Histories(view);
    const { all, lanes, path, row } = this.histories;
    for (const each of path) {
      const before = this.histories.parent(each);
      if (before !== undefined) this.latest.set(before, each);
    }
    const branches = lanes.length === 1 ? "one branch" : `${lanes.length} branches`;
    byId("tree-summary").textContent = `${all.length === 1 ? "One moment"
      : `${all.length} moments`}, ${branches}. The present moment is ${view.moment}.`;
    this.inner.style.height = `${all.length * ROW}px`;
    const top = row * ROW;
    if (top < this.box.scrollTop || top + ROW > this.box.scrollTop + this.box.clientHeight) {
      this.box.scrollTop = top - this.box.clientHeight / 2;
    }
    this.box.setAttribute("aria-activedescendant", `moment-${view.moment}`);
    this.draw();
    this.drawMap();
  }

  /** Draws the visible rows, some rows above and below them, and the row of the present moment. */
  draw() {
    if (!this.histories) return;
    const { all, lane, lanes, path, row: now } = this.histories;
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 8);
    const last = Math.min(all.length - 1, first + Math.ceil(this.box.clientHeight / ROW) + 16);
    const gap = Math.min(LANE, LANES / lanes.length);
    const wide = lanes.length * gap + 8;
    const made = [];
    for (let row = first; row <= last; row++) made.push(this.item(row, wide));
    if (now < first) made.unshift(this.item(now, wide));
    if (now > last) made.push(this.item(now, wide));
    updateChildren(this.rows, ...made);
    Object.entries({ width: wide, height: all.length * ROW }).forEach(([name, value]) =>
      this.lines.setAttribute(name, value));
    const at = (row) => [lane[row] * gap + 11, row * ROW + ROW / 2];
    const edges = [];
    const dots = [];
    for (let row = 1; row < all.length; row++) {
      const before = this.histories.parent(row);
      if (row < first || before > last) continue;
      const [[x1, y1], [x2, y2]] = [at(before), at(row)];
      const on = path.has(row) ? " path" : "";
      const bend = x1 === x2 ? `L${x2} ${y2}` : `C${x1} ${y1 + ROW} ${x2} ${y1} ${x2} ${y1 + ROW}`
        + `L${x2} ${y2}`;
      edges.push(drawn("path", { class: `edge${on}`, d: `M${x1} ${y1}${bend}` }));
    }
    for (let row = first; row <= last; row++) {
      const [x, y] = at(row);
      const kind = row === now ? "now" : path.has(row) ? "path" : "other";
      dots.push(drawn("circle", { class: `dot ${kind}`, cx: x, cy: y, r: row === now ? 6 : 4 }));
      if (all[row].violated) {
        dots.push(drawn("path", { class: "broken", d: `M${x - 5} ${y - 5}l10 10m0 -10l-10 10` }));
      }
    }
    edges.sort((one, two) => one.classList.contains("path") - two.classList.contains("path"));
    this.lines.replaceChildren(...edges, ...dots);
  }

  item(row, wide) {
    const { all, lane, path, row: now } = this.histories;
    const { moment, description, time, violated } = all[row];
    const item = element("div", {
      id: `moment-${moment}`, role: "treeitem", "data-moment": moment,
      class: row === now ? "now" : path.has(row) ? "path" : "other",
      "aria-level": lane[row] + 1, "aria-selected": String(row === now),
      style: `top:${row * ROW}px;padding-left:${wide}px`,
      title: `${Number(time.toFixed(3))}: ${description}`,
      onclick: () => this.go(moment),
    }, element("b", {}, String(moment)), violated ? " ✗ " : " ", description,
    row === now ? element("span", { class: "unseen" }, ", now") : "");
    return item;
  }

  /**
   * Draws the map of the branches at the available width. Hides the map if there is only one
   * branch.
   */
  drawMap() {
    const map = byId("map");
    const { all, lane, lanes, depth, path, row: now } = this.histories;
    map.toggleAttribute("hidden", lanes.length < 2);
    map.style.display = lanes.length < 2 ? "none" : "";
    if (lanes.length < 2) return;
    const wide = map.clientWidth;
    const gap = Math.min(16, 120 / lanes.length);
    const high = lanes.length * gap + 8;
    map.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    map.style.height = `${high}px`;
    const most = depth.reduce((one, two) => Math.max(one, two), 1);
    this.spot = (row) => [8 + (depth[row] * (wide - 16)) / most, 4 + gap / 2 + lane[row] * gap];
    const line = (rows, kind) => drawn("polyline", {
      class: `edge${kind}`, points: rows.map((row) => this.spot(row).join(",")).join(" "),
    });
    const branches = lanes.map(({ from, first, last }) =>
      line(from === undefined ? [first, last] : [from, first, last], ""));
    const onPath = [...path].sort((one, two) => depth[one] - depth[two]);
    const broken = all.flatMap((each, row) => {
      const before = this.histories.parent(row);
      if (!each.violated || (before !== undefined && all[before].violated)) return [];
      const [x, y] = this.spot(row);
      return [drawn("path", { class: "broken", d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` })];
    });
    const [x, y] = this.spot(now);
    map.replaceChildren(...branches, line(onPath, " path"), ...broken,
      drawn("circle", { class: "dot now", cx: x, cy: y, r: 5 }));
  }

  /** Goes to the moment nearest to a click on the map. */
  onMapClick(event) {
    const box = byId("map").getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = { far: Infinity };
    this.histories.all.forEach((each, row) => {
      const [left, top] = this.spot(row);
      const far = Math.abs(left - x) + 4 * Math.abs(top - y);
      if (far < best.far) best = { far, moment: each.moment };
    });
    this.go(best.moment);
  }

  key(event) {
    const { histories } = this;
    if (!histories || event.ctrlKey || event.metaKey || event.altKey) return;
    const { row } = histories;
    const children = () => histories.children(row);
    const to = {
      ArrowUp: () => histories.parent(row),
      ArrowDown: () => (this.latest.has(row) ? this.latest.get(row) : children()[0]),
      ArrowLeft: () => histories.beside(-1),
      ArrowRight: () => histories.beside(1),
      Home: () => 0,
      End: () => histories.lanes[histories.lane[row]].last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const found = to();
    if (found !== undefined && found !== row) this.go(histories.all[found].moment);
  }
}
