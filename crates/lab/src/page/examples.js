// Examples of experiments: each sets the options and suggests what to try.

import { byId, element } from "./element.js";

export const FIRST = "ricart-agrawala -n 3 --entries 2 --latency 1..4";

const EXAMPLES = [
  {
    name: "Lose a reply and block all processes",
    words: FIRST,
    hint: "Step until a reply is under way. Click on it and lose it, then run to the end: its "
      + "receiver waits forever, and soon all processes do. Without the loss the run ends well.",
  },
  {
    name: "A wrong tie-break: two processes inside",
    words: "ricart-agrawala -n 2 --variant clock-only-strict",
    hint: "The lower clock goes first, but ties are not broken. Step: both processes request "
      + "entry with the same clock, both reply, and two are inside. The run pauses there.",
  },
  {
    name: "Bully: crash the leader",
    words: "bully -n 4",
    hint: "Run to the end: P4 leads. Click on it and crash it, then step: the others suspect it, "
      + "and P3 becomes leader, since no higher process responds. Recover P4: it leads again.",
  },
  {
    name: "A ring of eight",
    words: "chang-roberts -n 8 --ids random",
    hint: "Each process sends its rank around the ring, and only the largest returns to its "
      + "sender. Duplicate or delay a message and see whether the outcome changes.",
  },
];

/** Lists the examples; `start` receives the options of the chosen one. */
export function examples(start) {
  byId("examples").replaceChildren(...EXAMPLES.map(({ name, words, hint }) => {
    const choose = () => {
      byId("hint").textContent = hint;
      byId("hint").hidden = false;
      start(words);
    };
    return element("li", {}, element("button", { type: "button", class: "link", onclick: choose },
      name));
  }));
}
