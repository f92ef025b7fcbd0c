// How the page speaks with the server: JSON, and one sentence where something is not possible.

const KEY = "tenure-lab-token";

/** The token of the address, which is then neither shown nor kept in the history. */
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

async function ask(path, { method = "GET", body } = {}) {
  const headers = TOKEN === null ? {} : { Authorization: `Bearer ${TOKEN}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(`/api/${path}`, { method, headers, body: JSON.stringify(body) });
  } catch {
    throw new Error("The lab does not answer: is its command still running?");
  }
  if (answer.ok) return answer;
  let says = null;
  try {
    says = (await answer.json()).error;
  } catch {
    // What is not JSON has no sentence.
  }
  const problem = new Error(says ?? `The lab answers ${answer.status}.`);
  problem.status = answer.status;
  throw problem;
}

export const api = {
  async get(path) {
    return (await ask(path)).json();
  },
  async post(path, body) {
    return (await ask(path, { method: "POST", body })).json();
  },
  /** Something to keep as a file. */
  async file(path) {
    return (await ask(path)).blob();
  },
};
