// Measured figures, and the formula for the number of messages on the card of the algorithm.

import { byId, element, facts } from "./element.js";

const KNOWN = ["messages", "by_kind", "formula"];

const format = (value) => (typeof value === "number" ? String(Number(value.toFixed(3)))
  : value === null || value === undefined ? "none" : String(value));

export function figures({ figures: counted, service }) {
  const kinds = Object.entries(counted.by_kind ?? {});
  const rows = [["messages sent", format(counted.messages)]];
  for (const [kind, count] of kinds) rows.push([element("span", { class: "kind" }, kind),
    format(count)]);
  for (const [name, value] of Object.entries(counted)) {
    if (name === "entries" && service === "election") continue;
    if (!KNOWN.includes(name) && typeof value !== "object") {
      rows.push([name.replaceAll("_", " "), format(value)]);
    }
  }
  if (counted.entries > 0) {
    rows.push(["messages per entry", format(counted.messages / counted.entries)]);
  }
  if (counted.formula) rows.push(["claimed by the card", counted.formula]);
  byId("figures").replaceChildren(facts(rows));
}
