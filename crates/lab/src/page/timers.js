// Remaining time of timers. A view contains the time at which a timer fires. This class remembers
// when the timer was first seen, as the time at which it was armed.

const keyOf = (process, { name, at }) => `${process} ${name} ${at}`;

export class Timers {
  constructor() {
    this.session = null;
    /** Time at which each known timer was armed, by the key of the timer. */
    this.armed = new Map();
    this.now = 0;
  }

  /**
   * Remembers the timers of a view. A timer that was not seen before counts as armed at the time of
   * the view.
   */
  show({ session, time, processes }) {
    if (session !== this.session) this.armed.clear();
    this.session = session;
    this.now = time;
    for (const { process, timers } of processes) {
      for (const timer of timers ?? []) {
        const key = keyOf(process, timer);
        this.armed.set(key, Math.min(time, this.armed.get(key) ?? Infinity));
      }
    }
  }

  /**
   * Returns the timers of a process, each with the part of its delay that is left, from 0 to 1.
   * Returns none if the process is down.
   */
  of({ process, up, timers }) {
    if (!up) return [];
    return (timers ?? []).map((timer) => {
      const armed = this.armed.get(keyOf(process, timer));
      const whole = timer.at - armed;
      const left = whole > 0 ? (timer.at - this.now) / whole : 1;
      return { name: timer.name, left: Math.min(1, Math.max(0, Number.isFinite(left) ? left : 1)) };
    });
  }
}
