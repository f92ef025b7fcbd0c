// Chapters of the book. Their commands can be run in place.

import { commandButtons, focusOn, isRunnable } from "./command.js";
import { byId, element, updateChildren } from "./element.js";
import { unknown } from "./errors.js";

export class Book {
  /**
   * Creates the table of contents. `changed` is called when the user opens a chapter or a heading.
   */
  constructor(chapters, changed) {
    this.chapters = chapters;
    this.changed = changed;
    this.shown = null;
    this.heading = null;
    updateChildren(byId("chapters"), ...chapters.map(({ name, title }) => element("li", {},
      element("button", {
        type: "button", class: "link", "data-chapter": name, onclick: () => this.open(name),
      }, title))));
    byId("chapter").addEventListener("click", (event) => this.follow(event));
  }

  place() {
    return { book: this.shown ?? this.chapters[0].name, heading: this.heading };
  }

  open(name, heading = null) {
    this.show(name, heading);
    this.changed();
  }

  show(name = this.shown ?? this.chapters[0].name, heading = null) {
    const chapter = this.chapters.find((each) => each.name === name);
    if (chapter === undefined) {
      this.shown = null;
      byId("chapter").replaceChildren(unknown("chapter", name));
      return;
    }
    const isNew = this.shown !== name;
    [this.shown, this.heading] = [name, heading];
    for (const button of byId("chapters").querySelectorAll("[data-chapter]")) {
      button.setAttribute("aria-current", String(button.dataset.chapter === name));
    }
    if (isNew) {
      byId("chapter").innerHTML = chapter.html;
      const blocks = byId("chapter").querySelectorAll("pre[data-lines]");
      for (const block of blocks) addCommandButtons(block);
    }
    const target = heading === null ? null
      : byId("chapter").querySelector(`#${CSS.escape(heading)}`);
    if (target) target.scrollIntoView({ block: "start" });
    else if (isNew) focusOn("chapter");
  }

  /** Opens a clicked link to a chapter or a heading in this view. */
  follow(event) {
    const link = event.target.closest("a[data-chapter]");
    if (link === null) return;
    event.preventDefault();
    this.open(link.dataset.chapter || this.shown, link.dataset.heading || null);
  }
}

/**
 * Adds buttons for the commands of a code block, and an element below the block for their output.
 */
function addCommandButtons(block) {
  const lines = JSON.parse(block.dataset.lines).filter(isRunnable);
  if (lines.length === 0) return;
  const output = element("pre", { class: "output", tabindex: "0", "aria-live": "polite" });
  const rows = lines.map((line) => element("div", { class: "command" },
    lines.length > 1 ? element("code", {}, `$ tenure ${line}`) : null,
    commandButtons(line, output)));
  block.after(...rows, output);
}
