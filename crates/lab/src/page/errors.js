// Error messages beside controls. A later success removes the message.

import { byId, element } from "./element.js";

/** Shows an error message in the element `id`. Null hides the element. */
export function showError(id, sentence) {
  byId(id).textContent = sentence ?? "";
  byId(id).hidden = !sentence;
}

/** Creates an error message for an item that is not in its list. */
export function unknown(kind, name) {
  return element("p", { class: "error", role: "alert" },
    `unknown ${kind} '${name}': select one in the list`);
}

/**
 * Performs an action, and shows its error in the element `id`. Resolves to true on success, and to
 * false after an error.
 */
export async function showingErrors(id, action) {
  try {
    await action();
    showError(id, null);
    return true;
  } catch (problem) {
    showError(id, problem.message);
    return false;
  }
}
