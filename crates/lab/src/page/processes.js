// Processes: their buttons in the picture, and their menus.

import { element, updateChildren } from "./element.js";

const HOLDS = { idle: "idle", waiting: "waits", inside: "inside", down: "down" };

export const holdOf = (process) => (process.up ? process.hold : "down");

const timers = ({ timers: { length } }) => (length === 1 ? "1 timer" : `${length} timers`);

/** State of the lock, if the service has one. */
function ofLock(process, service) {
  const hold = holdOf(process);
  return service === "election" && hold !== "down" ? [] : [HOLDS[hold] ?? hold];
}

/** State of the leader, if the service has one. */
function ofLeader(process, service) {
  if (!process.up || service === "mutex") return [];
  if (process.leads) return ["leads"];
  if (process.leader) return [`follows P${process.leader}`];
  return service === "election" ? ["no leader"] : [];
}

/** Describes the state of a process. */
export function condition(process, service) {
  const parts = [...ofLock(process, service), ...ofLeader(process, service)];
  if (process.token) parts.push("has the token");
  if (process.suspects?.length > 0) {
    parts.push(`suspects ${process.suspects.map((peer) => `P${peer}`).join(", ")}`);
  }
  if (process.timers?.length > 0) parts.push(`${timers(process)} armed`);
  return parts.join(", ");
}

export function processButton(button, process, service, chosen) {
  const hold = holdOf(process);
  button.className = `process ${hold}${chosen ? " chosen" : ""}`;
  button.dataset.process = process.process;
  button.setAttribute("aria-label", `P${process.process}: ${condition(process, service)}`);
  button.setAttribute("aria-haspopup", "dialog");
  const signs = [
    process.leads ? element("i", { class: "crown", title: "leads" }) : null,
    process.token ? element("i", { class: "gem", title: "has the token" }) : null,
  ];
  const [first, ...more] = [...ofLock(process, service), ...ofLeader(process, service)];
  if (process.timers?.length > 0) more.push(timers(process));
  if (process.suspects?.length > 0) {
    more.push(`? ${process.suspects.map((peer) => `P${peer}`).join(" ")}`);
  }
  updateChildren(button,
    element("span", { class: "name" }, `P${process.process}`, ...signs.filter(Boolean)),
    element("span", { class: "hold" }, `${hold === "down" ? "× " : ""}${first}`),
    ...more.map((line) => element("small", {}, line)),
  );
}

/** Menu rows of a process; `act` performs an action. */
export function processRows(view, process, act) {
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
