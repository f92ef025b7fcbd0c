// Error messages beside controls; a later success removes them.

import { byId, element } from "./element.js";

export function showError(id, sentence) {
  byId(id).textContent = sentence ?? "";
  byId(id).hidden = !sentence;
}

/** Creates the message for an item that a list does not contain. */
export function unknown(kind, name) {
  return element("p", { class: "error", role: "alert" },
    `unknown ${kind} '${name}': select one in the list`);
}

/** Performs an action and shows its error in the element `id`. Resolves to true on success. */
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
