// Client of one session on the server; its requests run one after another.

import { api } from "./api.js";

export class Session {
  /** Creates the client; `onView` receives each new view and the previous one. */
  constructor(onView) {
    this.onView = onView;
    this.view = null;
    this.last = Promise.resolve();
    this.running = null;
    this.onRunningChange = () => {};
  }

  /** Creates a session from options or a trace; the present one stays if that fails. */
  begin(what) {
    this.pause();
    return this.enqueue(() => api.post("sessions", what));
  }

  /** Opens an existing session. */
  open(session) {
    return this.enqueue(() => api.get(`sessions/${session}`));
  }

  step(steps = 1) {
    return this.ask("step", { steps });
  }

  until(what) {
    return this.ask("step", { until: what });
  }

  act(what) {
    return this.ask("act", what);
  }

  go(moment) {
    return this.ask("go", { moment });
  }

  back() {
    const here = this.view?.tree.find((each) => each.moment === this.view.moment);
    const parent = here?.parent ?? null;
    return parent === null ? Promise.resolve() : this.go(parent);
  }

  file(name) {
    return api.file(`sessions/${this.view.session}/${name}`);
  }

  ask(verb, what) {
    if (this.view === null) return Promise.resolve();
    return this.enqueue(() => api.post(`sessions/${this.view.session}/${verb}`, what));
  }

  /** Sends a request after all earlier ones are complete. */
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

  /** Takes steps at this rate until the run ends, a property is violated, or the user pauses. */
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

/** Number of violated properties. */
export function violated(view) {
  return view.verdicts.filter((each) => each.verdict === "violated").length;
}
