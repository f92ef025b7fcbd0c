// Engine in the page: a WebAssembly module in workers. All sessions share one worker. Each command
// has a worker of its own, so that a long search does not delay the picture, and can be cancelled.

/** Decodes the module, which the page contains as gzip data in base64, and compiles it. */
function compile(base64) {
  const letters = atob(base64.trim());
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const headers = { "Content-Type": "application/wasm" };
  return WebAssembly.compileStreaming(new Response(plain, { headers }));
}

/** Worker with an instance of the module. The worker handles one request after another. */
class Instance {
  constructor(source, module) {
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.worker = new Worker(address);
    URL.revokeObjectURL(address);
    this.open = new Map();
    this.last = 0;
    this.isBroken = false;
    this.progress = () => {};
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (event) => this.fail(event.message);
    this.worker.postMessage({ module });
  }

  request(request) {
    this.last += 1;
    return new Promise((resolve, reject) => {
      this.open.set(this.last, { resolve, reject });
      this.worker.postMessage({ number: this.last, request });
    });
  }

  receive({ number, response, progress, trap }) {
    if (progress !== undefined) this.progress(progress);
    if (trap !== undefined) this.fail(trap);
    if (response === undefined) return;
    this.open.get(number)?.resolve(response);
    this.open.delete(number);
  }

  /** Rejects all open requests and ends the worker. This instance cannot be used again. */
  fail(reason) {
    this.isBroken = true;
    this.worker.terminate();
    for (const { reject } of this.open.values()) reject(new Error(reason));
    this.open.clear();
  }
}

export class ModuleEngine {
  /** Creates the engine from the encoded module and the source text of the worker. */
  constructor(base64, source) {
    this.source = source;
    this.module = compile(base64);
    this.sessions = null;
  }

  /** Returns false, because the engine is a part of the page. */
  requiresToken() {
    return false;
  }

  async request({ method, path, body }) {
    const module = await this.module;
    if (this.sessions === null || this.sessions.isBroken) {
      this.sessions = new Instance(this.source, module);
    }
    return succeeded(await this.sessions.request({ method, path, body }));
  }

  async command(body, progress, signal) {
    const instance = new Instance(this.source, await this.module);
    instance.progress = progress;
    const cancel = () => instance.fail("The command was cancelled.");
    signal?.addEventListener("abort", cancel);
    if (signal?.aborted) cancel();
    try {
      const request = { method: "POST", path: "commands", body };
      return succeeded(await instance.request(request)).body;
    } finally {
      signal?.removeEventListener("abort", cancel);
      instance.worker.terminate();
    }
  }
}

/**
 * Returns a response of success. For any other response, throws an error with its message and
 * status.
 */
function succeeded(response) {
  if (response.status < 400) return response;
  const problem = new Error(response.body?.error ?? `The engine failed: ${response.status}.`);
  problem.status = response.status;
  throw problem;
}
