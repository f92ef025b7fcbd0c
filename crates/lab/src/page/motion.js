// Motion of messages between two moments. A new message leaves its sender, a message under way
// moves on, and a received message reaches its receiver. Only transforms and opacity change, so
// that the browser draws each frame without a new layout.

import { along } from "./geometry.js";

/** Duration of the motion after a step that the user takes, in milliseconds. */
const STEP = 600;
/**
 * Minimum duration of a motion, in milliseconds. If the steps follow faster, messages do not move.
 */
const SHORTEST = 60;
/**
 * Part of the duration of a motion in which received messages arrive. New messages leave after
 * that.
 */
const ARRIVAL = 0.55;
/** Number of segments that approximate a curved way. */
const POINTS = 8;

const still = window.matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Returns keyframes for a motion along a curve, between its parts `from` and `to`. The keyframes
 * are offsets from the position (`x`, `y`).
 */
function wayFrames(curve, from, to, { x, y }) {
  return Array.from({ length: POINTS + 1 }, (_, point) => {
    const at = along(curve, from + ((to - from) * point) / POINTS);
    return { translate: `${at.x - x}px ${at.y - y}px` };
  });
}

export class Motion {
  constructor(within) {
    this.within = within;
    /** Boxes of the messages in the last view, by the id of the message. */
    this.boxes = new Map();
    this.last = null;
    this.pace = STEP;
  }

  /**
   * Sets the time between two steps of a running session. Null means that the user takes the steps.
   */
  setPace(milliseconds) {
    this.pace = milliseconds === null ? STEP : Math.min(STEP, milliseconds * 0.95);
  }

  /**
   * Moves the messages from the last view to this one. `boxes` are the boxes of this view, and
   * `buttonOf` returns the button of a box. Nothing moves unless the view shows the next moment.
   */
  show(view, boxes, buttonOf) {
    const before = this.boxes;
    const { last } = this;
    this.boxes = new Map(boxes.map((box) => [box.message.message,
      { ...box, button: buttonOf(box) }]));
    this.last = { session: view.session, moment: view.moment };
    if (!isNextMoment(view, last) || still.matches || this.pace < SHORTEST) return;
    for (const [message, box] of this.boxes) {
      const was = before.get(message);
      if (was === undefined) this.leave(box);
      else this.moveOn(box, was);
    }
    const isLost = /\blos[et]|\bdrop/.test(view.tree[view.moment].description);
    for (const [message, box] of before) {
      if (!this.boxes.has(message)) this.arrive(box, isLost);
    }
  }

  /** Moves a new message away from its sender, after the received messages have arrived. */
  leave({ button, curve, x, y, part }) {
    const frames = wayFrames(curve, 0, part, { x, y });
    frames[POINTS] = { translate: "0 0" };
    button.animate(frames, { duration: this.pace * (1 - ARRIVAL), delay: this.pace * ARRIVAL,
      easing: "ease-out", fill: "backwards" });
  }

  moveOn({ button, x, y }, was) {
    if (x === was.x && y === was.y) return;
    const frames = [{ translate: `${was.x - x}px ${was.y - y}px` }, { translate: "0 0" }];
    button.animate(frames, { duration: this.pace, easing: "linear" });
  }

  /**
   * Moves a received message to its receiver. If `isLost` is true, lets the message fall instead.
   */
  arrive({ button, curve, x, y, part }, isLost) {
    const ghost = button.cloneNode(true);
    ghost.className = `${button.className} ghost`;
    ghost.tabIndex = -1;
    ghost.setAttribute("aria-hidden", "true");
    for (const name of ["data-message", "data-to", "title", "aria-label", "aria-haspopup"]) {
      ghost.removeAttribute(name);
    }
    this.within.append(ghost);
    const frames = isLost
      ? [{ translate: "0 0", opacity: 1 }, { translate: "0 40px", opacity: 0 }]
      : [...wayFrames(curve, part, 1, { x, y })];
    const falling = ghost.animate(frames, { duration: this.pace * ARRIVAL, easing: "ease-in" });
    falling.onfinish = () => ghost.remove();
    falling.oncancel = () => ghost.remove();
  }
}

/** Returns true if a view shows a moment that directly follows the moment of the last view. */
function isNextMoment({ session, moment, tree }, last) {
  return last !== null && session === last.session && moment !== last.moment
    && tree[moment]?.parent === last.moment;
}
