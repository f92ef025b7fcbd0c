// Keyboard shortcuts of the page, unless the focused element handles the key.

const TAKEN = "input, select, textarea, [role=tree], [role=dialog], [role=region]";

/**
 * Registers actions by key, for the time in which `isActive` returns true. The space bar still
 * presses a focused button.
 */
export function keys(actions, isActive) {
  document.addEventListener("keydown", (event) => {
    if (!isActive()) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest(TAKEN)) return;
    if (event.key === " " && event.target.closest("button, summary, pre")) return;
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
}
