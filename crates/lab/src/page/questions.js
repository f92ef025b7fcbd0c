// Questions for self-study. An answer is hidden until the reader has written a guess.

import { commandBlock } from "./command.js";
import { byId, element, updateChildren } from "./element.js";
import { unknown } from "./errors.js";

export class Questions {
  /** Creates the list of questions. `changed` is called when the user selects a question. */
  constructor(chapters, changed) {
    this.changed = changed;
    this.all = chapters.flatMap((chapter) =>
      chapter.questions.map((question) => ({ chapter, question })));
    this.shown = null;
    /** Guesses by the id of the question. They live as long as the page. */
    this.guesses = new Map();
    updateChildren(byId("question-list"), ...chapters.map((chapter) => this.chapter(chapter)));
  }

  chapter({ title, questions }) {
    return element("details", { "data-key": title },
      element("summary", {}, title, element("span", { class: "soft" }, ` ${questions.length}`)),
      element("ul", {}, ...questions.map(({ id, text }) => element("li", {},
        element("button", {
          type: "button", class: "link", "data-question": id,
          onclick: () => {
            this.show(id);
            this.changed();
          },
        }, element("b", {}, id), ` ${text}`)))));
  }

  place() {
    return { question: this.shown ?? this.all[0].question.id };
  }

  show(id = this.shown ?? this.all[0].question.id) {
    const found = this.all.find(({ question }) => question.id === id);
    if (found === undefined) {
      this.shown = null;
      byId("question").replaceChildren(unknown("question", id));
      return;
    }
    this.shown = id;
    for (const button of byId("question-list").querySelectorAll("[data-question]")) {
      const isShown = button.dataset.question === id;
      button.setAttribute("aria-current", String(isShown));
      if (isShown) button.closest("details").open = true;
    }
    const { chapter, question } = found;
    byId("question").replaceChildren(
      element("h2", { id: "question-title" }, `${question.id}: ${question.text}`),
      element("details", {}, element("summary", {}, `Reminder: ${chapter.title}`),
        element("p", {}, ...inline(chapter.recalls))),
      ...this.guess(question));
  }

  /**
   * Creates the field for a guess, and the button that shows the answer. If the reader has made a
   * guess before, the answer is shown at once.
   */
  guess(question) {
    const given = this.guesses.get(question.id);
    const field = element("textarea", {
      id: "guess", rows: "3", "aria-label": "Your guess", placeholder: "Your guess, in a sentence",
    });
    field.value = given ?? "";
    const answer = element("div", { id: "answer", role: "region", "aria-label": "Answer" });
    const show = element("button", {
      type: "button", id: "show-answer", class: "start", onclick: () => {
        this.guesses.set(question.id, field.value.trim());
        show.hidden = true;
        answer.replaceChildren(...answerOf(question));
      },
    }, "Show the answer");
    const update = () => {
      show.disabled = field.value.trim() === "";
    };
    field.addEventListener("input", update);
    update();
    if (given !== undefined) show.click();
    const label = "Guess first. The answer appears after that.";
    return [element("label", { class: "wide" }, label, field), show, answer];
  }
}

/** Returns the parts of a text. Parts between backticks are code elements. */
function inline(text) {
  return text.split("`").map((part, place) => (place % 2 === 0 ? part
    : element("code", {}, part)));
}

/** Creates the answer to a question, a remark on its limits, and its experiments. */
function answerOf({ answer, beyond, experiments }) {
  const parts = answer.split("\n\n").map((part) => element("p", {}, ...inline(part)));
  if (beyond) parts.push(element("p", { class: "soft" }, "Not shown here: ", ...inline(beyond)));
  for (const { description, lines } of experiments) {
    if (description) parts.push(element("p", { class: "experiment" }, ...inline(description)));
    parts.push(...lines.map((line) => commandBlock(line)));
  }
  return parts;
}
