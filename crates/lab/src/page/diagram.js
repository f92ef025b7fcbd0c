// The space–time diagram that the server draws, in a tree of its own so that styles keep apart.

import { byId } from "./element.js";

export class Diagram {
  constructor() {
    this.box = byId("diagram");
    this.root = this.box.attachShadow({ mode: "open" });
    this.svg = null;
  }

  show({ svg }) {
    if (svg === this.svg) return;
    this.svg = svg;
    this.root.innerHTML = svg ?? "";
    this.box.scrollLeft = this.box.scrollWidth;
  }
}
