// The checker: a form, its verdicts, and the shortest counterexamples.

import { api } from "./api.js";
import { byId, element, updateChildren } from "./element.js";
import { showError } from "./errors.js";
import { CHECK, Form } from "./form.js";
import { join, split, values, withValue } from "./words.js";

const SIGNS = { holds: "✓", violated: "✗", incomplete: "…" };
/** Name of the file to which a check writes its counterexample. */
const TRACE = "found.ndjson";
/** Exit status of a command whose arguments are invalid. */
const USAGE = 2;

const grouped = (count) => count.toLocaleString("en").replaceAll(",", "\u202f");

export class Check {
  /**
   * Creates the view. `act.walk` receives a report, a trace, the origin of the trace, and a path.
   * `act.vary` receives a command line to simulate. `act.changed` is called when the place of the
   * view has changed.
   */
  constructor(act) {
    this.act = act;
    this.line = "";
    this.running = null;
    this.form = new Form("check-", CHECK, (line) => this.start(line));
    byId("check-cancel").addEventListener("click", () => this.running?.abort());
  }

  setAlgorithms(algorithms) {
    this.form.setAlgorithms(algorithms);
  }

  place() {
    return { check: this.line || this.form.line.value.trim() };
  }

  /**
   * Runs the check of a command line and shows the result. Resolves to the result, or to null if
   * the check failed or was cancelled.
   */
  async start(line) {
    this.form.show(line);
    this.line = line;
    this.act.changed();
    updateChildren(byId("result"));
    return this.run(async (options) => {
      const result = await check(line, options);
      this.show(line, result);
      return result;
    });
  }

  /**
   * Runs a search. Shows its progress, and its error beside the form. Cancels an earlier search.
   * Resolves to null if the search fails or is cancelled.
   */
  async run(search) {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    showError("check-error", null);
    byId("check-cancel").disabled = false;
    byId("check-progress").textContent = "The search begins.";
    const progress = ({ states, depth, waiting, seconds }) => {
      if (this.running !== running) return;
      byId("check-progress").textContent = `${grouped(states)} states, depth ${depth}, `
        + `${grouped(waiting)} waiting, ${seconds.toFixed(1)} s`;
    };
    try {
      const result = await search({ progress, signal: running.signal });
      return this.running === running ? result : null;
    } catch (problem) {
      if (this.running !== running) return null;
      byId("check-progress").textContent = "";
      showError("check-error", running.signal.aborted ? "The search was cancelled."
        : problem.message);
      return null;
    } finally {
      if (this.running === running) {
        this.running = null;
        byId("check-cancel").disabled = true;
      }
    }
  }

  show(line, { report, trace }) {
    const { algorithm, n, states, transitions, depth, seconds } = report;
    byId("check-progress").textContent = `${algorithm}, ${n} processes: ${grouped(states)} states, `
      + `${grouped(transitions)} transitions, depth ${depth}, ${seconds.toFixed(1)} s`;
    const rows = Object.entries(report.properties).map(([property, verdict]) =>
      this.property(line, report, trace, property, verdict));
    const replay = element("button", {
      type: "button", class: "link", onclick: () => this.act.vary(simulated(line, n)),
    }, "Simulate this algorithm");
    updateChildren(byId("result"), element("ul", { class: "verdicts" }, ...rows), replay);
  }

  property(line, report, trace, property, verdict) {
    const found = report.counterexamples.find((each) => each.property === property);
    const row = element("li", { class: verdict, "data-checked": property, "data-key": property },
      element("strong", {}, `${SIGNS[verdict] ?? "·"} ${property}`), ` ${verdict}`);
    if (found === undefined) return row;
    const isFirst = report.counterexample?.property === property;
    const walk = () => this.walk(line, property, isFirst ? { report, trace } : null);
    row.append(` after ${found.length} steps`,
      element("ol", { class: "steps" }, ...found.steps.map((step) => element("li", {}, step))),
      element("button", { type: "button", class: "start", "data-walk": property, onclick: walk },
        "Walk through it"));
    return row;
  }

  /**
   * Opens the counterexample to a property as a run, and goes along a path. `known` contains the
   * report and the trace of the counterexample; null starts a new search. Resolves to false if
   * there is no counterexample, or if the run cannot be opened.
   */
  async walk(line, property, known = null, path = "@0") {
    const found = known ?? await this.find(line, property);
    if (found === null) return false;
    return this.act.walk(found.report, found.trace, { found: line, property }, path);
  }

  /**
   * Searches for a counterexample to a property. Resolves to the report and the trace. If there is
   * no counterexample, shows an error and resolves to null.
   */
  async find(line, property) {
    const result = await this.run((options) =>
      check(withValue(line, "--property", property), options));
    if (result !== null && byId("result").childElementCount === 0) this.show(line, result);
    if (result !== null && result.trace === undefined) {
      showError("check-error", `The property ${property} is not violated.`);
      return null;
    }
    return result;
  }
}

/**
 * Checks a command line. Resolves to the report, and to the trace of the first counterexample, if
 * there is one. Throws an error if the command is invalid.
 */
async function check(line, options) {
  const plain = withValue(withValue(line, "--trace", ""), "--format", "");
  const words = `check ${plain} --format json --trace ${TRACE}`;
  const { exit, stdout, stderr, files } = await api.command(words, options);
  if (exit === USAGE || stdout.trim() === "") throw new Error(problemOf(stderr));
  return { report: JSON.parse(stdout), trace: files?.[TRACE] };
}

/**
 * Returns the error message of a command in one line, without the name of the program and the usage
 * of the command.
 */
function problemOf(stderr) {
  const [problem] = stderr.trim().replace(/^(tenure|error): /, "").split("\n\n");
  return problem.replaceAll(/\s*\n\s*/g, " ") || "The command printed no result.";
}

/** Options of the checker that have the same meaning for the simulator. */
const SHARED = ["--ids", "--loads", "--down", "--topology", "--tree", "--quorums", "--k",
  "--channel", "--variant", "--coordinator", "--initiators", "--entries"];

/** Returns the command line that simulates the group of a check. `n` is the number of processes. */
export function simulated(line, n) {
  const [algorithm] = split(line);
  const kept = SHARED.flatMap((name) => values(line, name)
    .filter((each) => each !== "unbounded").flatMap((each) => [name, each]));
  return join([algorithm, "-n", String(n), ...kept, "--beyond-assumptions"]);
}
