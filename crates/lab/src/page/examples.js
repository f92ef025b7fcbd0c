// Experiments to begin with: each sets the words and says what to try.

import { byId, element } from "./element.js";

export const FIRST = "ricart-agrawala -n 3 --entries 2 --latency 1..4";

const EXAMPLES = [
  {
    name: "Lose a reply and watch everybody wait",
    words: FIRST,
    hint: "Step until a reply is under way. Click on it and lose it, then go to the end: whoever "
      + "awaits it waits for ever, and soon everybody does. Go back to before, and it ends well.",
  },
  {
    name: "A wrong tie-break: step to two inside",
    words: "ricart-agrawala -n 2 --variant clock-only-strict",
    hint: "Who has the lower clock goes first, and nobody breaks a tie. Step: both ask with the "
      + "same clock, both reply, and two are inside. The run pauses there.",
  },
  {
    name: "Bully: kill the leader",
    words: "bully -n 4",
    hint: "Go to the end: P4 leads. Click on it and crash it, then step: the others suspect it, "
      + "and P3 takes its office, who hears of nobody higher. Recover P4 and see it take it back.",
  },
  {
    name: "A ring of eight",
    words: "chang-roberts -n 8 --ids random",
    hint: "Everybody sends its rank round the ring, and only the largest comes all the way back. "
      + "Duplicate or delay one on its way and see whether the outcome changes.",
  },
];

/** Lists the experiments; `start` is called with the words of the one that is chosen. */
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
