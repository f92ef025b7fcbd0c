// Overview of the whole run: event density, violations, and the visible part.

const STRIP = 30;
/** Margin that keeps the first and last event visible within the frame. */
const MARGIN = 7;

class Overview {
  constructor(trace, picture, changed) {
    Object.assign(this, { trace, picture });
    this.canvas = byId("overview");
    this.context = this.canvas.getContext("2d");
    const go = (event) => {
      const box = this.canvas.getBoundingClientRect();
      this.go((event.clientX - box.left - MARGIN) / (box.width - 2 * MARGIN));
      changed();
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons !== 0) go(event);
    });
  }

  /** Scrolls the diagram to a position in the run, from 0 to 1. */
  go(part) {
    const { picture } = this;
    const { first, last } = picture.index;
    picture.left = first + part * (last - first) - picture.room / picture.zoom / 2;
    picture.clamp();
  }

  x(place) {
    const { first, last } = this.picture.index;
    const part = (place - first) / Math.max(last - first, 1e-9);
    return MARGIN + part * (this.wide - 2 * MARGIN);
  }

  draw(now) {
    const { context, picture, trace } = this;
    const { colours, index } = picture;
    this.wide = this.canvas.clientWidth;
    const dense = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.wide * dense);
    this.canvas.height = Math.round(STRIP * dense);
    context.setTransform(dense, 0, 0, dense, 0, 0);
    const counts = new Float64Array(Math.max(1, Math.ceil(this.wide / 3)));
    for (const place of index.place) {
      const column = Math.floor(this.x(place) / 3);
      counts[Math.min(Math.max(column, 0), counts.length - 1)]++;
    }
    const most = counts.reduce((one, other) => Math.max(one, other), 1);
    context.fillStyle = colours.soft;
    counts.forEach((count, column) => {
      const high = count === 0 ? 0 : 2 + (STRIP - 10) * Math.sqrt(count / most);
      context.fillRect(column * 3, STRIP - 3 - high, 2, high);
    });
    context.fillStyle = colours.lost;
    for (const { step } of trace.violationMarks) {
      context.fillRect(this.x(index.place[step]) - 2, 0, 5, STRIP);
    }
    context.fillStyle = colours.focus;
    if (now >= 0) context.fillRect(this.x(index.place[now]), 0, 1.5, STRIP);
    const until = picture.left + picture.room / picture.zoom;
    const left = Math.max(1, this.x(picture.left) - MARGIN + 1);
    const right = Math.min(this.wide - 1, this.x(until) + MARGIN - 1);
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.5;
    context.strokeRect(left, 1, Math.max(4, right - left), STRIP - 2);
  }
}
