// Pictures drawn by the server, each in a shadow tree so that their styles stay separate.

import { byId } from "./element.js";

/** Room for text after the ends of the lifelines, in pixels. */
const BEHIND = 60;

export class Diagram {
  constructor() {
    this.box = byId("diagram");
    this.root = this.box.attachShadow({ mode: "open" });
    this.svg = null;
    this.names = [];
    this.box.addEventListener("scroll", () => this.follow());
  }

  /** Keeps the names of the processes in view. */
  follow() {
    for (const name of this.names) {
      name.setAttribute("transform", `translate(${this.box.scrollLeft} 0)`);
    }
  }

  /** Scroll position that shows the latest event; the headline may be wider than the diagram. */
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

/** Logs of all processes, if the algorithm has any; also drawn by the server. */
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
