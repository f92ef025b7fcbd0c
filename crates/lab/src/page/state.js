// State of the selected process as a tree. The panel remembers which nodes the user has collapsed.

import { byId, element, facts, updateChildren } from "./element.js";
import { condition } from "./processes.js";

/** Key under which a state contains the name of a struct or variant. */
const TYPE = "type";
/** Maximum number of letters of a value that is shown on one line. */
const LINE = 40;

export class State {
  /** Creates the panel. `choose` receives the number of the process that the user selects. */
  constructor(choose) {
    this.choose = choose;
    this.shut = new Set();
  }

  show(view, chosen) {
    const process = view.processes.find((each) => each.process === chosen) ?? view.processes[0];
    updateChildren(byId("chosen"), ...view.processes.map((each) => element("button", {
      type: "button", class: "small", "data-key": `P${each.process}`,
      "aria-pressed": String(each === process),
      onclick: () => this.choose(each.process),
    }, `P${each.process}`)));
    if (!process) return;
    const rows = [["state", condition(process, view.service)]];
    if (Number.isFinite(process.term)) rows.push(["term", format(process.term)]);
    for (const { name, at } of process.timers ?? []) {
      rows.push([`timer ${name}`, Number.isFinite(at) ? `at ${format(at)}` : "armed"]);
    }
    updateChildren(byId("state"), facts(rows), this.branch(process.state, "state", "state"));
  }

  /**
   * Creates the element of a value: one line, or a node with its parts. `path` identifies the node.
   */
  branch(value, name, path) {
    const parts = value === null || typeof value !== "object" ? [] : Object.entries(value);
    const flat = parts.every(([, part]) => part === null || typeof part !== "object");
    if (flat && (Array.isArray(value) || format(value).length <= LINE)) {
      return element("p", { class: "leaf" }, element("span", { class: "soft" }, `${name} `),
        element("code", {}, format(value)));
    }
    const toggled = ({ currentTarget }) => {
      if (currentTarget.open) this.shut.delete(path);
      else this.shut.add(path);
    };
    return element("details", {
      "data-key": path, open: !this.shut.has(path), ontoggle: toggled,
    },
      element("summary", {}, name, value[TYPE] ? element("code", {}, ` ${value[TYPE]}`) : null),
      ...parts.filter(([key]) => key !== TYPE).map(([key, part]) =>
        this.branch(part, Array.isArray(value) ? `[${key}]` : key, `${path}.${key}`)));
  }
}

/** Formats a value on one line. */
function format(value) {
  if (typeof value === "number") return String(Number(value.toFixed(3)));
  if (value === null) return "none";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return `[${value.map(format).join(", ")}]`;
  const { [TYPE]: name, ...fields } = value;
  const inner = Object.entries(fields).map(([key, part]) => `${key}: ${format(part)}`).join(", ");
  return [name, inner === "" ? "" : `{ ${inner} }`].filter(Boolean).join(" ") || "{}";
}
