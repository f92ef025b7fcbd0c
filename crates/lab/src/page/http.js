// Engine that is reached over HTTP: the server of `tenure lab`.

const KEY = "tenure-lab-token";

/**
 * Returns the token in the URL, and removes it from the address bar and the history. If the URL has
 * no token, returns the one of this tab, or null.
 */
function token() {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  if (given === null) return sessionStorage.getItem(KEY);
  sessionStorage.setItem(KEY, given);
  address.searchParams.delete("token");
  history.replaceState(null, "", address);
  return given;
}

export class HttpEngine {
  constructor() {
    this.token = token();
  }

  /** Returns true if requests need the token in the address that the lab printed. */
  requiresToken() {
    return this.token !== null;
  }

  /**
   * Sends a request. Resolves to an object with the JSON `body` of the response. For a file, the
   * object has its content `type` and its `text` instead.
   */
  async request({ method, path, body, isFile = false, signal }) {
    const headers = this.token === null ? {} : { Authorization: `Bearer ${this.token}` };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(`/api/${path}`, { method, headers, signal,
        body: JSON.stringify(body) });
    } catch (problem) {
      if (signal?.aborted) throw problem;
      throw new Error("The lab does not respond: is tenure lab still running?");
    }
    if (response.ok) {
      if (!isFile) return { body: await response.json() };
      return { type: response.headers.get("Content-Type"), text: await response.text() };
    }
    let message = null;
    try {
      message = (await response.json()).error;
    } catch {
      // A response that is not JSON has no message.
    }
    const problem = new Error(message ?? `The lab responded with status ${response.status}.`);
    problem.status = response.status;
    throw problem;
  }

  /** Runs a command at the server. The server reports no progress. */
  async command(body, progress, signal) {
    return (await this.request({ method: "POST", path: "commands", body, signal })).body;
  }
}
