// The form edits the command line, and the command line fills the form. Options unknown to the form
// are kept.

import { byId, element } from "./element.js";
import { algorithm, value, withAlgorithm, withValue } from "./words.js";

/** Option, label, default value. */
const OPTIONS = [
  ["-n", "Processes", "5"],
  ["--seed", "Seed", "1"],
  ["--latency", "Latency", "1"],
  ["--topology", "Network, grid", "none"],
  ["--entries", "Entries each", "1"],
  ["--hold", "Time inside", "1"],
  ["--think", "Time between", "0"],
  ["--lose", "Lost, 0 to 1", "0"],
  ["--duplicate", "Doubled, 0 to 1", "0"],
  ["--crash", "Crash, 3@10", "none"],
  ["--recover", "Recover, 3@50", "none"],
];

export class Form {
  /** Creates the form; `start` receives the command line. */
  constructor(start) {
    this.algorithms = [];
    this.line = byId("words");
    this.fields = OPTIONS.map(([name, label, without]) => {
      const field = element("input", {
        "data-option": name, placeholder: without, autocomplete: "off", spellcheck: "false",
        oninput: () => this.write(withValue(this.line.value, name, field.value.trim())),
      });
      byId("options").append(element("label", {}, label, field));
      return [name, field];
    });
    byId("algorithm").addEventListener("input", () => {
      const without = withValue(this.line.value, "--variant", "");
      this.write(withAlgorithm(without, byId("algorithm").value.trim()));
      this.showDescription();
    });
    this.line.addEventListener("input", () => this.read());
    this.line.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      byId("form").requestSubmit();
    });
    byId("form").addEventListener("submit", (event) => {
      event.preventDefault();
      start(this.line.value.trim());
    });
  }

  setAlgorithms(algorithms) {
    this.algorithms = algorithms;
    byId("algorithms").replaceChildren(...algorithms.map(({ name, service, description }) =>
      element("option", { value: name }, `${service}: ${description}`)));
    this.showDescription();
  }

  /** Shows a command line from another source. */
  show(words) {
    this.write(words);
    this.read();
  }

  write(words) {
    this.line.value = words;
  }

  read() {
    const line = this.line.value;
    for (const [name, field] of this.fields) field.value = value(line, name);
    byId("algorithm").value = algorithm(line);
    this.showDescription();
  }

  /** Shows the description of the algorithm and its variants. */
  showDescription() {
    const name = byId("algorithm").value.trim();
    const known = this.algorithms.find((each) => each.name === name);
    byId("algorithm-summary").textContent = known?.description ?? "";
    const chosen = value(this.line.value, "--variant").split(",").filter(Boolean);
    const variants = known?.variants ?? [];
    byId("variants").hidden = variants.length === 0;
    byId("variants").replaceChildren(element("legend", {}, "Variants"), ...variants.map((each) =>
      element("label", { class: "variant", title: each.description },
        element("input", {
          type: "checkbox", "data-variant": each.name, checked: chosen.includes(each.name),
          onchange: (event) => this.vary(each.name, event.target.checked),
        }),
        element("span", {}, each.name, each.sound ? null : element("b", {}, " ✗ unsound"),
          element("small", {}, each.description)))));
  }

  vary(name, on) {
    const before = value(this.line.value, "--variant").split(",").filter(Boolean);
    const without = before.filter((each) => each !== name);
    this.write(withValue(this.line.value, "--variant",
      (on ? [...without, name] : without).join(",")));
  }
}
