// Pictures that the engine has drawn. Each is in a shadow tree, so that its styles do not affect
// the page.

import { byId } from "./element.js";

/** Room for text to the right of the lifelines, in pixels. */
const BEHIND = 60;
/** Time from a step in a run until the diagram is drawn, in milliseconds: three frames. */
const DELAY = 50;

export class Diagram {
  constructor() {
    this.box = byId("diagram");
    this.root = this.box.attachShadow({ mode: "open" });
    this.svg = null;
    this.waiting = null;
    this.names = [];
    /** Verdict above the picture. */
    this.headline = null;
    this.box.addEventListener("scroll", () => this.follow());
  }

  /**
   * Keeps the names of the processes visible while the user scrolls. Keeps the headline visible
   * too, if it is narrower than the diagram.
   */
  follow() {
    const by = this.box.scrollLeft;
    for (const name of this.names) name.setAttribute("transform", `translate(${by} 0)`);
    if (this.headline === null) return;
    this.headline.removeAttribute("transform");
    const { right, width } = this.headline.getBoundingClientRect();
    const far = this.box.getBoundingClientRect().right - right;
    if (width < this.box.clientWidth) {
      this.headline.setAttribute("transform", `translate(${Math.min(by, far)} 0)`);
    }
  }

  /**
   * Returns the scroll position that shows the latest event. The headline has no influence, because
   * it may be wider than the diagram.
   */
  end() {
    const edge = this.box.getBoundingClientRect().left - this.box.scrollLeft;
    const lines = Array.from(this.root.querySelectorAll(".lane, .down"), (line) =>
      line.getBoundingClientRect().right - edge);
    return Math.max(0, ...lines) + BEHIND - this.box.clientWidth;
  }

  /**
   * Shows the diagram of a view. While a run continues, the messages begin to move before the
   * diagram is drawn.
   */
  show({ svg }, isRunning) {
    if (svg === this.svg) return;
    this.svg = svg;
    if (isRunning) this.waiting ??= setTimeout(() => this.draw(), DELAY);
    else this.draw();
  }

  draw() {
    clearTimeout(this.waiting);
    this.waiting = null;
    this.root.innerHTML = this.svg ?? "";
    this.names = Array.from(this.root.querySelectorAll(".name"));
    for (const name of this.names) name.classList.add("halo");
    this.headline = this.root.querySelector(".verdict");
    this.box.scrollLeft = this.end();
    this.follow();
  }
}

/** Picture of the logs of all processes, if the algorithm has logs. */
export class Logs {
  constructor() {
    this.box = byId("boxes");
    this.root = this.box.attachShadow({ mode: "open" });
    this.svg = null;
  }

  show({ logs }) {
    if (logs === this.svg) return;
    this.svg = logs;
    byId("logs").hidden = logs === null;
    this.root.innerHTML = logs ?? "";
  }
}
