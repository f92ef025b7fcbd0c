// Form for a command line. The form edits the command line, and the command line fills the form.
// Options without a field stay in the command line. The field of a repeated option shows all its
// values.

import { byId, element } from "./element.js";
import { algorithm, value, values, withAlgorithm, withValue } from "./words.js";

/**
 * Options of `tenure simulate` with a field: option, label, and the default value that an empty
 * field shows.
 */
export const SIMULATE = [
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
  ["--partition", "Cut, 1,2@10..50", "none"],
  ["--quorums", "Quorums", "grid"],
  ["--tree", "Tree", "star"],
];

/** Options of `tenure check` with a field, as in `SIMULATE`. */
export const CHECK = [
  ["-n", "Processes", "3"],
  ["--entries", "Entries each", "1"],
  ["--initiators", "Initiators", "all"],
  ["--crash", "Crashes", "0"],
  ["--recover", "Recoveries", "0"],
  ["--lose", "Lost messages", "0"],
  ["--duplicate", "Duplicates", "0"],
  ["--channel", "Channel", "of the card"],
  ["--topology", "Network, grid", "none"],
  ["--quorums", "Quorums", "grid"],
  ["--tree", "Tree", "star"],
  ["--property", "Properties", "promised"],
];

/** Returns the names of the variants that a command line selects. */
function variantsIn(line) {
  return values(line, "--variant").flatMap((each) => each.split(",")).filter(Boolean);
}

export class Form {
  /**
   * Creates the fields of a form for `options`. `start` receives the command line when the user
   * submits the form. The identifiers of the elements of the form begin with `prefix`.
   */
  constructor(prefix, options, start) {
    this.algorithms = [];
    this.byId = (id) => byId(prefix + id);
    this.line = this.byId("words");
    this.fields = options.map(([name, label, without]) => {
      const field = element("input", {
        "data-option": name, placeholder: without, autocomplete: "off", spellcheck: "false",
        oninput: () => this.write(withValue(this.line.value, name, field.value.trim())),
      });
      this.byId("options").append(element("label", {}, label, field));
      return [name, field];
    });
    this.byId("algorithm").addEventListener("input", () => {
      const without = withValue(this.line.value, "--variant", "");
      this.write(withAlgorithm(without, this.byId("algorithm").value.trim()));
      this.showDescription();
    });
    this.line.addEventListener("input", () => this.read());
    this.line.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      this.byId("form").requestSubmit();
    });
    this.byId("form").addEventListener("submit", (event) => {
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

  /** Shows a command line in the text area and in all fields. */
  show(words) {
    this.write(words);
    this.read();
  }

  /** Shows a command line in the text area only. */
  write(words) {
    this.line.value = words;
  }

  /** Fills the fields from the command line. */
  read() {
    const line = this.line.value;
    for (const [name, field] of this.fields) field.value = value(line, name);
    this.byId("algorithm").value = algorithm(line);
    this.showDescription();
  }

  /** Shows the description of the selected algorithm, and its variants. */
  showDescription() {
    const name = this.byId("algorithm").value.trim();
    const known = this.algorithms.find((each) => each.name === name);
    this.byId("algorithm-summary").textContent = known?.description ?? "";
    const chosen = variantsIn(this.line.value);
    const variants = known?.variants ?? [];
    this.byId("variants").hidden = variants.length === 0;
    const rows = variants.map((each) => this.variant(each, chosen.includes(each.name)));
    this.byId("variants").replaceChildren(element("legend", {}, "Variants"), ...rows);
  }

  variant({ name, description, sound }, checked) {
    return element("label", { class: "variant", title: description },
      element("input", {
        type: "checkbox", "data-variant": name, checked,
        onchange: (event) => this.vary(name, event.target.checked),
      }),
      element("span", {}, name, sound ? null : element("b", {}, " ✗ unsound"),
        element("small", {}, description)));
  }

  /** Adds a variant to the command line if `on` is true, and removes it otherwise. */
  vary(name, on) {
    const without = variantsIn(this.line.value).filter((each) => each !== name);
    this.write(withValue(this.line.value, "--variant",
      (on ? [...without, name] : without).join(",")));
  }
}
