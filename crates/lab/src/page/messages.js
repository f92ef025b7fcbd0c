// A message under way as a button in the picture, and what can be done to it.

import { element } from "./element.js";

const short = (time) => Number(time.toFixed(3));

/** How far a message has come, from 0 to 1. */
export function progress({ sent, due }, now) {
  if (due === null || due === undefined || due <= sent) return 0.5;
  return Math.min(1, Math.max(0, (now - sent) / (due - sent)));
}

export function sentence({ from, to, kind, says, due }) {
  const when = due === null || due === undefined ? "" : `, due at ${short(due)}`;
  const content = says && says !== kind ? ` (${says})` : "";
  return `P${from} → P${to} ${kind}${when}${content}`;
}

/** As few letters as tell these kinds apart, three at the most. */
export function brief(kinds) {
  const apart = (letters) => new Set(kinds.map((kind) => kind.slice(0, letters))).size;
  return [1, 2].find((letters) => apart(letters) === new Set(kinds).size) ?? 3;
}

/** With few of them a message has its name; with many, only so many letters of it. */
export function messageButton(button, message, next, letters) {
  const spelt = letters === Infinity;
  button.className = `message${next ? " next" : ""}${spelt ? "" : " brief"}`;
  button.dataset.message = message.message;
  button.dataset.to = message.to;
  button.title = sentence(message);
  button.setAttribute("aria-label", sentence(message) + (next ? ", comes next" : ""));
  button.setAttribute("aria-haspopup", "dialog");
  const name = message.kind.slice(0, letters);
  if (button.textContent !== name) button.textContent = name;
}

/** What can be done to a message: rows for the menu, `act` being called with one of them. */
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
