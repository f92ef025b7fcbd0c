// Shapes of the diagram. Each meaning has its own shape, so that color is not needed.

const FONT = "12px system-ui, Helvetica, Arial, 'Liberation Sans', sans-serif";
const SMALL = "11px system-ui, Helvetica, Arial, 'Liberation Sans', sans-serif";
const BOLD = "bold 14px system-ui, Helvetica, Arial, 'Liberation Sans', sans-serif";
const CROWN = [[-7, 5], [-8, -4], [-3, 0], [0, -6], [3, 0], [8, -4], [7, 5]];
const GEM = [[0, -6], [6, 0], [0, 6], [-6, 0]];
const TRIANGLE = [[0, -10], [9, 7], [-9, 7]];
const COLOURS = [
  "paper", "ink", "soft", "faint", "inside", "waits", "leads", "crown", "token", "lost",
  "side0", "side1", "focus", "violation", "bad", "kind1", "kind2", "kind3", "kind4", "kind5",
];
/** Colors of message kinds, used in turn; each arrow also has its name. */
const KINDS = ["ink", "kind1", "kind2", "kind3", "kind4", "kind5"];
/** Dash patterns, longer than those of lost and pending messages. */
const DASHES = [[], [14, 3], [14, 3, 3, 3], [24, 4], [14, 3, 3, 3, 3, 3], [24, 3, 8, 3]];

/**
 * Returns the color and the dash pattern of a kind. Kinds with the same color have different
 * patterns.
 */
function lookOf(kind) {
  const colour = kind % KINDS.length;
  const dash = (colour + Math.floor(kind / KINDS.length)) % DASHES.length;
  return { colour: KINDS[colour], dash };
}

/** Reads the present colors of the page. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(
    COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  );
}

/** Draws marks on a canvas. */
class Marks {
  constructor(context, colours) {
    this.context = context;
    this.colours = colours;
    this.hatch = this.hatched(colours.waits);
  }

  hatched(colour) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const context = tile.getContext("2d");
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.beginPath();
    for (const shift of [-8, 0, 8]) {
      context.moveTo(shift, 8);
      context.lineTo(shift + 8, 0);
    }
    context.stroke();
    return this.context.createPattern(tile, "repeat");
  }

  shape(points, x, y, fill, stroke) {
    const { context } = this;
    context.beginPath();
    points.forEach(([dx, dy], place) => {
      if (place === 0) context.moveTo(x + dx, y + dy);
      else context.lineTo(x + dx, y + dy);
    });
    context.closePath();
    this.paint(fill, stroke, 1.4);
  }

  circle(x, y, radius, fill, stroke, width = 1.5) {
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.paint(fill, stroke, width);
  }

  paint(fill, stroke, width) {
    const { context } = this;
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (stroke) {
      context.strokeStyle = stroke;
      context.lineWidth = width;
      context.stroke();
    }
  }

  line(x1, y1, x2, y2, colour, width, dashes = []) {
    const { context } = this;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash(dashes);
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
    context.setLineDash([]);
  }

  bar(x1, x2, y, thick, fill, stroke) {
    const { context } = this;
    context.beginPath();
    context.rect(x1, y - thick / 2, Math.max(1, x2 - x1), thick);
    this.paint(fill, stroke, 1.4);
  }

  cross(x, y, colour) {
    this.line(x - 5, y - 5, x + 5, y + 5, colour, 2.6);
    this.line(x - 5, y + 5, x + 5, y - 5, colour, 2.6);
  }

  head(x, y, angle, colour, size) {
    const { context } = this;
    const corner = (turn, length) => [
      x + length * Math.cos(angle + turn), y + length * Math.sin(angle + turn),
    ];
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(...corner(Math.PI - 0.4, size));
    context.lineTo(...corner(Math.PI, size * 0.65));
    context.lineTo(...corner(Math.PI + 0.4, size));
    context.closePath();
    context.fillStyle = colour;
    context.fill();
  }

  /** Returns the width of a text. */
  width(label, font = SMALL) {
    this.context.font = font;
    return this.context.measureText(label).width;
  }

  /** Draws a text with an outline in the background color, centered by default. */
  text(label, x, y, font = FONT, colour = this.colours.ink, align = "center") {
    const { context } = this;
    context.font = font;
    context.textAlign = align;
    context.textBaseline = "middle";
    // The outline follows the letters and leaves a gap between words.
    const { width } = context.measureText(label);
    context.fillStyle = this.colours.paper;
    context.fillRect(align === "left" ? x : x - width / 2, y - 6, width, 12);
    context.lineJoin = "round";
    context.strokeStyle = this.colours.paper;
    context.lineWidth = 4;
    context.strokeText(label, x, y);
    context.fillStyle = colour;
    context.fillText(label, x, y);
  }

  /** Draws the mark of a step. */
  step(x, y, { mark, suspicion, leads }) {
    const { colours } = this;
    if (leads) this.shape(CROWN, x, y - 20, colours.crown, colours.leads);
    if (suspicion) {
      this.shape(TRIANGLE, x, y, suspicion === 1 ? colours.ink : colours.paper, colours.ink);
      const sign = suspicion === 1 ? colours.paper : colours.ink;
      this.context.font = "bold 11px sans-serif";
      this.context.textAlign = "center";
      this.context.fillStyle = sign;
      this.context.fillText(suspicion === 1 ? "?" : "✓", x, y + 1.5);
    } else if (mark === MARK.crashes) this.cross(x, y, colours.ink);
    else if (mark === MARK.recovers) this.circle(x, y, 5, colours.paper, colours.ink, 2);
    else if (mark === MARK.note) this.bar(x - 3, x + 3, y, 6, colours.paper, colours.ink);
    else this.circle(x, y, 4, colours.ink, colours.paper);
  }
}

/** Keeps texts from overlapping. */
class Room {
  constructor() {
    this.taken = new Map();
  }

  /** Reserves the area of a text if it is free. Returns true if it was free. */
  take(x, y, width, height) {
    const area = [x - width / 2, y - height / 2, x + width / 2, y + height / 2];
    const cells = [];
    for (let column = Math.floor(area[0] / 64); column <= Math.floor(area[2] / 64); column++) {
      const others = this.taken.get(column) ?? [];
      const meets = ([left, top, right, bottom]) =>
        left < area[2] && area[0] < right && top < area[3] && area[1] < bottom;
      if (others.some(meets)) return false;
      cells.push([column, others]);
    }
    for (const [column, others] of cells) {
      others.push(area);
      this.taken.set(column, others);
    }
    return true;
  }
}
