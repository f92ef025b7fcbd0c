// Requests of the page to its engine. Requests and responses are JSON. An error has a message of
// one sentence.
//
// There are two engines. `tenure lab` responds over HTTP. A page in one file contains the engine as
// a WebAssembly module. Both accept the same requests for sessions.

import { HttpEngine } from "./http.js";
import { ModuleEngine } from "./module_engine.js";

const module = document.getElementById("engine-module");

const engine = module === null ? new HttpEngine() : new ModuleEngine(module.textContent,
  document.getElementById("engine-worker").textContent);

export const api = {
  /** True if the page contains its engine and therefore needs no server. */
  isAlone: module !== null,
  /** True if the server requires a token, so that a link to the page works only with the token. */
  requiresToken: engine.requiresToken(),
  async get(path) {
    return (await engine.request({ method: "GET", path })).body;
  },
  async post(path, body) {
    return (await engine.request({ method: "POST", path, body })).body;
  },
  /** Requests a file and resolves to its content as a Blob. */
  async file(path) {
    const { type, text } = await engine.request({ method: "GET", path, isFile: true });
    return new Blob([text], { type });
  },
  /**
   * Runs a command line of `tenure`, without its first word. Resolves to the exit status, the
   * output, and the files that the command wrote. `files` are the texts of the files that the
   * command may read. `progress` receives the progress of a search. `signal` cancels the command.
   */
  command(line, { files = {}, progress = () => {}, signal } = {}) {
    return engine.command({ line, files }, progress, signal);
  },
};
