// Connects the parts of the page with user input.

/** Beyond this number of processes, only active ones are drawn at first. */
const MANY = 16;

class Viewer {
  constructor(trace) {
    this.trace = trace;
    this.states = new States(trace);
    this.logs = new Logs(trace, this.states);
    this.canvas = byId("picture");
    this.picture = new Picture(this.canvas, trace, this.states);
    this.overview = new Overview(trace, this.picture, () => this.redraw());
    this.panels = new Panels(trace, this.states, this.picture, {
      jump: (step) => this.jump(step),
      select: (step) => this.select(step),
      showKind: (kind, shown) => this.showKind(kind, shown),
      showProcess: (process, shown) => this.showProcess(process, shown),
    });
    this.selected = -1;
    this.watched = trace.n > 0 ? 0 : -1;
    this.now = trace.size > 0 ? 0 : -1;
    this.cone = null;
    this.playing = null;
    byId("scrubber").max = String(Math.max(0, this.panels.kept.length - 1));
    this.controls();
    this.pointer();
    this.keys();
    this.connectThemeButton();
    new ResizeObserver(() => this.resize()).observe(byId("stage"));
    this.resize();
    byId("idle").checked = trace.n > MANY && !byId("folding").hidden;
    if (byId("idle").checked) this.fold(true);
    this.picture.fit(true);
    this.update();
    this.open();
  }

  /** Starts at the event of the URL, `#event=10`, or at the first violation. */
  open() {
    const event = Number(/^#event=(\d+)$/.exec(location.hash)?.[1] ?? 0);
    const step = this.panels.kept[event - 1] ?? this.panels.violations()[0];
    if (step !== undefined) this.select(step, { announce: false });
  }

  resize() {
    const most = Math.max(260, Math.min(720, window.innerHeight * 0.66));
    if (this.picture.wide === this.canvas.clientWidth && this.most === most) return;
    this.most = most;
    this.picture.resize(most);
    if (this.picture.zoom) this.picture.clamp();
    this.redraw();
  }

  /** Schedules one redraw for any number of changes. */
  redraw() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = null;
      this.picture.draw(this);
      this.overview.draw(this.now);
    });
  }

  /** Selects a step: shows its details and the state of the run after it. */
  select(step, { announce = true } = {}) {
    this.selected = step;
    if (step >= 0) {
      this.now = step;
      if (this.trace.at[step] >= 0) this.watched = this.trace.at[step];
      this.picture.reveal(step);
    }
    this.recone();
    this.update(announce);
  }

  recone() {
    const wanted = byId("cone").checked && this.selected >= 0 && this.playing === null;
    this.cone = wanted ? this.states.cone(this.selected) : null;
  }

  update(announce = true) {
    const { panels, trace } = this;
    const place = Math.max(0, panels.place(this.now) - 1);
    byId("scrubber").value = String(place);
    const label = this.selected < 0 ? "nothing selected" : trace.timeOf(this.selected);
    byId("scrubber").setAttribute("aria-valuetext", `event ${place + 1}, ${label}`);
    const all = panels.kept.length;
    byId("where").textContent = `${Math.min(place + 1, all)} of ${all}`;
    panels.event(this.selected);
    panels.process(this.watched, this.now);
    this.logs.show(this.now);
    panels.events(this.selected);
    if (announce) {
      byId("announcement").textContent = this.selected < 0 ? ""
        : `${trace.timeOf(this.selected)}: ${trace.words(this.selected).join("; ")}`;
    }
    this.redraw();
  }

  /** Moves the selection by a number of filtered events. */
  moveSelection(by, how) {
    const { kept } = this.panels;
    if (kept.length === 0) return;
    const at = this.panels.place(this.selected < 0 ? (by > 0 ? -1 : this.now) : this.selected) - 1;
    const unseen = this.selected < 0 && by < 0 ? 1 : 0;
    this.select(kept[Math.min(Math.max(at + by + unseen, 0), kept.length - 1)], how);
  }

  jump(step) {
    this.stop();
    this.select(step);
    this.canvas.scrollIntoView({ block: "nearest" });
  }

  play() {
    if (this.playing !== null) return this.stop();
    const isAtEnd = () => this.panels.place(this.selected) >= this.panels.kept.length;
    if (this.selected < 0 || isAtEnd()) this.select(this.panels.kept[0] ?? -1);
    this.playing = setInterval(() => {
      // A filter may have hidden the selected event, or all events after it.
      if (isAtEnd()) this.stop();
      else this.moveSelection(1, { announce: false });
    }, 1000 / Number(byId("speed").value));
    this.updatePlayButton();
    return null;
  }

  stop() {
    if (this.playing === null) return;
    clearInterval(this.playing);
    this.playing = null;
    this.updatePlayButton();
  }

  /** Updates the label of the play button. */
  updatePlayButton() {
    const plays = this.playing !== null;
    byId("play").textContent = plays ? "⏸" : "▶";
    byId("play").setAttribute("aria-label", plays ? "Pause" : "Play");
    this.recone();
    this.redraw();
  }

  showKind(kind, shown) {
    if (shown) this.picture.kindsHidden.delete(kind);
    else this.picture.kindsHidden.add(kind);
    this.refilter();
  }

  showProcess(process, shown) {
    const others = this.picture.processes.filter((each) => each !== process);
    this.picture.processes = shown ? [...others, process].sort((a, b) => a - b) : others;
    this.picture.resize(this.most);
    this.refilter();
  }

  /** Shows or hides processes without events. */
  fold(folded) {
    const idle = new Set(this.trace.idle());
    for (const process of idle) {
      document.querySelector(`[data-process="${process}"]`).checked = !folded;
    }
    this.picture.processes = Array.from(document.querySelectorAll("[data-process]"))
      .filter((box) => box.checked).map((box) => Number(box.dataset.process));
    this.picture.resize(this.most);
    this.refilter();
  }

  refilter() {
    this.panels.refilter();
    byId("scrubber").max = String(Math.max(0, this.panels.kept.length - 1));
    if (this.selected >= 0 && !this.picture.shows(this.selected)) {
      this.selected = -1;
      this.recone();
    }
    this.update();
  }

  controls() {
    const click = (id, action) => byId(id).addEventListener("click", action);
    const { kept } = this.panels;
    click("first", () => this.select(this.panels.kept[0] ?? -1));
    click("last", () => this.select(this.panels.kept.at(-1) ?? -1));
    click("back", () => this.moveSelection(-1));
    click("forth", () => this.moveSelection(1));
    click("play", () => this.play());
    click("in", () => this.zoom(1.5));
    click("out", () => this.zoom(1 / 1.5));
    click("fit", () => this.fit());
    click("earlier", () => this.panels.events(this.selected, this.panels.page - 1));
    click("later", () => this.panels.events(this.selected, this.panels.page + 1));
    byId("scrubber").addEventListener("input", (event) => {
      this.select(this.panels.kept[Number(event.target.value)] ?? -1);
    });
    byId("speed").addEventListener("change", () => {
      if (this.playing !== null) {
        this.stop();
        this.play();
      }
    });
    byId("scale").value = this.trace.scale;
    byId("scale").addEventListener("change", (event) => {
      this.picture.scale(event.target.value);
      this.picture.fit(true);
      this.picture.reveal(this.selected);
      this.redraw();
    });
    byId("cone").addEventListener("change", () => {
      this.recone();
      this.redraw();
    });
    byId("idle").addEventListener("change", (event) => this.fold(event.target.checked));
    byId("events").addEventListener("keydown", (event) => this.listKey(event));
    if (kept.length === 0) byId("play").disabled = true;
  }

  listKey(event) {
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    if (event.key in moves) this.moveSelection(moves[event.key]);
    else if (event.key === "Home") this.select(this.panels.kept[0] ?? -1);
    else if (event.key === "End") this.select(this.panels.kept.at(-1) ?? -1);
    else if (event.key === "Enter") byId("selected").focus();
    else return;
    event.preventDefault();
  }

  zoom(factor, x) {
    this.picture.zoomAt(factor, x);
    this.redraw();
  }

  fit() {
    this.picture.fit();
    this.redraw();
  }

  pointer() {
    const { canvas, picture } = this;
    const down = new Map();
    let moved = 0;
    const point = (event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    canvas.addEventListener("pointerdown", (event) => {
      down.set(event.pointerId, point(event));
      canvas.setPointerCapture(event.pointerId);
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = down.get(event.pointerId);
      if (!before) return;
      const after = point(event);
      const other = [...down.keys()].find((id) => id !== event.pointerId);
      if (other === undefined) picture.pan(after.x - before.x, after.y - before.y);
      else {
        const still = down.get(other).x;
        const [wide, wider] = [before.x - still, after.x - still].map(Math.abs);
        picture.zoomAt(Math.max(wider, 8) / Math.max(wide, 8), (after.x + still) / 2);
      }
      moved += Math.abs(after.x - before.x) + Math.abs(after.y - before.y);
      down.set(event.pointerId, after);
      this.redraw();
    });
    const up = (event) => {
      const was = down.delete(event.pointerId);
      if (was && moved < 6 && event.type === "pointerup") this.click(point(event));
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const flat = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (flat) {
        picture.pan(-(event.deltaX || event.deltaY));
        this.redraw();
      } else this.zoom(Math.exp(-event.deltaY / 400), point(event).x);
    }, { passive: false });
  }

  /** Handles a click on an event, or on a process at a time. */
  click({ x, y }) {
    const { picture, trace } = this;
    this.stop();
    const step = picture.stepAt(x, y);
    if (step >= 0) return this.select(step);
    const process = picture.processAt(y);
    if (process < 0) return null;
    const own = trace.stepsOf.of(process);
    const before = upTo(own, picture.placeAt(Math.max(x, picture.gutter)),
      (each) => picture.index.place[each]);
    this.selected = -1;
    this.cone = null;
    this.watched = process;
    this.now = x < picture.gutter ? this.now : own[before - 1] ?? -1;
    this.update();
    return this.announceProcess();
  }

  keys() {
    this.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const action = this.action(event);
      if (!action) return;
      event.preventDefault();
      action();
    });
    window.addEventListener("resize", () => this.resize());
  }

  action({ key, shiftKey }) {
    const far = this.picture.room / 4;
    const moves = {
      ArrowLeft: [far, 0], ArrowRight: [-far, 0], ArrowUp: [0, 60], ArrowDown: [0, -60],
    };
    if (shiftKey && key in moves) {
      return () => {
        this.picture.pan(...moves[key]);
        this.redraw();
      };
    }
    return {
      ArrowLeft: () => this.moveSelection(-1),
      ArrowRight: () => this.moveSelection(1),
      ArrowUp: () => this.selectInNeighbour(-1),
      ArrowDown: () => this.selectInNeighbour(1),
      PageUp: () => this.moveSelection(-10),
      PageDown: () => this.moveSelection(10),
      Home: () => this.select(this.panels.kept[0] ?? -1),
      End: () => this.select(this.panels.kept.at(-1) ?? -1),
      Enter: () => byId("selected").focus(),
      " ": () => this.play(),
      "+": () => this.zoom(1.5),
      "=": () => this.zoom(1.5),
      "-": () => this.zoom(1 / 1.5),
      0: () => this.fit(),
      "[": () => this.selectIfAny(this.selected < 0 ? -1 : this.trace.cause(this.selected)),
      "]": () => this.selectIfAny(this.firstArrival()),
      p: () => this.announceProcess(),
      P: () => this.announceProcess(),
      v: () => this.nextViolation(),
      V: () => this.nextViolation(),
      Escape: () => this.select(-1),
    }[key];
  }

  /** Selects the nearest event of the process above or below. */
  selectInNeighbour(by) {
    const { picture, trace } = this;
    const row = picture.processes.indexOf(this.watched) + by;
    const process = picture.processes[Math.min(Math.max(row, 0), picture.processes.length - 1)];
    if (process === undefined) return;
    const { place } = picture.index;
    const here = this.now < 0 ? picture.index.first : place[this.now];
    let nearest = -1;
    for (const step of trace.stepsOf.of(process)) {
      if (!picture.shows(step)) continue;
      const far = Math.abs(place[step] - here);
      if (nearest < 0 || far < Math.abs(place[nearest] - here)) nearest = step;
    }
    if (nearest >= 0) this.select(nearest);
  }

  selectIfAny(step) {
    if (step >= 0) this.select(step);
  }

  /** Returns the arrival of the first message that the selected event sent; -1 if there is none. */
  firstArrival() {
    if (this.selected < 0) return -1;
    const { trace, picture } = this;
    const sent = Array.from(trace.sentBy.of(this.selected));
    const seen = sent.find((message) => trace.ended[message] >= 0 && picture.showsMessage(message));
    return seen === undefined ? -1 : trace.ended[seen];
  }

  /** Announces the state of the process for screen readers. */
  announceProcess() {
    const panel = byId("process");
    const terms = Array.from(panel.querySelectorAll("dt"), (term) =>
      `${term.textContent} ${term.nextElementSibling.textContent}`);
    const subject = panel.firstChild?.textContent ?? "";
    byId("announcement").textContent = [subject, terms.join("; ")].filter(Boolean).join(": ");
  }

  nextViolation() {
    const steps = this.panels.violations();
    const next = steps.find((step) => step > this.selected) ?? steps[0];
    if (next !== undefined) this.jump(next);
    else byId("announcement").textContent = "No property is violated in the records shown.";
  }

  /** Lets the user switch between light and dark. The system setting is the default. */
  connectThemeButton() {
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const root = document.documentElement;
    const recolour = () => {
      this.picture.recolour();
      this.redraw();
    };
    dark.addEventListener("change", recolour);
    byId("theme").addEventListener("click", () => {
      const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
      root.dataset.theme = now === "dark" ? "light" : "dark";
      recolour();
    });
  }
}

/** Interface for tests and other scripts. */
window.viewer = new Viewer(new Trace(JSON.parse(byId("trace").textContent)));
