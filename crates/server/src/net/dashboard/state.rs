//! State of the cluster that the page for operators shows, as this member knows it.

use std::cmp::Reverse;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use tenure_core::ProcessId;
use tenure_runtime::transport::PeerStatus;
use tenure_store::{Bytes, Claim, KeySpan, LockMode, LockQueue};

use super::waits_for::{WaitsFor, find_cycles};
use crate::auth::caller::Caller;
use crate::config::ConfiguredMember;
use crate::log::state::StoreAndWaiters;
use crate::net::listener::ListenerScope;
use crate::rpc::error::RpcError;

/// Upper bound on the number of locks in one response. The locks with the most waiters come first.
const MAX_LOCKS: usize = 100;

/// Upper bound on the number of listed holders of a lock. The same bound applies to the listed
/// waiters of the lock.
const MAX_CLAIMS: usize = 20;

/// Maximum length, in bytes, of a claim's value from which the description of a client is made. If
/// the value is longer, the client has no description.
const MAX_IDENTITY_BYTES: usize = 4096;

/// Upper bound on the characters of a name or a description in a response. A longer text is
/// shortened.
const MAX_NAME_CHARS: usize = 200;

#[derive(Debug, Serialize)]
pub(super) struct DashboardState {
    /// Name of the member that sends this response.
    member: String,
    version: &'static str,
    leader: Option<String>,
    term: u64,
    revision: u64,
    applied_index: u64,
    members: Vec<MemberState>,
    totals: Totals,
    /// Right of this request to see the names of locks, or the reason why it lacks this right.
    /// Without the right, `locks` is empty.
    access: Access,
    /// User who sent the request. `None` if the request names no user, authentication is disabled,
    /// or the access is not [`Access::Granted`].
    user: Option<String>,
    locks: Vec<LockState>,
    /// Number of locks that are left out because the user may not read them. Excludes the locks
    /// that are left out because of [`MAX_LOCKS`].
    hidden_locks: usize,
    blocked: Vec<Blocked>,
    /// Deadlocks: cycles of leases that wait for each other. Each cycle is a list of lease IDs.
    /// Each lease waits for the next lease in the list, and the last lease waits for the first.
    deadlocks: Vec<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Access {
    /// The response contains the locks that the user may read, up to [`MAX_LOCKS`].
    Granted,
    /// Authentication is enabled, and the request names no user.
    NeedsUser,
    /// The member has not recovered since its start, so it may not know the current users.
    Recovering,
    /// The request came to a URL of `listen_metrics_urls`. The response contains no locks.
    MetricsOnly,
}

/// State of one member, as the responding member knows it. The responding member is the member that
/// answers the request for the dashboard.
#[derive(Debug, Serialize)]
struct MemberState {
    name: String,
    role: &'static str,
    is_own: bool,
    /// True if the responding member is connected to this member. Also true if this member is the
    /// responding member.
    is_connected: bool,
    /// Milliseconds since the responding member last received a message from this member; `None` if
    /// it has received no message, or if this member is the responding member.
    last_contact_ms: Option<u64>,
    /// Client URLs that this member has published. Empty unless the access of the request is
    /// [`Access::Granted`].
    urls: Vec<String>,
}

/// Totals over all locks and leases, and the numbers of watchers and connections of this member.
/// None of these numbers is secret.
#[derive(Debug, Default, Serialize)]
struct Totals {
    locks: usize,
    holding: usize,
    waiting: usize,
    leases: usize,
    watchers: usize,
    connections: usize,
}

#[derive(Debug, Serialize)]
struct LockState {
    name: String,
    holders: Vec<ClaimState>,
    waiters: Vec<ClaimState>,
    /// Number of all holders of the lock. The list `holders` may be shorter.
    holding: usize,
    /// Number of all claims that wait for the lock. The list `waiters` may be shorter.
    waiting: usize,
}

#[derive(Clone, Debug, Serialize)]
struct ClaimState {
    /// ID of the lease of the claim, in hexadecimal.
    lease: String,
    /// Description of the client, or another text that the client has stored in its claim; `None`
    /// if it has stored no text.
    client: Option<String>,
    fence: u64,
    mode: String,
    /// Milliseconds since the claim acquired the lock or, if it waits, since it was queued; `None`
    /// if unknown.
    for_ms: Option<u64>,
    /// Remaining milliseconds of the lease. Only the leader knows this time; `None` at other
    /// members.
    left_ms: Option<u64>,
}

/// A lease that waits for a lock, and the listed leases that hold this lock.
#[derive(Debug, Serialize)]
struct Blocked {
    lease: String,
    lock: String,
    for_ms: Option<u64>,
    by: Vec<String>,
}

/// Reads the state that the page shows to `caller`.
///
/// # Errors
///
/// [`RpcError`] if the token of the caller is invalid, or if too many large reads are in progress.
pub(super) async fn read(
    caller: &Caller,
    scope: ListenerScope,
) -> Result<DashboardState, RpcError> {
    let access = match scope {
        ListenerScope::Metrics => Access::MetricsOnly,
        ListenerScope::All if !caller.has_recovered() => Access::Recovering,
        ListenerScope::All => match caller.check_authenticated() {
            Ok(()) => Access::Granted,
            Err(error) if caller.has_token() => return Err(error),
            Err(_) => Access::NeedsUser,
        },
    };
    let links = caller.mesh_handle.peers();
    let queues = caller.with_state(|state| state.store.queues().count());
    let _permit = caller.scan_limit.acquire_for_scan(queues).await?;
    let (leader_status, config) = (caller.leader_status(), &caller.config);
    let user = if access == Access::Granted { caller.current_user_name() } else { None };
    caller.with_state(|state| {
        let rights = caller.verified_principal(state.store.access_control())?;
        let is_readable = |name: &Bytes| {
            let span = KeySpan::prefix([&name[..], b"/"].concat());
            state.store.access_control().authorize_read(&rights, &span).is_ok()
        };
        let mut totals = Totals {
            leases: state.store.leases().len(),
            watchers: state.watcher_count(),
            connections: caller.connections.count(),
            ..Totals::default()
        };
        let (mut readable, mut hidden_locks) = (Vec::new(), 0);
        for (name, queue) in state.store.queues() {
            totals.locks += 1;
            totals.holding += queue.holder_count();
            totals.waiting += queue.len() - queue.holder_count();
            match access == Access::Granted && is_readable(name) {
                true => readable.push((queue.len() - queue.holder_count(), name, queue)),
                false => hidden_locks += usize::from(access == Access::Granted),
            }
        }
        readable.sort_by_key(|(waiting, name, _)| (Reverse(*waiting), *name));
        readable.truncate(MAX_LOCKS);
        let (mut locks, mut graph) = (Vec::new(), WaitsForGraph::default());
        for (_, name, queue) in readable {
            locks.push(lock_state(state, name, queue, &mut graph));
        }
        Ok(DashboardState {
            member: config.members[config.me].name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            leader: leader_status.leader.map(|leader| config.members[leader].name.clone()),
            term: leader_status.term,
            revision: state.store.revision(),
            applied_index: state.store.applied().index,
            members: members(caller, state, &links, access),
            totals,
            access,
            user,
            locks,
            hidden_locks,
            blocked: graph.blocked,
            deadlocks: find_cycles(&graph.waits_for)
                .iter()
                .map(|cycle| cycle.iter().map(|lease| format!("{lease:x}")).collect())
                .collect(),
        })
    })
}

#[derive(Debug, Default)]
struct WaitsForGraph {
    blocked: Vec<Blocked>,
    waits_for: WaitsFor,
}

/// Returns the state of a lock, and adds its listed waiters to `graph`.
fn lock_state(
    state: &StoreAndWaiters,
    name: &Bytes,
    queue: &LockQueue,
    graph: &mut WaitsForGraph,
) -> LockState {
    let now = Instant::now();
    // The holders are at the head of the queue.
    let holders = queue.claims(name).take_while(|(_, is_holder)| *is_holder);
    let holders: Vec<_> = holders.map(|(claim, _)| claim).take(MAX_CLAIMS).collect();
    let waiters = queue.claims(name).skip_while(|(_, is_holder)| *is_holder);
    let waiters: Vec<_> = waiters.map(|(claim, _)| claim).take(MAX_CLAIMS).collect();
    let described = |claim: &Claim| claim_state(state, claim, now);
    let lock = text(name);
    for waiter in &waiters {
        let ClaimState { lease, for_ms, .. } = described(waiter);
        let by = holders.iter().map(|it: &Claim| format!("{:x}", it.lease)).collect();
        graph.blocked.push(Blocked { lease, lock: lock.clone(), for_ms, by });
        // A waiter for a slot of a semaphore waits until any one of several holders ends, so it
        // need not be in a deadlock with one of them.
        if queue.holder_count() == 1 || !matches!(waiter.mode, LockMode::Slots(_)) {
            let edges = graph.waits_for.entry(waiter.lease).or_default();
            edges.extend(holders.iter().map(|it| it.lease));
        }
    }
    LockState {
        name: lock,
        holders: holders.iter().map(described).collect(),
        waiters: waiters.iter().map(described).collect(),
        holding: queue.holder_count(),
        waiting: queue.len() - queue.holder_count(),
    }
}

fn claim_state(state: &StoreAndWaiters, claim: &Claim, now: Instant) -> ClaimState {
    let time = state.claim_times.get(claim);
    let since =
        time.and_then(|it| if state.store.is_holder(claim) { it.granted } else { it.queued });
    ClaimState {
        lease: format!("{:x}", claim.lease),
        client: state.store.get(&claim.key).and_then(|kv| client(&kv.value)),
        fence: claim.fence,
        mode: claim.mode.to_string(),
        for_ms: since.map(|since| millis(now.saturating_duration_since(since))),
        left_ms: state.lease_timers.time_left(claim.lease, now).map(millis),
    }
}

/// Description of a client, as `tenure lock` and `tenure elect` store it in a claim.
#[derive(Debug, Deserialize)]
struct ClientIdentity {
    /// Version of the format of this description.
    tenure: u32,
    user: String,
    host: String,
    pid: u32,
    command: String,
}

/// Returns the description of the client that has stored `value` in its claim. If the value is a
/// different text, such as the identity of a candidate, returns this text. Returns `None` if the
/// value is empty, too long or not a text.
fn client(value: &[u8]) -> Option<String> {
    if value.is_empty() || value.len() > MAX_IDENTITY_BYTES {
        return None;
    }
    match serde_json::from_slice(value) {
        Ok(ClientIdentity { tenure: 1, user, host, pid, command }) => {
            Some(text(format!("{user}@{host} {pid} {command}").as_bytes()))
        }
        _ => std::str::from_utf8(value).ok().map(|value| text(value.as_bytes())),
    }
}

/// Returns the state of each member in the configuration, as the responding member knows it.
fn members(
    caller: &Caller,
    state: &StoreAndWaiters,
    links: &[PeerStatus],
    access: Access,
) -> Vec<MemberState> {
    let (config, leader_status) = (&caller.config, caller.leader_status());
    let now = SystemTime::now();
    let member = |(index, it): (usize, &ConfiguredMember)| {
        let process = ProcessId::from_index(index);
        let link = links.iter().find(|link| link.peer == process);
        let contact = link.and_then(|link| link.last_contact_at);
        let urls = state.client_urls.get(&process.0).filter(|_| access == Access::Granted);
        MemberState {
            name: it.name.clone(),
            role: match () {
                () if leader_status.leader == Some(index) => "leader",
                () if state.members.learners.contains(process) => "learner",
                () if state.members.all().contains(process) => "follower",
                () => "not a member",
            },
            is_own: index == config.me,
            is_connected: link.is_none_or(|link| link.is_connected),
            last_contact_ms: contact.map(|at| millis(now.duration_since(at).unwrap_or_default())),
            urls: urls.cloned().unwrap_or_default(),
        }
    };
    config.members.iter().enumerate().map(member).collect()
}

fn text(name: &[u8]) -> String {
    let text = tenure_trace::escape_invisible(&String::from_utf8_lossy(name)).into_owned();
    match text.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_is_described_by_its_value() {
        let value =
            r#"{"tenure":1,"user":"ann","host":"db1","pid":7,"command":"nightly","queued":""}"#;
        assert_eq!(client(value.as_bytes()).as_deref(), Some("ann@db1 7 nightly"));
        for other in ["host-7", "{}", &value.replace(":1,", ":2,")] {
            assert_eq!(client(other.as_bytes()).as_deref(), Some(other));
        }
        assert_eq!(client("h\u{202e}1".as_bytes()).as_deref(), Some("h\\u{202e}1"));
        let long = "x".repeat(MAX_IDENTITY_BYTES + 1);
        for other in [&b""[..], b"\xff", long.as_bytes()] {
            assert_eq!(client(other), None, "{other:?}");
        }
    }

    #[test]
    fn long_names_are_shortened() {
        assert_eq!(text("ü".repeat(MAX_NAME_CHARS).as_bytes()), "ü".repeat(MAX_NAME_CHARS));
        let shortened = text("ü".repeat(MAX_NAME_CHARS + 1).as_bytes());
        assert_eq!(shortened, "ü".repeat(MAX_NAME_CHARS) + "…");
    }
}
