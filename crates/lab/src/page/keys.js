// Keyboard shortcuts of the page. They do not apply if the focused element handles the key itself.

const TAKEN = "input, select, textarea, [role=tree], [role=dialog], [role=region]";

/**
 * Registers actions by key. A key performs its action only while `isActive` returns true. If a
 * button has the focus, the space bar presses the button instead.
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
