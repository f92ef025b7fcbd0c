// The whole state of the process that was chosen, as a tree that keeps what was opened.

import { byId, element, facts, updateChildren } from "./element.js";
import { condition } from "./processes.js";

/** Under this name a tree keeps the name of a struct or of a variant. */
const TYPE = "type";
/** What fits well on a line. */
const LINE = 40;

export class State {
  /** `choose` is called with the process that is to be shown. */
  constructor(choose) {
    this.choose = choose;
    this.shut = new Set();
  }

  show(view, chosen) {
    const process = view.processes.find((each) => each.process === chosen) ?? view.processes[0];
    updateChildren(byId("chosen"), ...view.processes.map((each) => element("button", {
      type: "button", "data-key": `P${each.process}`, class: "small", "aria-pressed": String(each === process),
      onclick: () => this.choose(each.process),
    }, `P${each.process}`)));
    if (!process) return;
    const rows = [["is", condition(process, view.service)]];
    if (Number.isFinite(process.term)) rows.push(["term", said(process.term)]);
    for (const { name, at } of process.timers ?? []) {
      rows.push([`timer ${name}`, Number.isFinite(at) ? `at ${said(at)}` : "armed"]);
    }
    updateChildren(byId("state"), facts(rows), this.branch(process.state, "state", "state"));
  }

  branch(value, name, path) {
    const parts = value === null || typeof value !== "object" ? [] : Object.entries(value);
    const flat = parts.every(([, part]) => part === null || typeof part !== "object");
    if (flat && (Array.isArray(value) || said(value).length <= LINE)) {
      return element("p", { class: "leaf" }, element("span", { class: "soft" }, `${name} `),
        element("code", {}, said(value)));
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

/** A value on one line. */
function said(value) {
  if (typeof value === "number") return String(Number(value.toFixed(3)));
  if (value === null) return "none";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return `[${value.map(said).join(", ")}]`;
  const { [TYPE]: name, ...fields } = value;
  const inner = Object.entries(fields).map(([key, part]) => `${key}: ${said(part)}`).join(", ");
  return [name, inner === "" ? "" : `{ ${inner} }`].filter(Boolean).join(" ") || "{}";
}
