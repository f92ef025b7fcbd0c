// Views of the page: run, check, questions, book. One is shown at a time.

import { byId } from "./element.js";

export class Views {
  /** Creates the buttons; `onShow` receives the name of a view that the user chooses. */
  constructor(onShow) {
    this.shown = "run";
    /** Scroll positions of the views that are not shown. */
    this.scrolled = new Map();
    this.buttons = [...document.querySelectorAll("#views [data-view]")];
    for (const button of this.buttons) {
      button.addEventListener("click", () => {
        this.show(button.dataset.view);
        onShow(button.dataset.view);
      });
    }
    this.show("run");
  }

  /** Offers these views; with one alone, no buttons are shown. */
  offer(names) {
    for (const button of this.buttons) button.hidden = !names.includes(button.dataset.view);
    byId("views").hidden = names.length < 2;
  }

  show(name) {
    const isOther = name !== this.shown;
    if (isOther) this.scrolled.set(this.shown, window.scrollY);
    this.shown = name;
    for (const button of this.buttons) {
      button.setAttribute("aria-current", button.dataset.view === name ? "page" : "false");
    }
    for (const part of document.querySelectorAll("[data-shows]")) {
      part.hidden = part.dataset.shows !== name;
    }
    document.body.dataset.view = name;
    if (isOther) window.scrollTo(0, this.scrolled.get(name) ?? 0);
  }
}

/** Returns data that the page contains, parsed from JSON; null if it contains none. */
export function contained(id) {
  const script = document.getElementById(id);
  return script === null ? null : JSON.parse(script.textContent);
}
