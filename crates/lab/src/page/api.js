// Requests of the page to its engine: JSON in, JSON out, with a one-sentence error message.
//
// There are two engines. `tenure lab` answers over HTTP. A page in one file contains the engine as
// WebAssembly. Both take the same requests.

import { HttpEngine } from "./http.js";
import { ModuleEngine } from "./module_engine.js";

const module = document.getElementById("engine-module");

const engine = module === null ? new HttpEngine() : new ModuleEngine(module.textContent,
  document.getElementById("engine-worker").textContent);

export const api = {
  /** True if the page contains its engine and thus needs no server. */
  isAlone: module !== null,
  /** True if a link to the page works only with the token of the server. */
  requiresToken: engine.requiresToken(),
  async get(path) {
    return (await engine.request({ method: "GET", path })).body;
  },
  async post(path, body) {
    return (await engine.request({ method: "POST", path, body })).body;
  },
  /** Downloads a file. */
  async file(path) {
    const { type, text } = await engine.request({ method: "GET", path, isFile: true });
    return new Blob([text], { type });
  },
  /**
   * Runs a command line of `tenure`, without the first word, and resolves to its exit status, its
   * texts and its files. `progress` receives the progress of a search; `signal` ends the command.
   */
  command(line, { files = {}, progress = () => {}, signal } = {}) {
    return engine.command({ line, files }, progress, signal);
  },
};
