// What the page does when somebody does something.

import { api } from "./api.js";
import { Diagram, Logs } from "./diagram.js";
import { byId, element, updateChildren } from "./element.js";
import { FIRST, examples } from "./examples.js";
import { failing, tell } from "./failing.js";
import { figures } from "./figures.js";
import { exporting, opening } from "./files.js";
import { Form } from "./form.js";
import { keys } from "./keys.js";
import { Menu } from "./menu.js";
import { messageRows, sentence } from "./messages.js";
import { condition, processRows } from "./processes.js";
import { Session } from "./session.js";
import { Stage } from "./stage.js";
import { State } from "./state.js";
import { Tree } from "./tree.js";
import { verdicts } from "./verdicts.js";

/** What happened, those to whom the same was sent being told in a row. */
function told(happened) {
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
    this.session.noted = (runs) => this.runs(runs);
    this.form = new Form((words) => this.begin({ words }, "form-error"));
    this.menu = new Menu();
    this.stage = new Stage({
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
    opening(async (trace) => {
      byId("hint").hidden = true;
      await this.session.begin({ trace });
    });
    exporting(this.session);
    this.controls();
  }

  /** The session of the address, or that of the command line, or one to begin with. */
  async first() {
    this.form.show(FIRST);
    await failing("form-error", async () => {
      this.algorithms = await api.get("algorithms");
      this.form.know(this.algorithms);
    });
    const asked = new URLSearchParams(location.hash.slice(1)).get("session");
    if (asked !== null && await this.opened(asked)) return;
    const { first } = await api.get("sessions").catch(() => ({ first: null }));
    if (first !== null && await this.opened(first)) return;
    await this.begin({ words: FIRST }, "form-error");
  }

  opened(session) {
    return this.session.open(session).then(() => true, () => false);
  }

  begin(what, place) {
    return failing(place, () => this.session.begin(what));
  }

  go(moment, place) {
    this.session.pause();
    return failing(place, () => this.session.go(moment));
  }

  /** Asks for steps, and says beside the controls why there are none. */
  move(asks) {
    this.session.pause();
    return failing("step-error", asks);
  }

  show(view, before) {
    if (view.session !== before?.session) this.fresh(view);
    this.stage.show(view, this.chosen);
    this.state.show(view, this.chosen);
    this.tree.show(view);
    this.diagram.show(view);
    this.logs.show(view);
    verdicts(view, (moment) => this.go(moment, "step-error"));
    figures(view);
    this.say(view);
    // A word of the command is not broken where it has a hyphen.
    const none = "No command makes this again. The trace does: tenure trace replay FILE";
    const words = (view.commands?.replay ?? none).split(" ");
    updateChildren(byId("replay"), ...words.flatMap((word, place) =>
      [place === 0 ? "" : " ", element("span", {}, word)]));
  }

  fresh(view) {
    this.chosen = 1;
    this.menu.close(false);
    if (view.words) this.form.show(view.words);
    for (const place of ["form-error", "step-error", "tree-error", "file-error"]) tell(place, null);
    document.title = `${view.algorithm} · Tenure lab`;
    history.replaceState(null, "", `#session=${encodeURIComponent(view.session)}`);
  }

  say(view) {
    const time = Number(view.time.toFixed(3));
    byId("about").textContent = `${view.algorithm}, ${view.n} processes`;
    byId("where").textContent = `time ${time}, moment ${view.moment}`;
    byId("told").setAttribute("aria-live", this.session.running ? "off" : "polite");
    byId("told").textContent = `${time}: ${told(view.happened) || "all have booted"}`;
    const { next, ended } = view;
    byId("next").textContent = next === null ? `Ended: ${ended ?? "nothing is left to do"}`
      : `Next${next.time === null || next.time === undefined ? "" :
        `, at ${Number(next.time.toFixed(3))}`}: ${next.says}`;
    const first = view.tree.find((each) => each.moment === view.moment)?.parent ?? null;
    for (const id of ["begin", "back"]) byId(id).disabled = first === null;
    for (const id of ["run", "step", "event", "end"]) byId(id).disabled = next === null;
  }

  /** Says on the button whether it runs. */
  runs(yes) {
    byId("run").textContent = yes ? "⏸" : "▶";
    byId("run").setAttribute("aria-label", yes ? "Pause" : "Run");
  }

  toggle() {
    if (this.session.running) return this.session.pause();
    if (this.session.view?.next === null) return null;
    tell("step-error", null);
    return this.session.run(Number(byId("speed").value),
      (problem) => tell("step-error", problem.message));
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
    this.stage.show(this.session.view, process);
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

/** What tests and other scripts of the page may use. */
window.lab = new Lab();
window.lab.first();
