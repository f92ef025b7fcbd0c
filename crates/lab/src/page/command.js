// Commands in texts. Each can be run in place, or opened in the view for checks or for runs.

import { api } from "./api.js";
import { byId, element } from "./element.js";
import { split, withValue } from "./words.js";

/** Commands of `tenure` that the engine of a page can perform. */
const RUNNABLE = ["list", "check", "simulate", "compare", "question", "scenario"];

let open = { check() {}, simulate() {} };

/** Sets the functions that open a command line in a view, by the name of the command. */
export function openCommandsWith(functions) {
  open = functions;
}

const first = (line) => split(line)[0];

export const isRunnable = (line) => RUNNABLE.includes(first(line));

/**
 * Creates the buttons of a command line, which lacks the word `tenure`. The element `output` shows
 * the output of the command.
 */
export function commandButtons(line, output) {
  const button = (label, title, action) => element("button", {
    type: "button", class: "small", title, "data-line": line, onclick: action,
  }, label);
  const run = async ({ currentTarget }) => {
    currentTarget.disabled = true;
    output.textContent = "…";
    try {
      const { stdout, stderr } = await api.command(line);
      output.textContent = stdout + stderr;
    } catch (problem) {
      output.textContent = problem.message;
    }
    currentTarget.disabled = false;
  };
  const buttons = [];
  if (isRunnable(line)) buttons.push(button("Run here", `tenure ${line}`, run));
  const opens = open[first(line)];
  if (opens !== undefined) {
    const rest = withValue(split(line).length > 1 ? line.replace(/^\s*\S+\s+/, "") : "", "--trace",
      "");
    buttons.push(button(first(line) === "check" ? "Open in Check" : "Open in Run",
      "Open with all options", () => opens(rest)));
  }
  return element("span", { class: "group wrap" }, ...buttons);
}

/** Creates an element with a command, its buttons, and room for its output. */
export function commandBlock(line) {
  const output = element("pre", { class: "output", tabindex: "0", "aria-live": "polite" });
  return element("div", { class: "command" },
    element("code", {}, `$ tenure ${line}`), commandButtons(line, output), output);
}

/** Scrolls to an element and gives it the focus, so that screen readers continue there. */
export function focusOn(id) {
  byId(id).scrollIntoView({ block: "start" });
  byId(id).focus({ preventScroll: true });
}
