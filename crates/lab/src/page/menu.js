// Menu beside the button that opened it.

import { byId, element } from "./element.js";

const FOCUSABLE = "button, select, input";

export class Menu {
  constructor() {
    this.box = byId("menu");
    this.anchor = null;
    this.box.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("pointerdown", (event) => {
      if (this.anchor && !this.box.contains(event.target)) this.close(false);
    });
    window.addEventListener("resize", () => this.place());
    window.addEventListener("scroll", () => this.place(), true);
  }

  /**
   * Opens the menu at the button `anchor`. `rows` receives a function that performs an action, and
   * returns the rows of the menu. `act` performs an action. After a success the menu closes, and
   * after an error it shows the error.
   */
  open(anchor, title, description, rows, act) {
    this.anchor = anchor;
    const problem = element("p", { class: "error", role: "alert", hidden: true });
    const done = async (what) => {
      try {
        await act(what);
        this.close();
      } catch (found) {
        problem.textContent = found.message;
        problem.hidden = false;
        this.place();
      }
    };
    const shut = element("button", {
      type: "button", class: "shut", "aria-label": "Close", onclick: () => this.close(),
    }, "×");
    this.box.replaceChildren(
      element("header", {}, element("h2", { id: "menu-title" }, title), shut),
      element("p", { class: "soft" }, description), ...rows(done), problem);
    this.box.hidden = false;
    this.place();
    const [, first = shut] = this.box.querySelectorAll(FOCUSABLE);
    first.focus();
  }

  /**
   * Closes the menu. If `back` is true or the menu has the focus, the focus returns to the button,
   * or to the process of a button that is gone.
   */
  close(back = true) {
    if (this.anchor === null) return;
    const { anchor } = this;
    this.anchor = null;
    const within = this.box.contains(document.activeElement);
    this.box.hidden = true;
    this.box.replaceChildren();
    if (!back && !within) return;
    if (anchor.isConnected) anchor.focus();
    else document.querySelector(`.process[data-process="${anchor.dataset.to}"]`)?.focus();
  }

  place() {
    if (this.anchor === null || !this.anchor.isConnected) return;
    const at = this.anchor.getBoundingClientRect();
    const { offsetWidth: wide, offsetHeight: high } = this.box;
    const [right, bottom] = [document.documentElement.clientWidth, window.innerHeight];
    const left = Math.max(8, Math.min(at.left, right - wide - 8));
    const below = at.bottom + 6 + high <= bottom;
    const top = below ? at.bottom + 6 : Math.max(8, at.top - high - 6);
    this.box.style.left = `${left}px`;
    this.box.style.top = `${Math.max(8, Math.min(top, bottom - high - 8))}px`;
  }

  key(event) {
    const all = [...this.box.querySelectorAll(FOCUSABLE)];
    const at = all.indexOf(document.activeElement);
    const move = { ArrowDown: 1, ArrowUp: -1, Tab: event.shiftKey ? -1 : 1 }[event.key];
    if (event.key === "Escape") this.close();
    else if (move !== undefined && !(event.key !== "Tab" && all[at]?.matches("select, input"))) {
      all[(at + move + all.length) % all.length]?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
