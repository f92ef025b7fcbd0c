//! What a member tells of itself to whoever watches over it.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::member::Member;
use crate::process;
use crate::rpc::maintenance::VERSION;

/// `/version`.
pub(crate) fn version() -> String {
    format!(r#"{{"etcdserver":"{VERSION}","etcdcluster":"3.5.0"}}"#)
}

/// `/metrics`: with the names of etcd where it has the same.
pub(crate) fn metrics(member: &Member) -> String {
    let standing = member.standing();
    let mut text = String::new();
    let mut say = |name: &str, kind: &str, what: &str, value: u64| {
        let _ = writeln!(text, "# HELP {name} {what}\n# TYPE {name} {kind}\n{name} {value}");
    };
    let (has, leads) = (u64::from(standing.leader.is_some()), u64::from(member.leads()));
    say("etcd_server_has_leader", "gauge", "Whether a leader is known: 1 or 0.", has);
    say("etcd_server_is_leader", "gauge", "Whether this member leads: 1 or 0.", leads);
    say("tenure_term", "gauge", "The latest term that this member has heard of.", standing.term);
    let numbers = numbers_of_store(member);
    let quota = member.plan.bounds.quota.unwrap_or_default();
    say("etcd_server_quota_backend_bytes", "gauge", "Quota of the store; 0 for none.", quota);
    let directory = bytes_in(&member.plan.directory);
    say("tenure_directory_bytes", "gauge", "Bytes of the files of this member.", directory);
    for (name, what, value) in numbers {
        say(name, "gauge", what, value);
    }
    let what = "How many bytes of requests have come that are not complete.";
    say("tenure_requests_begun_bytes", "gauge", what, member.intake.bytes() as u64);
    links(member, &mut text);
    visits(member, &mut text);
    let saves = member.saves();
    for (name, kind, what, value) in [
        ("saves_total", "counter", "Saves to the disk.", saves.count as f64),
        ("save_seconds_total", "counter", "How long they took.", saves.total.as_secs_f64()),
        ("save_longest_seconds", "gauge", "The longest of them.", saves.longest.as_secs_f64()),
    ] {
        let name = format!("tenure_{name}");
        let _ = writeln!(text, "# HELP {name} {what}\n# TYPE {name} {kind}\n{name} {value}");
    }
    for (name, kind, what, value) in process::metrics() {
        let _ = writeln!(text, "# HELP {name} {what}\n# TYPE {name} {kind}\n{name} {value}");
    }
    text
}

/// Names, descriptions and values of the gauges of the store.
fn numbers_of_store(member: &Member) -> [(&'static str, &'static str, u64); 12] {
    member.look(|state| {
        let store = &state.store;
        [
            (
                "tenure_applied_index",
                "The last entry of the log that was taken.",
                store.applied().index,
            ),
            ("tenure_revision", "The revision of the store.", store.revision()),
            ("tenure_compacted_revision", "The oldest revision that is kept.", store.compacted()),
            ("tenure_keys", "How many keys there are.", store.len() as u64),
            ("tenure_changes", "How many changes are kept for watchers.", store.changes() as u64),
            ("tenure_change_bytes", "How many bytes those take.", store.change_bytes() as u64),
            ("tenure_leases", "How many leases there are.", store.leases().len() as u64),
            ("tenure_watchers", "How many watchers there are.", state.watchers() as u64),
            (
                "tenure_waiting",
                "How many calls wait for a lock or an office.",
                state.waiting() as u64,
            ),
            (
                "tenure_queues",
                "How many locks and offices are claimed.",
                store.queues().count() as u64,
            ),
            // Dashboards for etcd read these.
            ("etcd_debugging_mvcc_watcher_total", "Number of watchers.", state.watchers() as u64),
            (
                "etcd_mvcc_db_total_size_in_bytes",
                "Size of the store, as the quota counts it.",
                store.size() as u64,
            ),
        ]
    })
}

/// Returns the bytes of the files of a directory.
fn bytes_in(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|it| it.len()).sum()
}

/// Which other members are connected.
fn links(member: &Member, text: &mut String) {
    let name = "tenure_link_up";
    let what = "Whether a connection with the member carries messages: 1 or 0.";
    let _ = writeln!(text, "# HELP {name} {what}\n# TYPE {name} gauge");
    for link in member.peers.peers() {
        let peer = &member.plan.members[link.peer.index()].name;
        let _ = writeln!(text, "{name}{{peer={peer:?}}} {}", u64::from(link.connected));
    }
}

/// What waits for clients, who connected, who was refused, and what.
fn visits(member: &Member, text: &mut String) {
    let budget = &member.budget;
    let (bytes, dropped) = (budget.bytes() as u64, budget.dropped());
    let what = "How many bytes of large answers wait for clients.";
    let _ = writeln!(
        text,
        "# HELP tenure_answer_bytes {what}\n# TYPE tenure_answer_bytes gauge\n\
         tenure_answer_bytes {bytes}\n\
         # HELP tenure_answers_dropped_total Large answers that clients did not take.\n\
         # TYPE tenure_answers_dropped_total counter\ntenure_answers_dropped_total {dropped}"
    );
    let mut say = |name: &str, kind: &str, what: &str, value: u64| {
        let name = format!("tenure_connections{name}");
        let _ = writeln!(text, "# HELP {name} {what}\n# TYPE {name} {kind}\n{name} {value}");
    };
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let visits = &member.visits;
    say("", "gauge", "How many are connected.", visits.now() as u64);
    let what = "Connections refused for want of a certificate.";
    say("_refused_total", "counter", what, count(&visits.refused));
    let what = "Connections broken off for what no client says.";
    say("_broken_total", "counter", what, count(&visits.broken));
    let name = "tenure_refused_total";
    let _ = writeln!(text, "# HELP {name} Connections refused at the port for members.");
    let _ = writeln!(text, "# TYPE {name} counter");
    for (reason, count) in member.peers.counts().refused {
        let _ = writeln!(text, "{name}{{reason=\"{}\"}} {count}", reason.name());
    }
    let name = "tenure_requests_refused_total";
    let _ = writeln!(text, "# HELP {name} Requests refused, by the code of gRPC.");
    let _ = writeln!(text, "# TYPE {name} counter");
    for (code, count) in member.refusals.counts() {
        let _ = writeln!(text, "{name}{{code=\"{code}\"}} {count}");
    }
}
