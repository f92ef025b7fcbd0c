// Opening of traces, and export of a trace, a page, a picture and a command.

import { byId } from "./element.js";
import { showingErrors } from "./errors.js";

/**
 * Lets users open a trace by a file selector or by dropping a file on the page. `open` receives the
 * text of the file.
 */
export function enableOpening(open) {
  const take = async (file) => {
    if (file === undefined) return;
    const isOpen = await showingErrors("file-error", async () => open(await file.text()));
    if (!isOpen) byId("file-error").scrollIntoView({ block: "nearest" });
  };
  byId("file").addEventListener("change", async (event) => {
    await take(event.target.files[0]);
    event.target.value = "";
  });
  const drop = byId("drop");
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    drop.hidden = false;
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) drop.hidden = true;
  });
  document.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    drop.hidden = true;
    take(event.dataTransfer.files[0]);
  });
}

const FILES = { trace: "trace.ndjson", page: "page.html", svg: "diagram.svg" };

/** Connects the export buttons with the session whose current moment they export. */
export function enableExport(session) {
  for (const [name, file] of Object.entries(FILES)) {
    const button = byId(`export-${name}`);
    button.addEventListener("click", () => showingErrors("export-error", async () => {
      const address = URL.createObjectURL(await session.file(file));
      const link = document.createElement("a");
      link.href = address;
      link.download = `${session.view.algorithm.replaceAll(/[^a-z0-9-]+/g, "-")}-${file}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    }));
  }
  byId("copy").addEventListener("click", () => showingErrors("export-error", async () => {
    const command = byId("replay").textContent;
    try {
      await navigator.clipboard.writeText(command);
    } catch {
      const range = document.createRange();
      range.selectNodeContents(byId("replay"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      throw new Error("Copying failed; the command is selected instead.");
    }
    byId("copy").textContent = "Copied";
    setTimeout(() => {
      byId("copy").textContent = "Copy";
    }, 1500);
  }));
}
