// Processes: their buttons in the picture, and their menus.

import { element, updateChildren } from "./element.js";

const HOLDS = { idle: "idle", waiting: "waits", inside: "inside", down: "down" };

/**
 * Returns the state of the lock at a process: `idle`, `waiting` or `inside`, or `down` if the
 * process is down.
 */
export const holdOf = (process) => (process.up ? process.hold : "down");

const timers = ({ timers: { length } }) => (length === 1 ? "1 timer" : `${length} timers`);

/**
 * Returns a description of the state of the lock at a process, as a list. The list is empty if the
 * service has no lock.
 */
function ofLock(process, service) {
  const hold = holdOf(process);
  return service === "election" && hold !== "down" ? [] : [HOLDS[hold] ?? hold];
}

/**
 * Returns a description of the leader that a process knows, as a list. The list is empty if the
 * service has no leader.
 */
function ofLeader(process, service) {
  if (!process.up || service === "mutex") return [];
  if (process.leads) return ["leads"];
  if (process.leader) return [`follows P${process.leader}`];
  return service === "election" ? ["no leader"] : [];
}

/** Returns a description of the state of a process in one line. */
export function condition(process, service) {
  const parts = [...ofLock(process, service), ...ofLeader(process, service)];
  if (hasToken(process)) parts.push("has the token");
  if (process.suspects?.length > 0) {
    parts.push(`suspects ${process.suspects.map((peer) => `P${peer}`).join(", ")}`);
  }
  if (process.timers?.length > 0) parts.push(`${timers(process)} armed`);
  return parts.join(", ");
}

/** Fields in the state of a process that contain the process for which this process voted. */
const VOTES = ["voted_for", "vote"];
/**
 * Values in the state of a process that show that the process has the token. They are used for
 * algorithms without a field `token`.
 */
const HOLDING = ["Here", "Holding", "Inside", "Using"];
/** Fields in the state of a process that contain the number of an election. */
const TERMS = ["term", "epoch"];

/**
 * Returns the value of the first of the fields `names` that is found in a state or in one of its
 * parts. Returns undefined if there is none.
 */
function fieldOf(state, names) {
  if (state === null || typeof state !== "object" || Array.isArray(state)) return undefined;
  const own = names.find((name) => typeof state[name] === "string"
    || typeof state[name] === "number");
  if (own !== undefined) return state[own];
  for (const part of Object.values(state)) {
    const found = fieldOf(part, names);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Returns the name of the process for which a process voted. Returns undefined if its state
 * contains no vote.
 */
function voteOf(state) {
  const vote = fieldOf(state, VOTES) ?? fieldOf(state?.voter?.lock, ["request"]);
  return /P\d+/.exec(typeof vote === "string" ? vote : "")?.[0];
}

/**
 * Returns a description of the term, the vote and the received votes of a process, as lines. There
 * are no lines if its algorithm has none of them.
 */
function ofElection({ up, state }) {
  if (!up) return [];
  const [term, vote, votes] = [fieldOf(state, TERMS), voteOf(state), state?.role?.votes];
  const parts = [];
  if (typeof term === "number") parts.push(`term ${term}`);
  if (vote !== undefined) parts.push(`vote ${vote}`);
  const lines = parts.length > 0 ? [parts.join(", ")] : [];
  if (Array.isArray(votes)) lines.push(votes.length === 1 ? "1 vote" : `${votes.length} votes`);
  return lines;
}

/** Returns true if a process has the token of its algorithm. */
export function hasToken({ token, up, state }) {
  const at = state?.privilege ?? (state?.type === "TokenRing" ? state.phase : undefined);
  return token || (up && HOLDING.includes(typeof at === "string" ? at : at?.type));
}

/** Maximum number of timers of a process that are drawn as rings. */
const RINGS = 5;

/**
 * Creates the rings of the timers of a process. Each ring shows the part of the timer's delay that
 * is left. Returns null if there are no timers.
 */
function timerRings(parts) {
  if (parts.length === 0) return null;
  const rings = parts.slice(0, RINGS).map(({ name, left }) => element("i", {
    class: "timer", title: `timer ${name}`, style: `--left:${left.toFixed(3)}`,
  }));
  return element("span", { class: "timers" }, ...rings,
    parts.length > RINGS ? `+${parts.length - RINGS}` : "");
}

/**
 * Updates the button of a process. `timers` are the timers of the process, each with the part of
 * its delay that is left. `isCut` is true if a partition cuts off the process.
 */
export function processButton(button, process, service, { chosen, timers: rings, isCut }) {
  const hold = holdOf(process);
  button.className = `process ${hold}${chosen ? " chosen" : ""}${isCut ? " cut" : ""}`;
  button.dataset.process = process.process;
  const cut = isCut ? ", cut off" : "";
  button.setAttribute("aria-label", `P${process.process}: ${condition(process, service)}${cut}`);
  button.setAttribute("aria-haspopup", "dialog");
  const signs = [
    process.leads ? element("i", { class: "crown", title: "leads" }) : null,
    hasToken(process) ? element("i", { class: "gem", title: "has the token" }) : null,
  ];
  const [first, ...more] = [...ofLock(process, service), ...ofLeader(process, service)];
  more.push(...ofElection(process));
  if (isCut) more.push("cut off");
  if (process.suspects?.length > 0) {
    more.push(`? ${process.suspects.map((peer) => `P${peer}`).join(" ")}`);
  }
  updateChildren(button,
    element("span", { class: "name" }, `P${process.process}`, ...signs.filter(Boolean)),
    element("span", { class: "hold" }, `${hold === "down" ? "× " : ""}${first}`),
    ...more.map((line) => element("small", {}, line)),
    ...[timerRings(rings)].filter(Boolean),
  );
}

/**
 * Creates the rows of the menu of a process. `act` performs an action. `isCut` is true if a
 * partition cuts off the process.
 */
export function processRows(view, process, isCut, act) {
  const number = process.process;
  const others = view.processes.map((each) => each.process).filter((each) => each !== number);
  const rows = process.up ? [["Crash", { crash: number }]] : [["Recover", { recover: number }]];
  for (const command of process.commands ?? []) {
    rows.push([`Command: ${command}`, { ask: { process: number, command } }]);
  }
  for (const { name, at } of process.timers ?? []) {
    const when = at === undefined || at === null ? "" : `, due at ${Number(at.toFixed(3))}`;
    rows.push([`Fire ${name} now${when}`, { fire: { process: number, timer: name } }]);
  }
  if (others.length > 0) {
    rows.push(isCut ? ["Reconnect", { reconnect: number }]
      : ["Cut off from all others", { cut: number }]);
  }
  const buttons = rows.map(([label, what]) => element("button", {
    type: "button", "data-act": Object.keys(what)[0], onclick: () => act(what),
  }, label));
  if (process.up && others.length > 0) buttons.push(suspicion(number, others, act));
  return buttons;
}

function suspicion(process, others, act) {
  const peer = element("select", { "aria-label": "Peer" },
    ...others.map((each) => element("option", { value: String(each) }, `P${each}`)));
  const button = (label, verb) => element("button", {
    type: "button", "data-act": verb,
    onclick: () => act({ [verb]: { process, peer: Number(peer.value) } }),
  }, label);
  return element("div", { class: "group" }, peer, button("Suspect", "suspect"),
    button("Trust", "trust"));
}
