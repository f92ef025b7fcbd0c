// What was counted, beside what the algorithm's card says.

import { byId, element, facts } from "./element.js";

const KNOWN = ["messages", "by_kind", "formula"];

const said = (value) => (typeof value === "number" ? String(Number(value.toFixed(3)))
  : value === null || value === undefined ? "none" : String(value));

export function figures({ figures: counted, service }) {
  const kinds = Object.entries(counted.by_kind ?? {});
  const rows = [["messages sent", said(counted.messages)]];
  for (const [kind, count] of kinds) rows.push([element("span", { class: "kind" }, kind),
    said(count)]);
  for (const [name, value] of Object.entries(counted)) {
    if (name === "entries" && service === "election") continue;
    if (!KNOWN.includes(name) && typeof value !== "object") {
      rows.push([name.replaceAll("_", " "), said(value)]);
    }
  }
  if (counted.entries > 0) {
    rows.push(["messages per entry", said(counted.messages / counted.entries)]);
  }
  if (counted.formula) rows.push(["the card says", counted.formula]);
  byId("figures").replaceChildren(facts(rows));
}
