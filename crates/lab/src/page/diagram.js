// The pictures that the server draws, each in a tree of its own so that styles keep apart.

import { byId } from "./element.js";

/** Behind the end of the lines of the processes words may stand, in pixels. */
const BEHIND = 60;

export class Diagram {
  constructor() {
    this.box = byId("diagram");
    this.root = this.box.attachShadow({ mode: "open" });
    this.svg = null;
    this.names = [];
    this.box.addEventListener("scroll", () => this.follow());
  }

  /** The names of the processes stay in sight. */
  follow() {
    for (const name of this.names) {
      name.setAttribute("transform", `translate(${this.box.scrollLeft} 0)`);
    }
  }

  /** How far to scroll until what happened last is in sight; what is above may be wider. */
  end() {
    const edge = this.box.getBoundingClientRect().left - this.box.scrollLeft;
    const lines = Array.from(this.root.querySelectorAll(".lane, .down"), (line) =>
      line.getBoundingClientRect().right - edge);
    return Math.max(0, ...lines) + BEHIND - this.box.clientWidth;
  }

  show({ svg }) {
    if (svg === this.svg) return;
    this.svg = svg;
    this.root.innerHTML = svg ?? "";
    this.names = Array.from(this.root.querySelectorAll(".name"));
    for (const name of this.names) name.classList.add("halo");
    this.box.scrollLeft = this.end();
    this.follow();
  }
}

/** What all have as their logs, where there are any: drawn by the server as well. */
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
