// Positions of processes and messages in the picture, independent of the DOM. Positions are
// centers, in pixels.

/**
 * Returns the width in pixels of a process in a picture that is `wide` pixels wide and shows n
 * processes.
 */
export function nodeWidth(n, wide) {
  return Math.min(n > 10 ? 70 : 104, Math.floor(wide / (n > 5 ? 5.2 : 4)));
}

/**
 * Returns the positions of n processes, and the height of the picture. If the layout is a tree, a
 * star, a grid or a list of positions, and no processes overlap, the positions follow it.
 * Otherwise, two processes form a row, and more form a ring. If there are too many for a ring, they
 * form rows with `room` pixels below each process.
 */
export function places(n, wide, node, { form, links, at } = {}, room = 0) {
  const own = n > 2 && { tree, star, grid, placed }[form]?.(n, wide, node, links, at);
  return own && !own.at.some((one, place) => own.at.slice(place + 1).some((two) =>
    crowds(one, two, node))) ? own : around(n, wide, node, room);
}

/** Returns true if two processes at these positions overlap or almost touch. */
const crowds = (one, two, node) => Math.abs(one.x - two.x) < node.wide + 4
  && Math.abs(one.y - two.y) < node.high + 4;

/**
 * Places each process below its parent. Leaves are side by side, and a parent is in the middle
 * above its children.
 */
function tree(n, wide, node, links) {
  const children = Array.from({ length: n }, () => []);
  for (const [parent, child] of links) children[parent - 1].push(child - 1);
  const at = Array.from({ length: n });
  let leaves = 0;
  const lay = (process, depth) => {
    const below = children[process].map((child) => lay(child, depth + 1));
    const x = below.length > 0 ? (below[0] + below.at(-1)) / 2 : leaves++;
    at[process] = { x, depth };
    return x;
  };
  lay(0, 0);
  const step = Math.max(node.high + 44, 120);
  const deep = Math.max(...at.map(({ depth }) => depth));
  const across = wide / leaves;
  return {
    high: Math.max(220, (deep + 1) * step),
    ring: false,
    at: at.map(({ x, depth }) => ({ x: (x + 0.5) * across, y: (depth + 0.5) * step })),
  };
}

/**
 * Places one process in the center of all others. Returns null if there are fewer than four
 * processes, or if the others do not form a ring.
 */
function star(n, wide, node, links) {
  const centre = links[0][0] - 1;
  if (n < 4) return null;
  const others = around(n - 1, wide, node);
  if (!others.ring) return null;
  const at = others.at.toSpliced(centre, 0, { x: wide / 2, y: others.high / 2 });
  return { ...others, ring: false, at };
}

/** Places the processes in rows. All rows but the last have the same length. */
function grid(n, wide, node) {
  const columns = Math.ceil(Math.sqrt(n));
  const [across, down] = [wide / columns, Math.max(node.high + 44, 120)];
  const at = Array.from({ length: n }, (_, place) => ({
    x: across * (place % columns + 0.5), y: down * (Math.floor(place / columns) + 0.5),
  }));
  return { high: down * Math.ceil(n / columns), ring: false, at };
}

/**
 * Places the processes at their positions in the unit square. Makes the picture higher, up to a
 * limit, until no process covers another.
 */
function placed(n, wide, node, links, positions) {
  const across = wide - node.wide - 12;
  const inside = (high) => positions.map(([x, y]) => ({
    x: node.wide / 2 + 6 + x * across, y: node.high / 2 + 17 + y * (high - node.high - 34),
  }));
  const flat = positions.every(([, y]) => y === positions[0][1]);
  const covers = (at) => at.some((one, place) => at.slice(place + 1).some((two) =>
    crowds(one, two, node)));
  let high = flat ? 220 : Math.min(760, Math.max(330, n * 30));
  while (!flat && high < 1400 && covers(inside(high))) high += 60;
  return { high, ring: false, at: inside(high) };
}

/**
 * Places two processes in a row, and more on a ring. If a ring would be too crowded, places the
 * processes in rows.
 */
function around(n, wide, node, room = 0) {
  const middle = { x: wide / 2, y: 110 };
  if (n === 1) return { high: 220, ring: false, at: [middle] };
  const rx = wide / 2 - node.wide / 2 - 6;
  if (n === 2) {
    return { high: 220, ring: false, at: [{ ...middle, x: wide / 2 - rx },
      { ...middle, x: wide / 2 + rx }] };
  }
  const least = n <= 4 ? 330 : wide < 520 ? 540 : 430;
  const high = Math.min(760, Math.max(least, n * 36));
  const ry = high / 2 - node.high / 2 - 6;
  const angles = Array.from({ length: n }, (_, place) => (2 * Math.PI * place) / n - Math.PI / 2);
  const lowest = Math.max(...angles.map(Math.sin));
  const at = angles.map((angle) => ({
    x: wide / 2 + rx * Math.cos(angle),
    y: high / 2 + ry * (2 * (Math.sin(angle) + 1) / (lowest + 1) - 1),
  }));
  const crowded = at.some((one, place) => crowds(one, at[(place + 1) % n], node));
  return crowded ? rows(n, wide, node, room) : { high, ring: true, at };
}

function rows(n, wide, node, room) {
  const columns = Math.max(1, Math.floor(wide / (node.wide + 24)));
  const [across, down] = [wide / columns, node.high + Math.max(34, room + 12)];
  const at = Array.from({ length: n }, (_, place) => ({
    x: across * (place % columns) + across / 2,
    y: down * Math.floor(place / columns) + node.high / 2 + 17,
  }));
  return { high: down * Math.ceil(n / columns) + 17, ring: false, at };
}

/**
 * Returns the curve along which messages travel from one position to another. Messages of the
 * opposite direction have another curve.
 */
export function link(from, to) {
  if (from.x === to.x && from.y === to.y) {
    return { from, by: { x: from.x + 90, y: from.y - 90 }, to };
  }
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const far = Math.hypot(dx, dy);
  const bend = Math.min(46, far / 5);
  const by = {
    x: (from.x + to.x) / 2 - (dy / far) * bend,
    y: (from.y + to.y) / 2 + (dx / far) * bend,
  };
  return { from, by, to };
}

/** Returns the point of a curve at `part`, from 0 for its beginning to 1 for its end. */
export function along({ from, by, to }, part) {
  const rest = 1 - part;
  const mix = (axis) => rest * rest * from[axis] + 2 * rest * part * by[axis]
    + part * part * to[axis];
  return { x: mix("x"), y: mix("y") };
}

/** Returns the largest `part` at which a curve is still outside the process at its end. */
export function reach(curve, node) {
  for (let part = 1; part > 0; part -= 0.01) {
    const at = along(curve, part);
    const inside = Math.abs(at.x - curve.to.x) < node.wide / 2 + 3
      && Math.abs(at.y - curve.to.y) < node.high / 2 + 3;
    if (!inside) return part;
  }
  return 1;
}

const PARTS = Array.from({ length: 45 }, (_, step) => 0.06 + 0.02 * step);
const ASIDE = [0, 14, -14, 28, -28, 46, -46, 70, -70];

const meet = (one, two) => Math.abs(one.x - two.x) < (one.wide + two.wide) / 2 + 2
  && Math.abs(one.y - two.y) < (one.high + two.high) / 2 + 2;

/**
 * Returns a free position for the box of a message, on its curve or beside it. The position is as
 * close as possible to the wanted one, `box.part`. `from` is the point of the curve to which the
 * position belongs. If no position is free, returns the wanted one.
 */
export function freePosition(box, taken, wide, high) {
  const parts = PARTS.toSorted((one, two) => Math.abs(one - box.part) - Math.abs(two - box.part));
  const { from, to } = box.curve;
  const far = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  for (const aside of ASIDE) {
    for (const part of parts) {
      const at = along(box.curve, part);
      const x = at.x - ((to.y - from.y) / far) * aside;
      const y = at.y + ((to.x - from.x) / far) * aside;
      const within = x > box.wide / 2 && x < wide - box.wide / 2
        && y > box.high / 2 && y < high - box.high / 2;
      const there = { ...box, x, y };
      if (within && !taken.some((other) => meet(there, other))) return { x, y, from: at };
    }
  }
  const at = along(box.curve, box.part);
  const inside = (place, half, all) => Math.min(Math.max(place, half + 2), all - half - 2);
  return { x: inside(at.x, box.wide / 2, wide), y: inside(at.y, box.high / 2, high), from: at };
}
