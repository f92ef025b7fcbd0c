// Live picture of a run: processes, and messages on their way between processes.

import { byId, element, updateChildren } from "./element.js";
import { along, freePosition, link, nodeWidth, places, reach } from "./geometry.js";
import { isCutOff } from "./partition.js";
import { hasToken, holdOf, processButton } from "./processes.js";
import { distinguishingLength, messageButton, progress, sentence } from "./messages.js";
import { Motion } from "./motion.js";
import { Timers } from "./timers.js";

/**
 * Maximum number of buttons of messages with the full names of the kinds. In a narrow picture, the
 * number is smaller.
 */
const SPELT = 22;
/**
 * Maximum number of messages that are drawn separately, and of bundles. If there are more messages,
 * those of a kind with the same sender or receiver form a bundle.
 */
const DRAWN = 120;
/** Vertical distance between bundles at the same process, in pixels. */
const ABOVE_EACH_OTHER = 30;
/** Minimum number of messages of a kind from one sender that form a bundle at the sender. */
const SEVERAL = 4;
const NAMESPACE = "http://www.w3.org/2000/svg";

function drawn(name, attributes) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** Buttons by the keys of their items. A button is kept as long as the view contains its item. */
class Buttons {
  constructor(within) {
    this.within = within;
    this.kept = new Map();
  }

  /**
   * Creates and updates the buttons of these items, and removes all others. `make` updates a
   * button. Returns the removed button that had the focus, or null.
   */
  show(things, keyOf, make) {
    const before = this.kept;
    this.kept = new Map();
    for (const thing of things) {
      const key = keyOf(thing);
      const button = before.get(key) ?? element("button", { type: "button" });
      before.delete(key);
      this.kept.set(key, button);
      make(button, thing);
      if (button.parentNode === null) this.within.append(button);
    }
    const orphan = [...before.values()].find((each) => each === document.activeElement);
    for (const button of before.values()) button.remove();
    return orphan ?? null;
  }
}

export class Picture {
  /**
   * Creates the picture. `act.message` and `act.process` receive the number of the clicked item and
   * its button.
   */
  constructor(act) {
    this.act = act;
    this.within = byId("picture");
    this.links = drawn("svg", { class: "links", "aria-hidden": "true" });
    this.within.append(this.links);
    this.processes = new Buttons(this.within);
    this.messages = new Buttons(this.within);
    this.motion = new Motion(this.within);
    this.timers = new Timers();
    this.view = null;
    new ResizeObserver(() => this.view && this.show(this.view)).observe(this.within);
  }

  show(view, chosen = this.chosen) {
    Object.assign(this, { view, chosen });
    const wide = this.within.clientWidth;
    if (wide === 0) return;
    const node = { wide: nodeWidth(view.n, wide) };
    this.timers.show(view);
    this.processes.show(view.processes, (each) => each.process, (button, process) => {
      processButton(button, process, view.service, {
        chosen: chosen === process.process,
        timers: this.timers.of(process),
        isCut: isCutOff(view, process.process),
      });
      button.classList.toggle("asked", quorumOf(view, chosen).includes(process.process));
      button.style.width = `${node.wide}px`;
      button.onclick = () => this.act.process(process.process, button);
    });
    const buttons = view.processes.map((each) => this.processes.kept.get(each.process));
    node.high = Math.max(...buttons.map((button) => button.offsetHeight));
    const bundles = bundle(view.messages).slice(0, DRAWN);
    const layout = places(view.n, wide, node, view.layout, maxBundles(bundles) * ABOVE_EACH_OTHER);
    this.within.style.height = `${layout.high}px`;
    buttons.forEach(({ style }, place) => {
      const { x, y } = layout.at[place];
      Object.assign(style, { left: `${x}px`, top: `${y}px` });
    });
    this.carry(view, bundles, layout, node, wide);
    this.list(view);
    legend(view, chosen);
  }

  /** Draws the messages and bundles at free positions on their ways. */
  carry(view, bundles, layout, node, wide) {
    const sent = new Map();
    const piled = new Map();
    const beside = ({ x, y }, at) => {
      const before = piled.get(at) ?? 0;
      piled.set(at, before + 1);
      const far = node.high / 2 + 20 + before * ABOVE_EACH_OTHER;
      return { x, y: y + far + 14 < layout.high ? y + far : y - far };
    };
    const boxes = bundles.map(({ bundle, at }) => {
      const [message] = bundle;
      const alone = bundle.length === 1;
      const from = layout.at[(alone ? message.from : at) - 1];
      const curve = link(from, alone ? layout.at[message.to - 1] : beside(from, at));
      const before = sent.get(message.from) ?? 0;
      sent.set(message.from, before + 1);
      const begin = 0.22 + 0.09 * (before % 4);
      const part = alone ? begin + (0.75 - begin) * progress(message, view.time) : 0.94;
      const next = bundle.some((each) => each.message === view.next?.message);
      return { message, count: bundle.length, at, next, curve, part };
    });
    const kinds = view.messages.map((each) => each.kind);
    const isSpelt = boxes.length <= SPELT * Math.min(1, wide / 600);
    const letters = isSpelt ? Infinity : distinguishingLength(kinds);
    const orphan = this.messages.show(boxes, (box) => box.message.message, (button, box) => {
      messageButton(button, box, letters);
      button.onclick = () => (box.count > 1 ? focusInList(box.message)
        : this.act.message(box.message.message, button));
    });
    const taken = layout.at.map((at) => ({ ...at, ...node }));
    for (const box of boxes) {
      const button = this.messages.kept.get(box.message.message);
      Object.assign(box, { wide: button.offsetWidth, high: button.offsetHeight });
      Object.assign(box, freePosition(box, taken, wide, layout.high));
      taken.push(box);
      Object.assign(button.style, { left: `${box.x}px`, top: `${box.y}px` });
    }
    this.lines(view, layout, node, boxes, wide);
    this.motion.show(view, boxes, (box) => this.messages.kept.get(box.message.message));
    if (orphan) this.receiver(orphan);
  }

  /**
   * Moves the focus to the receiver of a message that is gone. `orphan` is the removed button of
   * the message.
   */
  receiver(orphan) {
    this.processes.kept.get(Number(orphan.dataset.to))?.focus();
  }

  lines(view, layout, node, boxes, wide) {
    this.links.setAttribute("viewBox", `0 0 ${wide} ${layout.high}`);
    const background = this.staticLinks(view, layout).map(([one, two]) => drawn("line", {
      class: "link-line", x1: one.x, y1: one.y, x2: two.x, y2: two.y,
    }));
    const ways = new Map();
    const alone = boxes.filter(({ count }) => count === 1);
    for (const { message, curve } of alone) ways.set(`${message.from} ${message.to}`, curve);
    const arrows = [...ways.values()].flatMap((curve) => {
      const end = along(curve, reach(curve, node));
      const before = along(curve, reach(curve, node) - 0.04);
      const angle = Math.atan2(end.y - before.y, end.x - before.x) * (180 / Math.PI);
      const { from, by, to } = curve;
      return [
        drawn("path", { class: "way", d: `M${from.x} ${from.y}Q${by.x} ${by.y} ${to.x} ${to.y}` }),
        drawn("path", { class: "head", d: "M0 0L-11 5L-8 0L-11 -5Z",
          transform: `translate(${end.x} ${end.y}) rotate(${angle})` }),
      ];
    });
    const leads = boxes.filter((box) => Math.hypot(box.x - box.from.x, box.y - box.from.y) > 16)
      .map((box) => drawn("line", { class: "lead", x1: box.x, y1: box.y, x2: box.from.x,
        y2: box.from.y }));
    this.links.replaceChildren(...background, ...this.weights(view, layout), ...arrows, ...leads);
  }

  /** Returns the ends of the links that are drawn even if they carry no messages. */
  staticLinks({ n, layout: { form, links } }, { at, ring }) {
    // In a ring laid out in rows, the links would cross everything.
    if (form === "ring" && !ring && n > 2) return [];
    return links.map(([one, two]) => [at[one - 1], at[two - 1]]);
  }

  /**
   * Creates the labels of the weights in the middle of the links. There are none if all weights are
   * 1.
   */
  weights({ layout: { links, weights = [] } }, { at }) {
    return weights.map((weight, place) => {
      const [one, two] = links[place].map((process) => at[process - 1]);
      const text = drawn("text", { class: "weight", x: (one.x + two.x) / 2,
        y: (one.y + two.y) / 2 });
      text.textContent = String(weight);
      return text;
    });
  }

  /** Lists all messages as text. */
  list(view) {
    byId("many").textContent = String(view.messages.length);
    updateChildren(byId("messages"), ...view.messages.map((message) =>
      element("li", { "data-key": String(message.message) }, element("button", {
        type: "button", class: "link", "data-listed": String(message.message),
        "data-to": String(message.to),
        onclick: (event) => this.act.message(message.message, event.currentTarget),
      }, sentence(message)))));
  }
}

/**
 * Groups messages into bundles. If there are few messages, each has a bundle of its own. Otherwise,
 * messages of a kind from a sender form a bundle, if there are several. The remaining messages form
 * bundles by kind and receiver.
 */
function bundle(messages) {
  if (messages.length <= DRAWN) return messages.map((message) => ({ bundle: [message], at: null }));
  const key = ({ from, kind }) => `${kind} from ${from}`;
  const counts = new Map();
  for (const message of messages) counts.set(key(message), (counts.get(key(message)) ?? 0) + 1);
  const bundles = new Map();
  for (const message of messages) {
    const leaves = counts.get(key(message)) >= SEVERAL;
    const name = leaves ? key(message) : `${message.kind} to ${message.to}`;
    const at = leaves ? message.from : message.to;
    if (!bundles.has(name)) bundles.set(name, { bundle: [], at });
    bundles.get(name).bundle.push(message);
  }
  return [...bundles.values()];
}

/** Returns the maximum number of bundles beside one process. */
function maxBundles(bundles) {
  const counts = new Map();
  for (const { bundle, at } of bundles) {
    if (bundle.length > 1) counts.set(at, (counts.get(at) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}

/** Opens the list of messages, and gives the focus to a message in it. */
function focusInList({ message }) {
  byId("under-way").open = true;
  document.querySelector(`[data-listed="${message}"]`).focus();
}

/** Returns the quorum of a process; empty if there are no quorums. */
const quorumOf = ({ layout }, process) => layout.quorums?.[process - 1] ?? [];

/** Shows the legend of those signs that the picture contains. */
function legend(view, chosen) {
  const holds = new Set(view.processes.map((each) => holdOf(each)));
  const entries = [
    ["inside", "inside", holds.has("inside")],
    ["waits", "waits", holds.has("waiting")],
    ["crash", "crashed", holds.has("down")],
    ["leads", "leads (crown)", view.processes.some((each) => each.leads)],
    ["token", "has the token", view.processes.some(hasToken)],
    ["split", "cut off", view.processes.some((each) => isCutOff(view, each.process))],
    ["timer", "a timer and its remaining time", view.processes.some((each) =>
      each.up && each.timers?.length > 0)],
    ["asked", `the quorum of P${chosen}`, quorumOf(view, chosen).length > 0],
    ["doubts", "suspects these processes", view.processes.some((each) =>
      each.up && each.suspects?.length > 0)],
    ["soon", "comes next", view.next?.message !== undefined && view.next?.message !== null],
  ];
  byId("legend").replaceChildren(...entries.filter(([, , there]) => there).map(([name, label]) =>
    element("li", {}, element("i", { class: name, "aria-hidden": "true" }), label)));
}
