// Diagram: draws its visible part on a canvas.

const AXIS = 34;
/**
 * Maximum number of arrows drawn individually. If there are more, thin lines represent all of them.
 */
const ARROWS = 1500;
/** Minimum average distance of individually drawn events, in pixels. */
const CLOSE = 4;
/** Space after the last event, in pixels. */
const AFTER = 40;
/** Maximum number of visible arrows with labels. */
const LABELS = 400;
const FADED = 0.16;
/**
 * Distance of a displaced step from the position of its time at which the displacement is
 * noticeable, in pixels.
 */
const SEEN = 12;

class Picture {
  constructor(canvas, trace, states) {
    Object.assign(this, { canvas, trace, states });
    this.context = canvas.getContext("2d");
    this.scales = {};
    for (const [name, place] of [
      ["time", trace.placed], ["rank", trace.rank], ["folded", trace.folded],
    ]) {
      this.scales[name] = this.indexed(place);
    }
    this.processes = Array.from({ length: trace.n }, (_, process) => process);
    this.kindsHidden = new Set();
    this.shift = 0;
    this.recolour();
    this.scale(trace.scale);
  }

  /** Builds the indexes for finding visible items on a scale. */
  indexed(place) {
    const { trace } = this;
    const at = (step, none) => (step >= 0 ? place[step] : none);
    const over = (count, ends) => {
      const [starts, until] = [new Float64Array(count), new Float64Array(count)];
      for (let which = 0; which < count; which++) [starts[which], until[which]] = ends(which);
      return new Intervals(starts, until);
    };
    let [first, last] = [Infinity, -Infinity];
    for (const each of place) {
      first = Math.min(first, each);
      last = Math.max(last, each);
    }
    if (first > last) [first, last] = [0, 1];
    return {
      place, first, last,
      steps: over(trace.size, (step) => [place[step], place[step]]),
      messages: over(trace.messages, (message) => {
        const sent = at(trace.sent[message], at(trace.ended[message], first));
        return [sent, Math.max(sent, at(trace.ended[message], sent))];
      }),
      spans: over(trace.spans, (span) => [
        at(trace.spanFrom[span], -Infinity), at(trace.spanUntil[span], Infinity),
      ]),
    };
  }

  recolour() {
    this.colours = palette();
    this.marks = new Marks(this.context, this.colours);
  }

  scale(name) {
    this.scaleName = name;
    this.index = this.scales[name];
  }

  /** Adapts the canvas to the size of the page. */
  resize(most) {
    const wide = this.canvas.clientWidth;
    const rows = this.processes.length;
    this.narrow = wide < 560;
    // Vertical swipes scroll the page, so the canvas must show all lines.
    if (this.narrow) most = Math.max(most, Math.min(AXIS + 12 + rows * 40, 8000));
    this.gutter = this.narrow ? 58 : 92;
    const row = Math.min(this.narrow ? 84 : 112, Math.max(34, (most - AXIS - 12) / rows));
    this.row = row;
    this.wide = wide;
    this.high = Math.round(Math.min(Math.max(most, 220), AXIS + 12 + rows * row));
    const dense = window.devicePixelRatio || 1;
    this.canvas.style.height = `${this.high}px`;
    this.canvas.width = Math.round(wide * dense);
    this.canvas.height = Math.round(this.high * dense);
    this.context.setTransform(dense, 0, 0, dense, 0, 0);
    this.shift = Math.max(0, Math.min(this.shift, this.overflow()));
  }

  overflow() {
    return AXIS + 12 + this.processes.length * this.row - this.high;
  }

  get room() {
    return Math.max(40, this.wide - this.gutter - 14 - AFTER);
  }

  /** Shows the whole run, or as much of its beginning as is readable. */
  fit(readable = false) {
    const { first, last } = this.index;
    const steps = this.trace.size / Math.max(1, this.processes.length);
    const least = this.room / Math.max(last - first, 1e-9);
    this.zoom = readable ? Math.max(least, (steps * 44) / Math.max(last - first, 1e-9)) : least;
    this.left = first;
    this.clamp();
  }

  clamp() {
    const { first, last } = this.index;
    const all = Math.max(last - first, 1e-9);
    this.zoom = Math.min(Math.max(this.zoom, this.room / all), 4e7 / all, 1e9);
    const spare = this.room / this.zoom;
    this.left = Math.min(Math.max(this.left, first), Math.max(first, last - spare));
  }

  zoomAt(factor, x = this.gutter + this.room / 2) {
    const place = this.placeAt(x);
    this.zoom *= factor;
    this.clamp();
    this.left = place - (x - this.gutter - 14) / this.zoom;
    this.clamp();
  }

  pan(dx, dy = 0) {
    this.left -= dx / this.zoom;
    this.shift = Math.max(0, Math.min(this.shift - dy, this.overflow()));
    this.clamp();
  }

  /** Scrolls until a step is visible. */
  reveal(step) {
    if (step < 0) return;
    const x = this.x(step);
    const edge = Math.min(80, this.room / 5);
    if (x < this.gutter + 14 || x > this.wide - 14) {
      this.left = this.index.place[step] - this.room / 2 / this.zoom;
    } else if (x > this.wide - edge) this.left += (x - this.wide + edge) / this.zoom;
    else if (x < this.gutter + edge) this.left -= (this.gutter + edge - x) / this.zoom;
    this.clamp();
    const row = this.processes.indexOf(this.trace.at[step]);
    if (row < 0 || this.overflow() <= 0) return;
    const [top, bottom] = [row * this.row, (row + 1) * this.row + AXIS + 12];
    this.shift = Math.min(Math.max(this.shift, bottom - this.high), top);
  }

  x(step) {
    return this.xOf(this.index.place[step]);
  }

  xOf(place) {
    return this.gutter + 14 + (place - this.left) * this.zoom;
  }

  placeAt(x) {
    return this.left + (x - this.gutter - 14) / this.zoom;
  }

  y(process) {
    const row = this.rows[process];
    return row < 0 ? NaN : AXIS + (row + 0.5) * this.row + 6 - this.shift;
  }

  get rows() {
    if (this.rowsOf !== this.processes) {
      this.rowsOf = this.processes;
      this.rowOf = new Int32Array(this.trace.n).fill(-1);
      this.processes.forEach((process, row) => (this.rowOf[process] = row));
    }
    return this.rowOf;
  }

  /** Returns true if a step passes the filters. */
  shows(step) {
    const { trace } = this;
    const at = trace.at[step];
    if (at >= 0 && this.rows[at] < 0) return false;
    const about = trace.about[step];
    return about < 0 || !this.kindsHidden.has(trace.kind[about]);
  }

  showsMessage(message) {
    const { trace, rows } = this;
    return rows[trace.from[message]] >= 0 && rows[trace.to[message]] >= 0
      && !this.kindsHidden.has(trace.kind[message]);
  }

  /** Returns the step drawn nearest to a point; -1 if none is near. */
  stepAt(x, y, reach = 14) {
    let [best, least] = [-1, reach];
    const { steps } = this.index;
    const [from, to] = steps.range(this.placeAt(x - reach), this.placeAt(x + reach));
    for (let place = from; place < to; place++) {
      const step = steps.order[place];
      if (!this.shows(step) || this.trace.at[step] < 0) continue;
      const far = Math.hypot(this.x(step) - x, this.y(this.trace.at[step]) - y);
      if (far <= least) [best, least] = [step, far];
    }
    return best;
  }

  /** Returns the process whose lifeline is at a height, if there is one. */
  processAt(y) {
    return this.processes[Math.floor((y - AXIS - 6 + this.shift) / this.row)] ?? -1;
  }

  /** Draws the diagram; `now` is the step up to which the run was played. */
  draw({ now, selected, cone, playing }) {
    Object.assign(this, { now, selected, cone, playing });
    const { context, colours } = this;
    context.globalAlpha = 1;
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, this.wide, this.high);
    this.from = this.placeAt(this.gutter - 60);
    this.to = this.placeAt(this.wide + 60);
    this.labels = new Room();
    // Texts, drawn after all lines.
    this.words = [];
    this.drawRegions();
    this.drawViolations();
    this.drawGrid();
    this.drawCuts();
    this.drawLanes();
    this.findMessages();
    if (this.many) this.drawThreads();
    this.drawSpans();
    this.keepCrownsClear();
    if (!this.many) this.drawMessages();
    this.drawSteps();
    context.globalAlpha = 1;
    for (const write of this.words) write();
    this.drawNow();
    context.globalAlpha = 1;
    this.drawAxis();
    this.drawNames();
  }

  /** Returns the opacity of an item that belongs to these steps. */
  strength(step, other = step) {
    if (this.playing && (step > this.now || other > this.now)) return FADED;
    if (!this.cone) return 1;
    const within = (each) => each < 0 || this.cone[each] !== 0;
    // An arrow from the past to the future of the selected event bypasses it.
    const across = this.cone[step] * this.cone[other] === 2;
    return within(step) && within(other) && !across ? 1 : FADED;
  }

  drawRegions() {
    const { context, colours, marks } = this;
    for (const { from, until, sides } of this.trace.regions) {
      const left = Math.max(this.gutter, from < 0 ? this.gutter : this.x(from));
      const right = Math.min(this.wide, until < 0 ? this.wide : this.x(until));
      if (right <= this.gutter || left >= this.wide) continue;
      sides.forEach((side, place) => {
        context.fillStyle = place % 2 === 0 ? colours.side0 : colours.side1;
        for (const process of side) {
          const y = this.y(process);
          if (!Number.isNaN(y)) {
            context.fillRect(left, y - this.row / 2, right - left, this.row);
          }
        }
      });
      for (const x of [left, right]) marks.line(x, AXIS, x, this.high, colours.soft, 1.2, [5, 4]);
    }
  }

  /** Draws a band over conflicting critical sections and a ring around the violating step. */
  drawViolations() {
    const { context, colours } = this;
    for (const { step, until, processes } of this.trace.violationMarks) {
      const left = Math.max(this.gutter, this.x(step));
      const right = Math.min(this.wide, until < 0 ? this.wide : this.x(until));
      context.fillStyle = colours.violation;
      for (const process of right > left ? processes : []) {
        const y = this.y(process);
        if (!Number.isNaN(y)) context.fillRect(left, y - this.row / 2, right - left, this.row);
      }
      const y = this.y(this.trace.at[step]);
      if (Number.isNaN(y) || this.x(step) < this.gutter) continue;
      context.strokeStyle = colours.bad;
      context.lineWidth = 2.4;
      context.beginPath();
      context.arc(this.x(step), y, 11, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  drawGrid() {
    for (const { x } of this.ticks()) {
      this.marks.line(x, AXIS, x, this.high, this.colours.faint, 1);
    }
  }

  /** Returns the axis marks of a scale that is not linear: at steps, with their times. */
  stepTicks() {
    const { trace } = this;
    const ticks = [];
    let last = -Infinity;
    const placeOf = (step) => this.index.place[step];
    for (let place = upTo(trace.inOrder, this.placeAt(this.gutter), placeOf);
      place < trace.size; place++) {
      const step = trace.inOrder[place];
      const x = this.x(step);
      if (x > this.wide) break;
      const label = String(Number(trace.time[step].toFixed(2)));
      if (x < last + (this.narrow ? 60 : 90) || label === ticks.at(-1)?.label) continue;
      last = x;
      ticks.push({ x, label });
    }
    return ticks;
  }

  /** Returns axis marks at round numbers. */
  ticks() {
    const { scaleName, trace } = this;
    // Are simultaneous steps drawn visibly apart?
    const apart = scaleName === "time" && trace.spread * this.zoom > SEEN;
    if (scaleName === "folded" || apart) return this.stepTicks();
    const least = (this.narrow ? 60 : 90) / this.zoom;
    const power = 10 ** Math.floor(Math.log10(least));
    let distance = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least);
    if (this.scaleName === "rank") distance = Math.max(1, Math.round(distance));
    const digits = Math.max(0, -Math.floor(Math.log10(distance) + 1e-9));
    const ticks = [];
    const right = this.placeAt(this.wide);
    const left = this.placeAt(this.gutter);
    for (let at = Math.ceil(left / distance) * distance; at < right; at += distance) {
      if (ticks.length > 60) break;
      ticks.push({ x: this.xOf(at), label: Math.abs(at).toFixed(digits) });
    }
    return ticks;
  }

  drawAxis() {
    const { context, colours, marks } = this;
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, this.wide, AXIS);
    marks.line(0, AXIS, this.wide, AXIS, colours.faint, 1);
    const name = this.scaleName === "rank" ? "rank" : this.trace.unit;
    marks.text(name, 8, AXIS / 2, SMALL, colours.soft, "left");
    for (const { x, label } of this.ticks()) {
      if (x < this.gutter || x > this.wide - 20) continue;
      marks.line(x, AXIS - 5, x, AXIS, colours.soft, 1);
      marks.text(label, x, AXIS / 2, SMALL, colours.soft);
    }
  }

  /** Draws the shortened pauses. */
  drawCuts() {
    if (this.scaleName !== "folded") return;
    const { context, colours, marks } = this;
    for (const { place, quiet } of this.trace.cuts) {
      const x = this.xOf(place);
      if (x < this.gutter + 8 || x > this.wide - 8) continue;
      context.fillStyle = colours.faint;
      context.fillRect(x - 4, AXIS, 8, this.high);
      const label = `… ${Number(quiet.toFixed(1))} ${this.trace.unit}`;
      const width = label.length * 6.1 + 4;
      if (x - width / 2 > this.gutter && x + width / 2 < this.wide
        && this.labels.take(x, this.high - 10, width, 13)) {
        marks.text(label, x, this.high - 10, SMALL, colours.soft);
      }
    }
  }

  drawLanes() {
    for (const process of this.processes) {
      const y = this.y(process);
      this.marks.line(this.gutter, y, this.wide, y, this.colours.soft, 1.2);
    }
  }

  drawSpans() {
    const { trace, context } = this;
    const latest = new Int32Array(trace.n * 6).fill(-1);
    this.index.spans.each(this.from, this.to, (span) => {
      const at = trace.spanAt[span];
      if (this.rows[at] < 0) return;
      const [from, until] = [trace.spanFrom[span], trace.spanUntil[span]];
      const x1 = from < 0 ? this.gutter : Math.max(this.gutter - 20, this.x(from));
      const x2 = until < 0 ? this.wide : Math.min(this.wide + 20, this.x(until));
      const key = at * 6 + trace.spanCondition[span];
      if (x2 - x1 < 1 && latest[key] === Math.round(x1)) return;
      latest[key] = Math.round(x1);
      context.globalAlpha = this.playing && from > this.now ? FADED : 1;
      this.drawSpan(trace.spanCondition[span], x1, x2, this.y(at), trace.spanTerm[span], from);
    });
    context.globalAlpha = 1;
  }

  drawSpan(condition, x1, x2, y, term, from) {
    const { colours, marks } = this;
    if (condition === CONDITION.waiting) {
      marks.bar(x1, x2, y, 12, colours.paper);
      marks.bar(x1, x2, y, 12, marks.hatch, colours.waits);
    } else if (condition === CONDITION.inside) {
      marks.bar(x1, x2, y, 14, colours.inside, colours.inside);
    } else if (condition === CONDITION.leading) {
      marks.line(x1, y - 11, x2, y - 11, colours.leads, 2.2);
      const x = Math.max(x1, this.gutter + 12);
      const label = `term ${term}`;
      const width = marks.width(label);
      if (x2 - x1 > 24 && term > 0 && x + width + 16 < this.wide
        && this.labels.take(x + 12 + width / 2, y - 21, width + 4, 13)) {
        const strength = this.context.globalAlpha;
        this.words.push(() => {
          this.context.globalAlpha = strength;
          marks.text(label, x + 12, y - 21, SMALL, colours.ink, "left");
          this.context.globalAlpha = 1;
        });
      }
      if (from < 0 || this.x(from) < this.gutter) {
        marks.shape(CROWN, x, y - 20, colours.crown, colours.leads);
      }
    } else if (condition === CONDITION.token) marks.line(x1, y + 9, x2, y + 9, colours.token, 4);
    else if (condition === CONDITION.down) {
      marks.bar(x1, x2, y, 6, colours.paper);
      marks.line(x1, y, x2, y, colours.soft, 2, [2, 5]);
    } else marks.bar(x1, x2, y, 10, colours.paper, colours.soft);
  }

  /** Reserves the areas of crowns, so that no label covers them. */
  keepCrownsClear() {
    for (const step of this.crowned) {
      const [x, y] = [this.x(step), this.y(this.trace.at[step])];
      const seen = x >= this.gutter && x <= this.wide && !Number.isNaN(y);
      if (seen) this.labels.take(x, y - 20, 18, 14);
    }
  }

  findMessages() {
    this.seen = [];
    this.index.messages.each(this.from, this.to, (message) => {
      if (this.showsMessage(message)) this.seen.push(message);
    });
    this.many = this.seen.length > ARROWS;
  }

  drawMessages() {
    for (const message of this.seen) this.drawMessage(message);
    if (this.seen.length <= LABELS) for (const message of this.seen) this.labelMessage(message);
    this.context.globalAlpha = 1;
  }

  /** Draws very many messages as thin lines in the background, with one stroke. */
  drawThreads() {
    const { context, colours } = this;
    const stride = Math.ceil(this.seen.length / ARROWS);
    context.strokeStyle = colours.soft;
    context.lineWidth = 0.5;
    context.globalAlpha = 0.45;
    context.beginPath();
    for (let place = 0; place < this.seen.length; place += stride) {
      const [x1, y1, x2, y2] = this.ends(this.seen[place]);
      context.moveTo(x1, y1);
      context.lineTo(x2, y2);
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  /** Returns the end points of an arrow. */
  ends(message) {
    const { trace } = this;
    const [sent, ended] = [trace.sent[message], trace.ended[message]];
    const [y1, y2] = [this.y(trace.from[message]), this.y(trace.to[message])];
    const reach = 34;
    if (ended < 0) {
      const x1 = this.x(sent);
      return [x1, y1, x1 + reach, y1 + Math.sign(y2 - y1) * reach];
    }
    const x2 = this.x(ended);
    if (sent < 0) return [x2 - reach, y2 + Math.sign(y1 - y2) * reach, x2, y2];
    const x1 = this.x(sent);
    if (trace.fate[message] !== FATE.lost) return [x1, y1, x2, y2];
    // A lost message ends half-way to the next line, where no other mark is.
    const far = this.row / 2 / Math.max(this.row, Math.abs(y2 - y1));
    const x = x1 + Math.min(Math.max((x2 - x1) * far, 18), this.row);
    return [x1, y1, x, y1 + (y2 - y1) * far];
  }

  drawMessage(message) {
    const { trace, marks, colours, context } = this;
    const [x1, y1, x2, y2] = this.ends(message);
    const [sent, ended] = [trace.sent[message], trace.ended[message]];
    context.globalAlpha = this.strength(sent < 0 ? ended : sent, ended < 0 ? sent : ended);
    const token = trace.token[message] === 1;
    const fate = trace.fate[message];
    const look = lookOf(trace.kind[message]);
    let [colour, width, dashes] = token
      ? [colours.token, 2.8, []] : [colours[look.colour], 1.3, DASHES[look.dash]];
    if (fate === FATE.lost) [colour, width, dashes] = [colours.lost, 1.8, [6, 4]];
    else if (fate === FATE.underWay) [colour, width, dashes] = [colours.soft, 1.3, [2, 3]];
    if (this.seen.length > LABELS) width = Math.min(width, 0.8);
    if (this.cone && context.globalAlpha === 1) width += 0.7;
    marks.line(x1, y1, x2, y2, colour, width, dashes);
    if (fate === FATE.lost) marks.cross(x2, y2, colours.lost);
    else {
      const angle = Math.atan2(y2 - y1, x2 - x1);
      const back = ended < 0 ? 0 : 4;
      marks.head(
        x2 - back * Math.cos(angle), y2 - back * Math.sin(angle), angle, colour, token ? 11 : 9,
      );
    }
  }

  labelMessage(message) {
    const { trace, marks, colours, context } = this;
    const [x1, y1, x2, y2] = this.ends(message);
    const label = trace.kinds[trace.kind[message]].name;
    const width = marks.width(label, FONT) + 4;
    const lost = trace.fate[message] === FATE.lost;
    if (!lost && Math.hypot(x2 - x1, y2 - y1) < width * 0.7) return;
    const [sent, ended] = [trace.sent[message], trace.ended[message]];
    const strength = this.strength(sent < 0 ? ended : sent, ended < 0 ? sent : ended);
    if (strength < 1) return;
    context.globalAlpha = strength;
    for (const part of lost ? [0.5, 1.35, 1.6] : [0.5, 0.38, 0.62, 0.28, 0.72]) {
      const [x, y] = [x1 + (x2 - x1) * part, y1 + (y2 - y1) * part];
      if (x - width / 2 < this.gutter || x + width / 2 > this.wide || y < AXIS + 8) continue;
      if (this.onLane(y)) continue;
      if (!this.labels.take(x, y, width, 15)) continue;
      const kind = colours[lookOf(trace.kind[message]).colour];
      marks.text(label, x, y, FONT, lost ? colours.lost : kind);
      return;
    }
  }

  /** Returns true if a text at this height would cover a lifeline. */
  onLane(y) {
    const beside = (y - AXIS - 6 + this.shift) / this.row;
    return Math.abs(beside - Math.floor(beside) - 0.5) * this.row < 15;
  }

  drawSteps() {
    const { trace, marks, context } = this;
    const { steps } = this.index;
    const [from, to] = steps.range(this.from, this.to);
    const latest = new Int32Array(trace.n).fill(-1);
    const labelled = to - from < 1200;
    const close = to - from > (this.wide / CLOSE) * this.processes.length;
    for (let place = from; place < to; place++) {
      const step = steps.order[place];
      const at = trace.at[step];
      if (!this.shows(step)) continue;
      const x = this.x(step);
      if (at < 0) {
        this.drawNetwork(step, x);
        continue;
      }
      const plain = trace.mark[step] <= MARK.emits && !this.states.suspicions[step];
      if (trace.mark[step] === MARK.loses || trace.mark[step] === MARK.duplicates) continue;
      const leads = this.crowned.has(step);
      if (plain && !leads && (close || latest[at] === Math.round(x))) continue;
      latest[at] = Math.round(x);
      context.globalAlpha = this.strength(step);
      marks.step(x, this.y(at), {
        mark: trace.mark[step], suspicion: this.states.suspicions[step], leads,
      });
      if (labelled && context.globalAlpha === 1) this.labelStep(step, x, this.y(at));
    }
  }

  /** The steps at which a process begins to lead. */
  get crowned() {
    if (!this.crownedSteps) {
      this.crownedSteps = new Set();
      for (let span = 0; span < this.trace.spans; span++) {
        const from = this.trace.spanFrom[span];
        const leads = this.trace.spanCondition[span] === CONDITION.leading;
        if (leads && from >= 0) this.crownedSteps.add(from);
      }
    }
    return this.crownedSteps;
  }

  labelStep(step, x, y) {
    const { trace, marks, colours } = this;
    const words = { [MARK.crashes]: "crashes", [MARK.recovers]: "recovers" };
    const label = words[trace.mark[step]] ?? trace.texts[trace.description[step]];
    if (!label) return;
    const short = label.length > 28 ? `${label.slice(0, 27)}…` : label;
    const width = marks.width(short) + 4;
    for (const below of [20, -18, 32, -31]) {
      // Avoids the line of the next process.
      if (this.row - Math.abs(below) < 11) continue;
      const middle = Math.max(x, this.gutter + width / 2 + 2);
      if (middle + width / 2 > this.wide || y + below > this.high - 6) continue;
      if (y + below < AXIS + 8) continue;
      if (!this.labels.take(middle, y + below, width, 13)) continue;
      this.words.push(() => marks.text(short, middle, y + below, SMALL, colours.soft));
      return;
    }
  }

  drawNetwork(step, x) {
    const { trace, marks, colours } = this;
    marks.line(x, AXIS, x, this.high, colours.soft, 1.2, [5, 4]);
    const label = trace.texts[trace.description[step]] ?? "";
    const width = label.length * 6.1 + 4;
    const middle = Math.min(Math.max(x, this.gutter + width / 2 + 2), this.wide - width / 2 - 2);
    if (this.labels.take(middle, AXIS + 10, width, 13)) {
      marks.text(label, middle, AXIS + 10, SMALL, colours.ink);
    }
  }

  drawNow() {
    const { now, selected, colours, marks, context } = this;
    context.globalAlpha = 1;
    if (now < 0) return;
    const x = this.x(now);
    if (x >= this.gutter) marks.line(x, AXIS, x, this.high, colours.focus, 1.2, [3, 3]);
    if (selected < 0 || this.trace.at[selected] < 0 || !this.shows(selected)) return;
    marks.circle(this.x(selected), this.y(this.trace.at[selected]), 9, null, colours.focus, 2.6);
  }

  /** Draws the names of the processes with their present state. */
  drawNames() {
    const { context, colours, marks } = this;
    context.fillStyle = colours.paper;
    context.fillRect(0, AXIS + 1, this.gutter, this.high);
    marks.line(this.gutter, AXIS, this.gutter, this.high, colours.faint, 1);
    context.save();
    context.beginPath();
    context.rect(0, AXIS + 1, this.wide, this.high);
    context.clip();
    for (const process of this.processes) {
      const y = this.y(process);
      if (y < AXIS - 20 || y > this.high + 20) continue;
      const state = this.states.lasting(process, this.now);
      marks.text(this.trace.name(process), 10, y - 7, BOLD, colours.ink, "left");
      const phase = { idle: "", waiting: "waits", inside: "inside", down: "down" }[state.phase];
      marks.text(phase, 10, y + 10, SMALL, colours.soft, "left");
      if (state.leads !== null) {
        marks.shape(CROWN, this.gutter - 16, y - 7, colours.crown, colours.leads);
      }
      if (state.token) marks.shape(GEM, this.gutter - 16, y + 10, colours.token, colours.paper);
    }
    context.restore();
  }
}
