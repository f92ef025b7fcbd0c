// Verdicts of the monitors on the run up to the present moment.

import { byId, element, updateChildren } from "./element.js";

const SIGNS = { holds: "✓", violated: "✗", open: "…" };

/**
 * Shows the verdicts of a view. `go` receives the number of the moment of a violation, if the user
 * selects it.
 */
export function verdicts(view, go) {
  const rows = view.verdicts.map(({ property, verdict, message, moment, promised }) => {
    const more = [];
    if (message) more.push(element("p", {}, message));
    if (verdict === "violated" && moment !== null && moment !== undefined) {
      more.push(element("button", {
        type: "button", "data-violation": property, onclick: () => go(moment),
      }, moment === view.moment ? `Moment ${moment} (present)` : `Show moment ${moment}`));
    }
    return element("li", { class: verdict, "data-property": property, "data-key": property },
      element("strong", {}, `${SIGNS[verdict] ?? "·"} ${property}`), ` ${verdict}`,
      promised === false ? element("span", { class: "soft" }, " (not promised)") : null, ...more);
  });
  if (rows.length === 0) rows.push(element("li", {}, "No property to verify."));
  updateChildren(byId("verdicts"), ...rows);
  const violated = view.verdicts.filter((each) => each.verdict === "violated");
  const worst = violated.length > 0 ? "violated" : "holds";
  byId("verdict").className = worst;
  byId("verdict").textContent = view.verdicts.length === 0 ? ""
    : `${SIGNS[worst]} ${violated.length > 0 ? `${violated.length} violated` : "nothing violated"}`;
}
