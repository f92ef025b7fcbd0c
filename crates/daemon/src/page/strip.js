"use strict";
// Draws the last seconds as a space–time diagram.

const SHOWN_MS = 8000;
const ROW_HEIGHT = 44;
const GUTTER_WIDTH = 42;
/** Narrower diagrams show only election messages. */
const NARROW_WIDTH = 600;

class Strip {
  constructor(canvas) {
    this.canvas = canvas;
    this.view = null;
    const redraw = () => this.redraw();
    window.addEventListener("resize", redraw);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  }

  show(view) {
    this.view = view;
    this.redraw();
  }

  redraw() {
    if (!this.view) return;
    const { canvas, view } = this;
    const sharp = window.devicePixelRatio || 1;
    const [wide, high] = [canvas.clientWidth, view.processes.length * ROW_HEIGHT + 22];
    canvas.style.height = `${high}px`;
    canvas.width = Math.round(wide * sharp);
    canvas.height = Math.round(high * sharp);
    this.pen = canvas.getContext("2d");
    this.pen.scale(sharp, sharp);
    const style = getComputedStyle(document.documentElement);
    this.colour = (name) => style.getPropertyValue(`--${name}`).trim();
    this.wide = wide;
    this.begin = Math.max(view.now - SHOWN_MS, 0);
    this.axis(high);
    this.rows();
    for (const message of view.strip.messages) this.message(message);
    const order = ["leading", "stopped", "down", "waiting", "inside"];
    const conditions = [...view.strip.conditions];
    conditions.sort((a, b) => order.indexOf(a.condition) - order.indexOf(b.condition));
    for (const interval of conditions) this.condition(interval);
    canvas.setAttribute("aria-label", this.words());
  }

  x(time) {
    return GUTTER_WIDTH + ((time - this.begin) / SHOWN_MS) * (this.wide - GUTTER_WIDTH - 6);
  }

  y(process) {
    return (process - 1) * ROW_HEIGHT + ROW_HEIGHT / 2;
  }

  axis(high) {
    const { pen } = this;
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    const apart = this.wide < 600 ? 2000 : 1000;
    const first = Math.ceil(this.begin / apart) * apart;
    for (let time = first; time <= this.begin + SHOWN_MS; time += apart) {
      const x = this.x(time);
      pen.strokeStyle = this.colour("faint");
      this.line([[x, 0], [x, high - 18]], 1);
      pen.fillStyle = this.colour("soft");
      const isClear = x > GUTTER_WIDTH + 10 && x < this.wide - 14;
      if (isClear) pen.fillText(`${time / 1000} s`, x, high - 5);
    }
  }

  rows() {
    const { pen } = this;
    pen.textAlign = "left";
    pen.font = "bold 13px system-ui, sans-serif";
    for (const { process, life } of this.view.processes) {
      const y = this.y(process);
      pen.fillStyle = this.colour(life === "up" ? "ink" : "soft");
      pen.fillText(`P${process}`, 8, y + 5);
      pen.strokeStyle = this.colour("soft");
      this.line([[this.x(this.begin), y], [this.x(this.view.now), y]], 1);
    }
  }

  message({ from, to, layer, sent, arrived }) {
    const { pen } = this;
    if ((arrived ?? sent) < this.begin) return;
    const election = layer === "election";
    // In a narrow diagram thousands of messages would hide everything else.
    if (!election && this.wide < NARROW_WIDTH) return;
    const [start, y] = [this.x(sent), this.y(from)];
    pen.globalAlpha = election ? 1 : 0.55;
    pen.strokeStyle = this.colour(election ? "leads" : "soft");
    if (arrived === null) {
      pen.strokeStyle = this.colour("lost");
      pen.setLineDash([2, 3]);
      this.line([[start, y], [start + 4, (y + this.y(to)) / 2]], 2);
      pen.setLineDash([]);
    } else {
      if (election) pen.setLineDash([7, 3]);
      this.line([[start, y], [this.x(arrived), this.y(to)]], election ? 2 : 1);
      pen.setLineDash([]);
    }
    pen.globalAlpha = 1;
  }

  condition({ process, condition, from, until }) {
    const { pen } = this;
    const end = until ?? this.view.now;
    if (end < this.begin) return;
    const left = this.x(Math.max(from, this.begin));
    const width = Math.max(this.x(end) - left, 1.5);
    const y = this.y(process);
    if (condition === "inside") {
      pen.fillStyle = this.colour("inside");
      pen.fillRect(left, y - 7, width, 14);
    } else if (condition === "waiting") this.hatched(left, y - 5, width, 10);
    else if (condition === "leading") {
      pen.fillStyle = this.colour("leads");
      pen.fillRect(left, y - 14, width, 4);
    } else this.away(condition, left, width, y);
  }

  hatched(left, top, width, high) {
    const { pen } = this;
    pen.strokeStyle = this.colour("waits");
    pen.lineWidth = 1;
    pen.strokeRect(left, top, width, high);
    if (width < 6) return;
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, high);
    pen.clip();
    for (let x = left - high; x < left + width; x += 6) {
      this.line([[x, top + high], [x + high, top]], 1);
    }
    pen.restore();
  }

  /** Draws a crashed process as a cross and dashes, and a suspended one as two rails. */
  away(condition, left, width, y) {
    const { pen } = this;
    pen.fillStyle = this.colour("paper");
    pen.fillRect(left, y - 9, width, 18);
    if (condition === "stopped") {
      pen.strokeStyle = this.colour("soft");
      this.line([[left, y - 4], [left + width, y - 4]], 2);
      this.line([[left, y + 4], [left + width, y + 4]], 2);
      return;
    }
    pen.strokeStyle = this.colour("bad");
    pen.setLineDash([6, 5]);
    this.line([[left, y], [left + width, y]], 2);
    pen.setLineDash([]);
    this.line([[left - 5, y - 6], [left + 5, y + 6]], 2);
    this.line([[left + 5, y - 6], [left - 5, y + 6]], 2);
  }

  line(points, width) {
    const { pen } = this;
    pen.lineWidth = width;
    pen.beginPath();
    for (const [x, y] of points) pen.lineTo(x, y);
    pen.stroke();
  }

  /** Text alternative of the diagram. */
  words() {
    const states = this.view.processes.map(({ process, life, lock }) =>
      `P${process} ${life === "up" ? `is ${lock}` : life}`);
    return `Space–time diagram of the last ${SHOWN_MS / 1000} seconds. Now ${states.join(", ")}.`;
  }
}
