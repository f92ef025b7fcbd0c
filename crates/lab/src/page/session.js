// Client of one session of the engine. Its requests run one after another.

import { api } from "./api.js";
import { pathOf, requestsOf } from "./path.js";

/**
 * First words of the description of a run that was opened from a trace. Such a run has no command
 * line.
 */
const RECORDED = "a recorded ";

/**
 * Returns the command line of the run in a view. Returns null if the run was opened from a trace.
 */
export function commandLineOf({ words }) {
  return words.startsWith(RECORDED) ? null : words;
}

/**
 * Returns the part of a link that describes the run in a view. Returns null if no link can describe
 * the run.
 */
function originOf(view) {
  const run = commandLineOf(view);
  return run === null ? null : { run };
}

export class Session {
  /** Creates the client. `onView` receives each new view and the previous view. */
  constructor(onView) {
    this.onView = onView;
    this.view = null;
    this.last = Promise.resolve();
    this.running = null;
    this.onRunningChange = () => {};
    this.origin = null;
  }

  /**
   * Creates a session from options or from a trace, and goes along a path. If this fails, the
   * present session stays open. `origin` describes the run in a link. If `origin` is null, the
   * command line of the run describes it.
   */
  begin(what, { origin = null, path = "" } = {}) {
    this.pause();
    return this.enqueue(async () => {
      const first = await api.post("sessions", what);
      let view = first;
      for (const [verb, request] of requestsOf(path)) {
        view = await api.post(`sessions/${view.session}/${verb}`, request);
      }
      this.origin = origin ?? originOf(first);
      return view;
    });
  }

  /**
   * Opens an existing session. If `run` is given, fails if the session has other options than
   * `run`.
   */
  open(session, run) {
    this.pause();
    return this.enqueue(async () => {
      const view = await api.get(`sessions/${session}`);
      if (run !== undefined && view.words !== run) throw new Error("The session has another run.");
      this.origin = originOf(view);
      return view;
    });
  }

  /**
   * Returns the place of the present moment for a link. Returns null if no link can describe the
   * run, because it was opened from a file.
   */
  place() {
    if (this.origin === null || this.view === null) return null;
    return { ...this.origin, path: pathOf(this.view) };
  }

  step(steps = 1) {
    return this.ask("step", { steps });
  }

  /** Takes steps until the next event of a user, or until the end of the run. */
  until(what) {
    return this.ask("step", { until: what });
  }

  act(what) {
    return this.ask("act", what);
  }

  go(moment) {
    return this.ask("go", { moment });
  }

  /** Goes to the moment before the present one. Earlier requests are completed first. */
  back() {
    if (this.view === null) return Promise.resolve();
    return this.enqueue(() => {
      const here = this.view.tree.find((each) => each.moment === this.view.moment);
      const parent = here?.parent ?? null;
      if (parent === null) return this.view;
      return api.post(`sessions/${this.view.session}/go`, { moment: parent });
    });
  }

  file(name) {
    return api.file(`sessions/${this.view.session}/${name}`);
  }

  /** Sends a request to the session. Does nothing if no session is open. */
  ask(verb, what) {
    if (this.view === null) return Promise.resolve();
    return this.enqueue(() => api.post(`sessions/${this.view.session}/${verb}`, what));
  }

  /** Performs a request after all earlier requests, and shows the view to which it resolves. */
  enqueue(request) {
    const turn = this.last.then(async () => {
      const before = this.view;
      this.view = await request();
      this.onView(this.view, before);
      return this.view;
    });
    this.last = turn.catch(() => {});
    return turn;
  }

  /**
   * Takes `perSecond` steps per second until the run ends, a further property is violated, or the
   * user pauses. `failed` receives an error.
   */
  run(perSecond, failed) {
    this.pause();
    const running = { stopped: false };
    this.running = running;
    this.onRunningChange(true);
    const once = async () => {
      if (running.stopped) return;
      const began = performance.now();
      const broken = violated(this.view);
      try {
        const view = await this.step();
        if (view.ended !== null || violated(view) > broken) this.pause();
      } catch (problem) {
        this.pause();
        failed(problem);
      }
      const rest = 1000 / perSecond - (performance.now() - began);
      if (!running.stopped) setTimeout(once, Math.max(0, rest));
    };
    once();
  }

  pause() {
    if (this.running === null) return;
    this.running.stopped = true;
    this.running = null;
    this.onRunningChange(false);
  }
}

/** Returns the number of violated properties in a view. */
export function violated(view) {
  return view.verdicts.filter((each) => each.verdict === "violated").length;
}
