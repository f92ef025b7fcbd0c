// Messages under way: their buttons in the picture, and their menus.

import { element } from "./element.js";

/** Pattern of the kinds of messages that carry a token. These messages are drawn with a gem. */
const TOKENS = /token|privilege/i;

const short = (time) => Number(time.toFixed(3));

/**
 * Returns the part of its way that a message has travelled at the time `now`, from 0 to 1. Returns
 * 0.5 if its time of arrival is not known.
 */
export function progress({ sent, due }, now) {
  if (due === null || due === undefined || due <= sent) return 0.5;
  return Math.min(1, Math.max(0, (now - sent) / (due - sent)));
}

export function sentence({ from, to, kind, description, due }) {
  const when = due === null || due === undefined ? "" : `, due at ${short(due)}`;
  const content = description && description !== kind ? ` (${description})` : "";
  return `P${from} → P${to} ${kind}${when}${content}`;
}

/**
 * Returns the minimum number of initial letters that distinguishes these kinds of messages, but at
 * most three.
 */
export function distinguishingLength(kinds) {
  const apart = (letters) => new Set(kinds.map((kind) => kind.slice(0, letters))).size;
  return [1, 2].find((letters) => apart(letters) === new Set(kinds).size) ?? 3;
}

/**
 * Updates the button of a message or of a bundle of messages. The button shows the first `letters`
 * letters of the kind. The button of a bundle also shows the number of messages.
 */
export function messageButton(button, { message, count, at, next }, letters) {
  const spelt = letters === Infinity;
  const carries = TOKENS.test(message.kind) ? " carries" : "";
  button.className = `message${next ? " next" : ""}${spelt ? "" : " brief"}${carries}`;
  button.dataset.message = message.message;
  button.dataset.to = message.to;
  const whose = at === message.from ? "of" : "to";
  const label = count > 1 ? `${count} × ${message.kind} ${whose} P${at}` : sentence(message);
  button.title = label;
  button.setAttribute("aria-label", label + (next ? ", comes next" : ""));
  button.setAttribute("aria-haspopup", count > 1 ? "false" : "dialog");
  const name = (count > 1 ? `${count} × ` : "") + message.kind.slice(0, letters);
  if (button.textContent !== name) button.textContent = name;
}

/** Creates the rows of the menu of a message. `act` performs an action. */
export function messageRows({ message }, act) {
  const button = (label, what) => element("button", {
    type: "button", "data-act": Object.keys(what)[0], onclick: () => act(what),
  }, label);
  const by = element("input", {
    type: "number", value: "5", min: "0", step: "any", "aria-label": "Units",
    onkeydown: (event) => {
      if (event.key === "Enter") delay();
    },
  });
  const delay = () => act({ delay: message, by: Number(by.value) });
  return [
    button("Deliver now", { deliver: message }),
    button("Lose", { lose: message }),
    button("Duplicate", { duplicate: message }),
    element("div", { class: "group" },
      element("button", { type: "button", "data-act": "delay", onclick: delay }, "Delay by"), by,
      element("span", {}, "units")),
  ];
}
