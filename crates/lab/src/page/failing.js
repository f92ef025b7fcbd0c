// One sentence beside what could not be done; it goes when the same succeeds.

import { byId } from "./element.js";

export function tell(id, sentence) {
  byId(id).textContent = sentence ?? "";
  byId(id).hidden = !sentence;
}

/** Does something, and says under this name why it could not be done. Whether it was. */
export async function failing(id, action) {
  try {
    await action();
    tell(id, null);
    return true;
  } catch (problem) {
    tell(id, problem.message);
    return false;
  }
}
