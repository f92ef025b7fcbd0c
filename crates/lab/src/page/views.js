// Views of the page: run, check, questions and book. The page shows one of them at a time.

import { byId } from "./element.js";

export class Views {
  /**
   * Connects the buttons of the views. `onShow` receives the name of a view that the user chooses.
   */
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

  /** Shows the buttons of these views. If there is only one view, shows no buttons. */
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

/**
 * Returns the data that the page contains in the element `id`, parsed from JSON. Returns null if
 * there is no such element.
 */
export function contained(id) {
  const script = document.getElementById(id);
  return script === null ? null : JSON.parse(script.textContent);
}
