// HTTP client of the page: JSON requests, with a one-sentence error message.

const KEY = "tenure-lab-token";

/** Returns the token of the URL and removes it from the address bar and the history. */
function token() {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  if (given === null) return sessionStorage.getItem(KEY);
  sessionStorage.setItem(KEY, given);
  address.searchParams.delete("token");
  history.replaceState(null, "", address);
  return given;
}

const TOKEN = token();

async function request(path, { method = "GET", body } = {}) {
  const headers = TOKEN === null ? {} : { Authorization: `Bearer ${TOKEN}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(`/api/${path}`, { method, headers, body: JSON.stringify(body) });
  } catch {
    throw new Error("The lab does not respond: is tenure lab still running?");
  }
  if (response.ok) return response;
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

export const api = {
  async get(path) {
    return (await request(path)).json();
  },
  async post(path, body) {
    return (await request(path, { method: "POST", body })).json();
  },
  /** Downloads a file. */
  async file(path) {
    return (await request(path)).blob();
  },
};
