// Connects the parts of the page with each other and with user input.

import { api } from "./api.js";
import { Book } from "./book.js";
import { Check, simulated } from "./check.js";
import { openCommandsWith } from "./command.js";
import { Diagram, Logs } from "./diagram.js";
import { byId, element, updateChildren } from "./element.js";
import { FIRST, examples, hintOf } from "./examples.js";
import { showError, showingErrors } from "./errors.js";
import { figures } from "./figures.js";
import { enableExport, enableOpening } from "./files.js";
import { Form, SIMULATE } from "./form.js";
import { keys } from "./keys.js";
import { Menu } from "./menu.js";
import { messageRows, sentence } from "./messages.js";
import { isCutOff, withPartition } from "./partition.js";
import { linkTo, onPlaceChange, readPlace, writePlace } from "./place.js";
import { condition, processRows } from "./processes.js";
import { Questions } from "./questions.js";
import { commandLineOf, Session } from "./session.js";
import { Picture } from "./picture.js";
import { State } from "./state.js";
import { Tree } from "./tree.js";
import { verdicts } from "./verdicts.js";
import { contained, Views } from "./views.js";

/** Describes events in one line. Lists several receivers of the same message together. */
function describeEvents(happened) {
  const said = [];
  for (const sentence of happened) {
    const [, what, to] = /^(P\d+ sends .* to )(P\d+)$/.exec(sentence) ?? [];
    if (what !== undefined && said.at(-1)?.startsWith(what)) said.push(`${said.pop()}, ${to}`);
    else said.push(sentence);
  }
  return said.join("; ");
}

/** Maximum height of the header, and of a hint, in pixels. */
const HEADER = 120;

/**
 * Scrolls to the controls and the picture, unless they are visible or the page is embedded in
 * another one.
 */
function lookAtPicture() {
  const main = document.querySelector("main");
  const { top } = main.getBoundingClientRect();
  const { bottom } = byId("picture").getBoundingClientRect();
  const isCut = top < 0 || (top > HEADER && bottom + HEADER > window.innerHeight);
  if (isCut && !document.body.classList.contains("embedded")) main.scrollIntoView();
}

/**
 * Returns a remark about the part that a user must add to a link so that the link works elsewhere.
 * Returns an empty text if the link works as it is.
 */
function remarkOnLinks() {
  if (location.protocol === "file:") {
    return ". On another computer, append its end from # to the address of the page there.";
  }
  return api.requiresToken ? ". Another tab needs the token as well: append the end of the link, "
    + "from #, to the address with ?token= that tenure lab printed." : "";
}

class Lab {
  constructor() {
    this.api = api;
    this.algorithms = [];
    this.chosen = 1;
    this.session = new Session((view, before) => this.show(view, before));
    this.session.onRunningChange = (isRunning) => this.showRunning(isRunning);
    this.form = new Form("", SIMULATE, (words) => this.begin(words));
    this.menu = new Menu();
    this.picture = new Picture({
      message: (message, button) => this.openMessage(message, button),
      process: (process, button) => this.openProcess(process, button),
    });
    this.state = new State((process) => this.choose(process));
    this.tree = new Tree((moment) => this.go(moment, "tree-error"));
    this.diagram = new Diagram();
    this.logs = new Logs();
    this.views = new Views(() => this.showView());
    this.check = new Check({
      walk: (report, trace, origin, path) => this.walk(report, trace, origin, path),
      vary: (words) => this.simulate(words),
      changed: () => this.writePlace(),
    });
    this.contents();
    examples({
      run: (words, hint) => this.simulate(words, hint),
      walk: (line, property) => this.find(line, property, "@0"),
    });
    enableOpening(async (trace) => {
      this.views.show("run");
      this.tell(null);
      await this.session.begin({ trace });
    });
    enableExport(this.session);
    this.controls();
  }

  /**
   * Creates the parts that only a page in one file contains, and opens the place of a changed URL.
   */
  contents() {
    const changed = () => this.writePlace();
    const [questions, book] = [contained("questions-data"), contained("book-data")];
    this.questions = questions && new Questions(questions, changed);
    this.book = book && new Book(book, changed);
    this.views.offer(["run", ...(api.isAlone ? ["check"] : []), ...(questions ? ["questions"] : []),
      ...(book ? ["book"] : [])]);
    openCommandsWith({
      check: (line) => {
        this.views.show("check");
        this.check.start(line);
      },
      simulate: (words) => this.simulate(words),
    });
    onPlaceChange((place) => this.open(place));
  }

  /**
   * Opens the place of the URL. If the URL names no run, opens the session of the command line, or
   * else a default run. If the link cannot be opened, the reason remains shown.
   */
  async first() {
    this.form.show(FIRST);
    await showingErrors("form-error", async () => {
      this.algorithms = await api.get("algorithms");
      this.form.setAlgorithms(this.algorithms);
      this.check.setAlgorithms(this.algorithms);
    });
    if (await this.open(readPlace())) return;
    const reason = byId("step-error").textContent;
    const { first } = await api.get("sessions").catch(() => ({ first: null }));
    if (first === null || !await this.opened(first)) await this.begin(FIRST);
    showError("step-error", reason && `The link cannot be opened: ${reason}`);
  }

  /**
   * Opens the place of a link. Resolves to true if this begins or shows a run, and to false if the
   * place names no run or its run cannot begin.
   */
  async open(place) {
    const { session, run, path, found, property, question, book, heading } = place;
    const check = place.check ?? (property === undefined ? found : undefined);
    if (place.embedded !== undefined) document.body.classList.add("embedded");
    if (session !== undefined && await this.opened(session, run)) {
      // The session may be at another moment by now.
      const shown = this.session.place()?.path;
      if (path === undefined || shown === undefined || path === shown) return true;
    }
    if (run !== undefined) {
      this.views.show("run");
      return this.begin(run, path, "step-error");
    }
    if (check === undefined && found !== undefined) return this.find(found, property, path);
    const view = check !== undefined ? "check" : question !== undefined ? "questions"
      : book !== undefined ? "book" : "run";
    this.views.show(view);
    if (view === "check") this.check.start(check);
    if (view === "questions") this.questions?.show(question);
    if (view === "book") this.book?.show(book, heading ?? null);
    return false;
  }

  /**
   * Opens an existing session. Resolves to false if there is no such session, or if it has another
   * run than `run`.
   */
  opened(session, run) {
    return this.session.open(session, run).then(() => true, () => false);
  }

  /**
   * Begins a run and goes along a path. Shows an error in the element `place`, and resolves to
   * false then.
   */
  begin(words, path, place = "form-error") {
    return showingErrors(place, () => this.session.begin({ words }, { path }));
  }

  /** Begins a run of the simulator in the view for runs, and shows a hint. */
  async simulate(words, hint = null) {
    this.views.show("run");
    this.form.show(words);
    if (await this.begin(words)) this.tell(hint);
  }

  /** Searches for a counterexample and shows it as a run. Resolves to false if there is none. */
  find(line, property, path) {
    this.views.show("check");
    this.check.form.show(line);
    this.check.line = line;
    updateChildren(byId("result"));
    return this.check.walk(line, property, null, path || "@0");
  }

  /**
   * Shows the counterexample of a report at its beginning, or goes along a path. `origin` describes
   * the check in a link. Resolves to true on success.
   */
  async walk(report, trace, origin, path) {
    const { found: line, property } = origin;
    this.views.show("run");
    const begun = await showingErrors("step-error",
      () => this.session.begin({ trace }, { origin, path }));
    if (!begun) return false;
    this.form.show(simulated(line, report.n));
    const steps = report.counterexample?.length;
    this.tell(hintOf(line, property) ?? `Shortest counterexample to ${property}: ${steps} steps. `
      + "Step (→) through it, or act differently at any moment.");
    return true;
  }

  /** Shows a hint above the picture; null removes it. */
  tell(hint) {
    byId("hint").textContent = hint ?? "";
    byId("hint").hidden = hint === null;
    if (hint !== null) lookAtPicture();
  }

  /** Shows the content of the view that the user has chosen. */
  showView() {
    if (this.views.shown === "questions") this.questions.show();
    if (this.views.shown === "book") this.book.show();
    if (this.views.shown === "check" && this.check.line === "") {
      this.check.form.show("ricart-agrawala -n 2");
    }
    if (this.views.shown === "run" && this.session.view) this.picture.show(this.session.view);
    this.writePlace();
  }

  /**
   * Returns the place of the present view, from which a link is made. Returns null if no link can
   * lead to the view.
   */
  place() {
    const view = { check: this.check, questions: this.questions, book: this.book };
    return (view[this.views.shown] ?? this.session).place();
  }

  /** Writes the place of the present view into the URL. */
  writePlace() {
    const place = this.place();
    const { view } = this.session;
    if (this.views.shown !== "run" || api.isAlone) writePlace(place ?? {});
    else if (view) writePlace({ session: view.session, ...place });
  }

  /** Copies a link to the present moment. */
  async share() {
    const place = this.place();
    const note = byId("share-note");
    note.hidden = false;
    if (place === null) {
      note.textContent = "This run came from a file: export its trace instead of a link.";
      return;
    }
    const link = linkTo(place);
    const text = await navigator.clipboard?.writeText(link).then(() => "Link copied: ",
      () => "Link to this moment: ") ?? "Link to this moment: ";
    note.replaceChildren(text, element("a", { href: link }, decodeURIComponent(link)),
      element("span", {}, remarkOnLinks()));
  }

  go(moment, place) {
    this.session.pause();
    return showingErrors(place, () => this.session.go(moment));
  }

  /** Pauses a running session and performs `request`. Shows an error beside the controls. */
  move(request) {
    this.session.pause();
    return showingErrors("step-error", request);
  }

  show(view, before) {
    if (view.session !== before?.session) this.showNewSession(view);
    this.picture.show(view, this.chosen);
    this.state.show(view, this.chosen);
    this.tree.show(view);
    this.diagram.show(view, this.session.running !== null);
    this.logs.show(view);
    verdicts(view, (moment) => this.go(moment, "step-error"));
    figures(view);
    this.say(view);
    const isDefault = !before && view.words === FIRST;
    if (view.session !== before?.session && !isDefault) lookAtPicture();
    byId("share-note").hidden = true;
    if (this.views.shown === "run" && !this.session.running) this.writePlace();
    // Each word is an element, because a line break must not split an option at its hyphen.
    const none = "No command reproduces this history. Export it and use: tenure trace replay FILE";
    byId("copy").disabled = !view.commands?.replay;
    const words = (view.commands?.replay ?? none).split(" ");
    updateChildren(byId("replay"), ...words.flatMap((word, place) =>
      [place === 0 ? "" : " ", element("span", {}, word)]));
  }

  showNewSession(view) {
    this.chosen = 1;
    this.tell(null);
    this.menu.close(false);
    const words = commandLineOf(view);
    if (words !== null) this.form.show(words);
    for (const place of ["form-error", "step-error", "tree-error", "file-error"]) {
      showError(place, null);
    }
    document.title = `${view.algorithm} · ${document.querySelector("h1").textContent}`;
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

  /**
   * Updates the run button when the session starts or stops running. Writes the place only when the
   * session stops, because browsers limit how often a page changes its URL.
   */
  showRunning(isRunning) {
    if (!isRunning && this.views.shown === "run") this.writePlace();
    this.picture.motion.setPace(isRunning ? 1000 / Number(byId("speed").value) : null);
    byId("run").textContent = isRunning ? "❚❚" : "▶";
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
    click("share", () => this.share());
    click("end", () => this.move(() => session.until("end")));
    byId("speed").addEventListener("change", () => {
      if (!session.running) return;
      this.toggle();
      this.toggle();
    });
    keys({ " ": () => this.toggle(), ArrowRight: step, ArrowLeft: back, e: event, E: event },
      () => this.views.shown === "run");
  }

  choose(process) {
    this.chosen = process;
    this.picture.show(this.session.view, process);
    this.state.show(this.session.view, process);
  }

  /**
   * Performs an action from the menu of a process. The start or end of a partition is an option of
   * the run. For such an action, begins the run again with the changed option, and goes to the same
   * moment.
   */
  async act(what) {
    const words = withPartition(this.session.view, what);
    if (words === null) return this.session.act(what);
    const path = this.session.place()?.path;
    if (path === undefined || this.session.origin.run === undefined) {
      throw new Error("Only a run with options of its own can have a partition.");
    }
    return this.session.begin({ words }, { path });
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
      (act) => processRows(view, process, isCutOff(view, number), act),
      (what) => this.act(what));
  }
}

/** Interface for tests and other scripts. */
window.lab = new Lab();
window.lab.first();
