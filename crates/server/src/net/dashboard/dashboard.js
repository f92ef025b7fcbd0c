"use strict";
// Shows the state of the cluster, which it requests once a second.

const TOKEN = "tenure-dashboard-token";
/** Pause between two requests, in milliseconds; longer while the page is not visible. */
const PAUSES = { visible: 1000, hidden: 10000 };
/** Time limit for a response, in milliseconds. */
const RESPONSE_TIMEOUT = 5000;

const count = (number) => number.toLocaleString("en");

/** Formats a duration with at most three digits. */
function duration(ms) {
  if (ms === null) return "unknown";
  if (ms < 1000) return `${ms} ms`;
  if (ms < 120000) return `${Math.floor(ms / 1000)} s`;
  if (ms < 7200000) return `${Math.floor(ms / 60000)} min`;
  if (ms < 172800000) return `${Math.floor(ms / 3600000)} h`;
  return `${Math.floor(ms / 86400000)} days`;
}

const cell = (called, ...children) => element("td", { "data-name": called }, ...children);
const rowHead = (label) => element("th", { scope: "row" }, label);

class Dashboard {
  constructor() {
    this.token = sessionStorage.getItem(TOKEN);
    this.state = null;
    byId("login").onsubmit = (event) => {
      event.preventDefault();
      this.logIn(byId("name").value, byId("password").value);
    };
    byId("logout").onclick = () => this.logOut("");
    this.follow();
  }

  async follow() {
    await this.update();
    const pause = document.hidden ? PAUSES.hidden : PAUSES.visible;
    window.setTimeout(() => this.follow(), pause);
  }

  /** Requests the state once and shows it. */
  async update() {
    const { token } = this;
    const headers = token === null ? {} : { authorization: token };
    const signal = AbortSignal.timeout(RESPONSE_TIMEOUT);
    try {
      const response = await fetch("/dashboard/state", { headers, signal, cache: "no-store" });
      const state = await response.json();
      // The user has logged in or out meanwhile, so the state is not for this user.
      if (token !== this.token) return;
      if (response.status === 401) {
        this.logOut("The login has ended. Log in again to see the names of locks.");
        return;
      }
      if (!response.ok) throw new Error(state.error);
      this.state = state;
      this.show();
    } catch (error) {
      this.status("lost", `no response; the page shows old data (${error.message})`);
    }
  }

  async logIn(name, password) {
    const body = JSON.stringify({ name, password });
    const headers = { "content-type": "application/json" };
    try {
      const response = await fetch("/v3/auth/authenticate", { method: "POST", headers, body });
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.error);
      this.token = answer.token;
      sessionStorage.setItem(TOKEN, this.token);
      byId("password").value = "";
      byId("login-reason").textContent = "";
    } catch (error) {
      byId("login-reason").textContent = `The login failed: ${error.message}`;
      return;
    }
    await this.update();
  }

  logOut(reason) {
    this.token = null;
    sessionStorage.removeItem(TOKEN);
    byId("login-reason").textContent =
      reason || "Users are enabled. Log in to see the names of locks.";
    this.update();
  }

  status(look, label) {
    const status = byId("status");
    if (status.textContent !== label) status.textContent = label;
    status.className = look;
  }

  show() {
    const { state } = this;
    this.status("live", "live");
    document.title = `${state.member}, members and locks`;
    byId("title").textContent = `Tenure, as member ${state.member} sees it`;
    byId("about").textContent = `Release ${state.version}. Applied index ${
      count(state.applied_index)}, revision ${count(state.revision)}.`;
    byId("login").hidden = state.access !== "needs-user";
    byId("metrics-only").hidden = state.access !== "metrics-only";
    byId("user").hidden = state.user === null;
    byId("user").firstElementChild.textContent = `User ${state.user}.`;
    this.warnings(state);
    this.tiles(state);
    this.members(state);
    this.locks(state);
    this.blocked(state);
  }

  warnings({ leader, members, deadlocks }) {
    const lost = members.filter((each) => !each.is_connected && each.role !== "not a member");
    const lines = [
      ...(leader === null ? ["No leader: no lock is granted or released."] : []),
      ...lost.map(({ name }) => `This member has no connection with member ${name}.`),
      ...deadlocks.map((leases) => `Deadlock: ${
        [...leases, leases[0]].map((lease) => `lease ${lease}`).join(" waits for ")
      }. It ends when one of these leases ends.`),
    ];
    updateChildren(byId("warnings"), ...lines.map((line) => element("li", {}, line)));
  }

  tiles({ leader, term, members, totals, blocked, access }) {
    const tile = (name, value, more, look = "") => element("div", { class: `tile ${look}` },
      element("dt", {}, name), element("dd", {}, value, element("small", {}, more)));
    const current = members.filter(({ role }) => role !== "not a member");
    const connected = current.filter((each) => each.is_connected).length;
    const waits = blocked.map((each) => each.for_ms ?? 0);
    const waiting = () => {
      if (totals.waiting === 0) return "no client waits";
      if (waits.length > 0) return `longest ${duration(Math.max(...waits))}`;
      if (access === "needs-user") return "log in to see them";
      if (access === "recovering") return "shown once the member has recovered";
      return access === "granted" ? "hidden from this user" : "names at a client URL";
    };
    updateChildren(byId("tiles"),
      tile("Leader", leader ?? "none", `term ${count(term)}`, "leader"),
      tile("Members connected", `${connected} of ${current.length}`, "including this one"),
      tile("Locks", count(totals.locks), `${count(totals.holding)} holding claims`),
      tile("Waiting claims", count(totals.waiting), waiting()),
      tile("Leases", count(totals.leases), "of all clients"),
      tile("Watchers", count(totals.watchers), "at this member"),
      tile("Connections", count(totals.connections), "of clients with this member"));
  }

  members({ members }) {
    const rows = members.map((each) => {
      const isLost = !each.is_connected && each.role !== "not a member";
      // The leader is known by its term, even without a connection.
      const role = isLost && each.role !== "leader" ? "unreachable" : each.role;
      const connection = each.is_own ? "this member" : each.is_connected ? "connected" : "none";
      const last = each.last_contact_ms === null ? "–" : `${duration(each.last_contact_ms)} ago`;
      const links = each.urls.filter((url) => /^https?:\/\//.test(url)).slice(0, 1)
        .map((url) => element("a", { href: `${url}/dashboard` }, url));
      return element("tr", { class: isLost ? "lost" : "" }, rowHead(each.name),
        cell("role", element("span", { class: role === "leader" ? "leads" : "" }, role)),
        cell("connection", connection), cell("last message", last),
        cell("page", ...(links.length > 0 ? links : ["–"])));
    });
    updateChildren(byId("members").tBodies[0], ...rows);
  }

  /** Describes a claim in one line. */
  claim({ lease, client, fence, mode, for_ms, left_ms }, look) {
    const details = [
      ...(client === null ? [] : [client]), `fence ${count(fence)}`, ...(mode === "exclusive" ? [] : [mode]),
      ...(for_ms === null ? [] : [`for ${duration(for_ms)}`]),
      ...(left_ms === null ? [] : [`lease ends in ${duration(left_ms)}`]),
    ];
    return element("li", {}, element("span", { class: look }, lease), " ",
      element("small", {}, details.join(", ")));
  }

  locks({ locks, access, hidden_locks, totals }) {
    const list = (claims, all, look) => {
      const more = all - claims.length;
      return element("ul", {}, ...claims.map((each) => this.claim(each, look)),
        ...(more > 0 ? [element("li", {}, `and ${count(more)} more`)] : []),
        ...(all === 0 ? [element("li", {}, "–")] : []));
    };
    const rows = locks.map((each) => element("tr", {}, rowHead(each.name),
      cell("held by", list(each.holders, each.holding, "holds")),
      cell("waiting", list(each.waiters, each.waiting, "waits"))));
    updateChildren(byId("locks").tBodies[0], ...rows);
    const shorter = totals.locks - hidden_locks - locks.length;
    const omitted = access === "granted" && shorter > 0;
    const notes = [
      ...(totals.locks === 0 ? ["No lock is held."] : []),
      ...(access !== "granted" && totals.locks > 0 ? ["The names are not shown."] : []),
      ...(omitted ? [`${count(shorter)} locks with fewer waiters are not shown.`] : []),
      ...(hidden_locks > 0 ? [`${count(hidden_locks)} locks are hidden from this user.`] : []),
    ];
    byId("locks-note").textContent = notes.join(" ");
  }

  blocked({ blocked, locks, totals }) {
    const claims = locks.flatMap(({ name, holders, waiters }) =>
      [...holders, ...waiters].map(({ lease, client }) => [`${lease} ${name}`, client]));
    const clients = new Map(claims);
    /** Describes the client of a claim: its lease, and its description if it has one. */
    const described = (lease, lock, look) => {
      const client = clients.get(`${lease} ${lock}`) ?? null;
      return [
        element("span", { class: look }, lease),
        ...(client === null ? [] : [" ", element("small", {}, client)]),
      ];
    };
    const rows = blocked.map(({ lease, lock, for_ms, by }) => {
      const holders = by.map((each) => element("li", {}, ...described(each, lock, "holds")));
      return element("tr", {},
        element("th", { scope: "row" }, ...described(lease, lock, "waits")),
        cell("for the lock", lock), cell("since", duration(for_ms)),
        cell("blocked by", holders.length > 0 ? element("ul", {}, ...holders) : "a key without a lease"));
    });
    updateChildren(byId("blocked").tBodies[0], ...rows);
    const notes = [
      ...(totals.waiting === 0 ? ["No client waits."] : []),
      ...(totals.waiting > 0 && rows.length === 0 ? ["The waiting clients are not shown."] : []),
      ...(rows.length > 0 ? ["Clients are shown by their leases and descriptions."] : []),
    ];
    byId("blocked-note").textContent = notes.join(" ");
  }
}

/** Accessible to tests. */
window.dashboard = new Dashboard();
