// Examples of experiments. Each example sets the options of a run or a check, and suggests steps.

import { api } from "./api.js";
import { byId, element } from "./element.js";

/** Arguments of the run that the page shows first. */
export const FIRST = "ricart-agrawala -n 3 --entries 2 --latency 1..4";

const EXAMPLES = [
  {
    name: "Maekawa 1985: why it deadlocks",
    check: "maekawa -n 4 --variant original-1985 --quorums grid",
    property: "starvation-freedom",
    hint: "Each process has one vote, shown in its box, and needs the votes of its quorum. "
      + "Step (→) six times, then run to the end. P3 has the vote of P1 and waits for P4. P2 has "
      + "the vote of P4 and waits for P1: a cycle. P1 asks P3 to return its vote (inquire). P3 "
      + "would, after a message failed. But in 1985 P4 sends none when P2 displaces P3.",
  },
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
  {
    name: "A token ring",
    words: "token-ring -n 6",
    hint: "The token is a gem. Only its holder may enter, and passes it on. Run it at 3/s. Then "
      + "click on the token under way and lose it: no process enters any more.",
  },
  {
    name: "Raymond's tree: a token on a heap",
    words: "raymond -n 7 --tree heap --latency 1..4",
    hint: "Each process knows in which direction the token is. Requests go towards the token, and "
      + "the privilege comes back along the same edges.",
  },
  {
    name: "Raft: a minority is cut off",
    words: "raft -n 5 --partition 4,5@20..70 --until 100",
    hint: "Rings are timers: an empty one fires. Each box shows the term and the vote. P5 leads. "
      + "From time 20 to 70, P4 and P5 are cut off: the other side has a majority, and elects.",
  },
  {
    name: "Bully: two crashes, two recoveries",
    words: "bully -n 4 --initiators 2 --crash 4@0 --crash 1@0 --recover 1@30 --recover 4@60",
    hint: "P1 and P4 crash. P2 starts an election, and P3 takes over. P1 recovers, and P3 still "
      + "leads. P4 recovers and takes over again. Go from event to event (E).",
  },
];

/**
 * Returns the hint for the counterexample to a property in a check. Returns undefined if no example
 * contains this check.
 */
export function hintOf(line, property) {
  return EXAMPLES.find((each) => each.check === line && each.property === property)?.hint;
}

/**
 * Lists the examples. If the user selects a run, `act.run` receives its options and its hint. If
 * the user selects a check, `act.walk` receives its arguments and the violated property. Only a
 * page in one file offers checks.
 */
export function examples(act) {
  const offered = EXAMPLES.filter(({ check }) => check === undefined || api.isAlone);
  byId("examples").replaceChildren(...offered.map(({ name, words, check, property, hint }) => {
    const choose = () => (check === undefined ? act.run(words, hint)
      : act.walk(check, property));
    return element("li", {}, element("button", { type: "button", class: "link", onclick: choose },
      name));
  }));
}
