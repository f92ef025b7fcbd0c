// One session with the server: asked one thing after the other, told of by one function.

import { api } from "./api.js";

export class Session {
  /** `shown` is called with each view and with what was asked for. */
  constructor(shown) {
    this.shown = shown;
    this.view = null;
    this.last = Promise.resolve();
    this.running = null;
    this.noted = () => {};
  }

  /** Begins a session, from words or from a trace; the present one stays if that fails. */
  begin(what) {
    this.pause();
    return this.turn(() => api.post("sessions", what));
  }

  /** Shows a session that the server has. */
  open(session) {
    return this.turn(() => api.get(`sessions/${session}`));
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
    return this.turn(() => api.post(`sessions/${this.view.session}/${verb}`, what));
  }

  /** Asks when everything before has been answered. */
  turn(asks) {
    const turn = this.last.then(async () => {
      const before = this.view;
      this.view = await asks();
      this.shown(this.view, before);
      return this.view;
    });
    this.last = turn.catch(() => {});
    return turn;
  }

  /** Steps so many times in a second, until it ends, something is violated or it is paused. */
  run(perSecond, failed) {
    this.pause();
    const running = { stopped: false };
    this.running = running;
    this.noted(true);
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
    this.noted(false);
  }
}

/** How many properties are violated. */
export function violated(view) {
  return view.verdicts.filter((each) => each.verdict === "violated").length;
}
