// Connects the parts of the page with user input.

import { api } from "./api.js";
import { Diagram, Logs } from "./diagram.js";
import { byId, element, updateChildren } from "./element.js";
import { FIRST, examples } from "./examples.js";
import { showError, showingErrors } from "./errors.js";
import { figures } from "./figures.js";
import { enableExport, enableOpening } from "./files.js";
import { Form } from "./form.js";
import { keys } from "./keys.js";
import { Menu } from "./menu.js";
import { messageRows, sentence } from "./messages.js";
import { condition, processRows } from "./processes.js";
import { Session } from "./session.js";
import { Picture } from "./picture.js";
import { State } from "./state.js";
import { Tree } from "./tree.js";
import { verdicts } from "./verdicts.js";

/** Describes events; several receivers of the same message are listed together. */
function describeEvents(happened) {
  const said = [];
  for (const sentence of happened) {
    const [, what, to] = /^(P\d+ sends .* to )(P\d+)$/.exec(sentence) ?? [];
    if (what !== undefined && said.at(-1)?.startsWith(what)) said.push(`${said.pop()}, ${to}`);
    else said.push(sentence);
  }
  return said.join("; ");
}

class Lab {
  constructor() {
    this.algorithms = [];
    this.chosen = 1;
    this.session = new Session((view, before) => this.show(view, before));
    this.session.onRunningChange = (isRunning) => this.showRunning(isRunning);
    this.form = new Form((words) => this.begin({ words }, "form-error"));
    this.menu = new Menu();
    this.picture = new Picture({
      message: (message, button) => this.openMessage(message, button),
      process: (process, button) => this.openProcess(process, button),
    });
    this.state = new State((process) => this.choose(process));
    this.tree = new Tree((moment) => this.go(moment, "tree-error"));
    this.diagram = new Diagram();
    this.logs = new Logs();
    examples((words) => {
      this.form.show(words);
      this.begin({ words }, "form-error");
    });
    enableOpening(async (trace) => {
      byId("hint").hidden = true;
      await this.session.begin({ trace });
    });
    enableExport(this.session);
    this.controls();
  }

  /** Opens the session of the URL, that of the command line, or a default one. */
  async first() {
    this.form.show(FIRST);
    await showingErrors("form-error", async () => {
      this.algorithms = await api.get("algorithms");
      this.form.setAlgorithms(this.algorithms);
    });
    const requested = new URLSearchParams(location.hash.slice(1)).get("session");
    if (requested !== null && await this.opened(requested)) return;
    const { first } = await api.get("sessions").catch(() => ({ first: null }));
    if (first !== null && await this.opened(first)) return;
    await this.begin({ words: FIRST }, "form-error");
  }

  opened(session) {
    return this.session.open(session).then(() => true, () => false);
  }

  begin(what, place) {
    return showingErrors(place, () => this.session.begin(what));
  }

  go(moment, place) {
    this.session.pause();
    return showingErrors(place, () => this.session.go(moment));
  }

  /** Requests steps, and shows an error beside the controls. */
  move(request) {
    this.session.pause();
    return showingErrors("step-error", request);
  }

  show(view, before) {
    if (view.session !== before?.session) this.showNewSession(view);
    this.picture.show(view, this.chosen);
    this.state.show(view, this.chosen);
    this.tree.show(view);
    this.diagram.show(view);
    this.logs.show(view);
    verdicts(view, (moment) => this.go(moment, "step-error"));
    figures(view);
    this.say(view);
    // A line break must not split an option at its hyphen.
    const none = "No command reproduces this history. Export it and use: tenure trace replay FILE";
    const words = (view.commands?.replay ?? none).split(" ");
    updateChildren(byId("replay"), ...words.flatMap((word, place) =>
      [place === 0 ? "" : " ", element("span", {}, word)]));
  }

  showNewSession(view) {
    this.chosen = 1;
    this.menu.close(false);
    if (view.words) this.form.show(view.words);
    for (const place of ["form-error", "step-error", "tree-error", "file-error"]) {
      showError(place, null);
    }
    document.title = `${view.algorithm} · Tenure lab`;
    history.replaceState(null, "", `#session=${encodeURIComponent(view.session)}`);
  }

  say(view) {
    const time = Number(view.time.toFixed(3));
    byId("about").textContent = `${view.algorithm}, ${view.n} processes`;
    byId("where").textContent = `time ${time}, moment ${view.moment}`;
    byId("last-event").setAttribute("aria-live", this.session.running ? "off" : "polite");
    const events = describeEvents(view.happened) || "all processes have booted";
    byId("last-event").textContent = `${time}: ${events}`;
    const { next, ended } = view;
    byId("next").textContent = next === null ? `Ended: ${ended ?? "no step is left"}`
      : `Next${next.time === null || next.time === undefined ? "" :
        `, at ${Number(next.time.toFixed(3))}`}: ${next.description}`;
    const first = view.tree.find((each) => each.moment === view.moment)?.parent ?? null;
    for (const id of ["begin", "back"]) byId(id).disabled = first === null;
    for (const id of ["run", "step", "event", "end"]) byId(id).disabled = next === null;
  }

  /** Updates the label of the run button. */
  showRunning(isRunning) {
    byId("run").textContent = isRunning ? "⏸" : "▶";
    byId("run").setAttribute("aria-label", isRunning ? "Pause" : "Run");
  }

  toggle() {
    if (this.session.running) return this.session.pause();
    if (this.session.view?.next === null) return null;
    showError("step-error", null);
    return this.session.run(Number(byId("speed").value),
      (problem) => showError("step-error", problem.message));
  }

  controls() {
    const { session } = this;
    const click = (id, action) => byId(id).addEventListener("click", action);
    const step = () => this.move(() => session.step());
    const back = () => this.move(() => session.back());
    const event = () => this.move(() => session.until("event"));
    click("begin", () => this.go(session.view.tree[0].moment, "step-error"));
    click("back", back);
    click("step", step);
    click("run", () => this.toggle());
    click("event", event);
    click("end", () => this.move(() => session.until("end")));
    byId("speed").addEventListener("change", () => {
      if (!session.running) return;
      this.toggle();
      this.toggle();
    });
    keys({ " ": () => this.toggle(), ArrowRight: step, ArrowLeft: back, e: event, E: event });
  }

  choose(process) {
    this.chosen = process;
    this.picture.show(this.session.view, process);
    this.state.show(this.session.view, process);
  }

  openMessage(number, button) {
    this.session.pause();
    const message = this.session.view.messages.find((each) => each.message === number);
    if (!message) return;
    this.menu.open(button, `P${message.from} → P${message.to} ${message.kind}`,
      sentence(message), (act) => messageRows(message, act), (what) => this.session.act(what));
  }

  openProcess(number, button) {
    this.session.pause();
    this.choose(number);
    const { view } = this.session;
    const process = view.processes.find((each) => each.process === number);
    this.menu.open(button, `P${number}`, condition(process, view.service),
      (act) => processRows(view, process, act), (what) => this.session.act(what));
  }
}

/** Interface for tests and other scripts. */
window.lab = new Lab();
window.lab.first();
