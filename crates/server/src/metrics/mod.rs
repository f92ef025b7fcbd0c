//! Metrics and version of a member.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::member::Member;
use crate::rpc::maintenance::VERSION;

mod process;

/// Returns the body of `/version`.
pub(crate) fn version() -> String {
    format!(r#"{{"etcdserver":"{VERSION}","etcdcluster":"3.5.0"}}"#)
}

/// Returns the body of `/metrics`. Names are those of etcd where it has the same metric.
pub(crate) fn metrics(member: &Member) -> String {
    let leader_status = member.leader_status();
    let mut text = String::new();
    let mut write = |name: &str, kind: &str, help: &str, value: u64| {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    };
    let (has_leader, is_leader) =
        (u64::from(leader_status.leader.is_some()), u64::from(member.is_leader()));
    write("etcd_server_has_leader", "gauge", "Whether a leader is known: 1 or 0.", has_leader);
    write("etcd_server_is_leader", "gauge", "Whether this member leads: 1 or 0.", is_leader);
    write("tenure_term", "gauge", "Latest term that this member knows.", leader_status.term);
    let gauges = store_gauges(member);
    let quota = member.plan.bounds.quota.unwrap_or_default();
    write("etcd_server_quota_backend_bytes", "gauge", "Quota of the store; 0 for none.", quota);
    let directory = bytes_in(&member.plan.directory);
    write("tenure_directory_bytes", "gauge", "Size of the data directory in bytes.", directory);
    for (name, help, value) in gauges {
        write(name, "gauge", help, value);
    }
    let help = "Bytes of incomplete requests.";
    write("tenure_requests_begun_bytes", "gauge", help, member.request_budget.bytes() as u64);
    write_links(member, &mut text);
    write_connections(member, &mut text);
    let saves = member.saves();
    for (name, kind, help, value) in [
        ("saves_total", "counter", "Number of saves to the disk.", saves.count as f64),
        (
            "save_seconds_total",
            "counter",
            "Total duration of saves in seconds.",
            saves.total.as_secs_f64(),
        ),
        (
            "save_longest_seconds",
            "gauge",
            "Longest duration of a save in seconds.",
            saves.longest.as_secs_f64(),
        ),
    ] {
        let name = format!("tenure_{name}");
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    }
    for (name, kind, help, value) in process::metrics() {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    }
    text
}

/// Names, descriptions and values of the gauges of the store.
fn store_gauges(member: &Member) -> [(&'static str, &'static str, u64); 12] {
    member.with_state(|state| {
        let store = &state.store;
        [
            ("tenure_applied_index", "Index of the last applied log entry.", store.applied().index),
            ("tenure_revision", "Revision of the store.", store.revision()),
            (
                "tenure_compacted_revision",
                "Revision of the last compaction.",
                store.oldest_revision(),
            ),
            ("tenure_keys", "Number of keys.", store.len() as u64),
            (
                "tenure_changes",
                "Number of past events kept for watchers.",
                store.event_count() as u64,
            ),
            (
                "tenure_change_bytes",
                "Bytes of past events kept for watchers.",
                store.event_bytes() as u64,
            ),
            ("tenure_leases", "Number of leases.", store.leases().len() as u64),
            ("tenure_watchers", "Number of watchers.", state.watcher_count() as u64),
            (
                "tenure_waiting",
                "Number of claims with waiting calls.",
                state.waiting_claim_count() as u64,
            ),
            (
                "tenure_queues",
                "Number of locks and elections with claims.",
                store.queues().count() as u64,
            ),
            // Dashboards for etcd read these.
            (
                "etcd_debugging_mvcc_watcher_total",
                "Number of watchers.",
                state.watcher_count() as u64,
            ),
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

/// Writes the state of the connections to other members.
fn write_links(member: &Member, text: &mut String) {
    let name = "tenure_link_up";
    let help = "Whether a connection with the member carries messages: 1 or 0.";
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
    for link in member.peers.peers() {
        let peer = &member.plan.members[link.peer.index()].name;
        let _ = writeln!(text, "{name}{{peer={peer:?}}} {}", u64::from(link.is_connected));
    }
}

/// Writes counters of responses, connections and rejected requests.
fn write_connections(member: &Member, text: &mut String) {
    let response_budget = &member.response_budget;
    let (bytes, dropped) = (response_budget.bytes() as u64, response_budget.dropped());
    let help = "Bytes of large responses that are not sent yet.";
    let _ = writeln!(
        text,
        "# HELP tenure_answer_bytes {help}\n# TYPE tenure_answer_bytes gauge\n\
         tenure_answer_bytes {bytes}\n\
         # HELP tenure_answers_dropped_total Large responses dropped unread by the client.\n\
         # TYPE tenure_answers_dropped_total counter\ntenure_answers_dropped_total {dropped}"
    );
    let mut write = |name: &str, kind: &str, help: &str, value: u64| {
        let name = format!("tenure_connections{name}");
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    };
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let connections = &member.connections;
    write("", "gauge", "Number of open client connections.", connections.count() as u64);
    let help = "Connections that failed the TLS handshake.";
    write("_refused_total", "counter", help, count(&connections.rejected));
    let help = "Connections closed because of malformed input.";
    write("_broken_total", "counter", help, count(&connections.broken));
    let name = "tenure_refused_total";
    let _ = writeln!(text, "# HELP {name} Connections rejected at the peer port.");
    let _ = writeln!(text, "# TYPE {name} counter");
    for (reason, count) in member.peers.counts().refused {
        let _ = writeln!(text, "{name}{{reason=\"{}\"}} {count}", reason.name());
    }
    let name = "tenure_requests_refused_total";
    let _ = writeln!(text, "# HELP {name} Rejected requests, by gRPC code.");
    let _ = writeln!(text, "# TYPE {name} counter");
    for (code, count) in member.rejections.counts() {
        let _ = writeln!(text, "{name}{{code=\"{code}\"}} {count}");
    }
}
