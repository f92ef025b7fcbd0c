//! Metrics of a member, and its version.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use tenure_runtime::MetricsExposition;

use crate::member::Member;
use crate::rpc::maintenance::ETCD_VERSION;

pub(crate) mod latency_histograms;
mod process;

/// Returns the version as JSON: the response to `/version`.
pub(crate) fn version_json() -> String {
    format!(r#"{{"etcdserver":"{ETCD_VERSION}","etcdcluster":"3.5.0"}}"#)
}

/// Returns the metrics as text: the response to `/metrics`. Some metrics have the names of etcd, so
/// that dashboards for etcd show them.
pub(crate) fn exposition_text(member: &Member) -> String {
    let leader_status = member.leader_status();
    let mut all = MetricsExposition::default();
    let help = "Name of this member and its release of Tenure; always 1.";
    let (name, release) =
        (&member.config.members[member.config.me].name, env!("CARGO_PKG_VERSION"));
    all.begin_family("gauge", "tenure_member_info", help)
        .add_sample(&[("member", name), ("version", release)], 1);
    let has_leader = u8::from(leader_status.leader.is_some());
    all.add_gauge("etcd_server_has_leader", "Whether a leader is known: 1 or 0.", has_leader);
    let is_leader = u8::from(member.is_leader());
    all.add_gauge("etcd_server_is_leader", "Whether this member leads: 1 or 0.", is_leader);
    all.add_gauge("tenure_term", "Latest term that this member knows.", leader_status.term);
    let quota = member.config.limits.quota.unwrap_or_default();
    all.add_gauge("etcd_server_quota_backend_bytes", "Quota of the store; 0 for none.", quota);
    let directory = bytes_in(&member.config.directory);
    all.add_gauge("tenure_directory_bytes", "Size of the data directory in bytes.", directory);
    write_store(member, &mut all);
    let help = "Bytes of incomplete requests.";
    all.add_gauge(
        "tenure_requests_begun_bytes",
        help,
        member.incomplete_message_budget.used_bytes(),
    );
    write_links(member, &mut all);
    write_connections(member, &mut all);
    let saves = member.save_metrics.read();
    all.add_counter("tenure_saves_total", "Number of saves to the disk.", saves.count);
    let total = saves.total_duration.as_secs_f64();
    all.add_counter("tenure_save_seconds_total", "Total duration of saves in seconds.", total);
    let longest = saves.longest_duration.as_secs_f64();
    all.add_gauge("tenure_save_longest_seconds", "Longest duration of a save in seconds.", longest);
    write_histograms(member, &mut all);
    for (name, kind, help, value) in process::read_metrics() {
        all.add_metric(kind, name, help, value);
    }
    all.into_text()
}

fn write_store(member: &Member, all: &mut MetricsExposition) {
    member.with_state(|state| {
        let store = &state.store;
        let (mut queues, mut holding, mut waiting) = (0_usize, 0, 0);
        for (_, queue) in store.queues() {
            queues += 1;
            holding += queue.holder_count();
            waiting += queue.len() - queue.holder_count();
        }
        let index = store.applied().index;
        all.add_gauge("tenure_applied_index", "Index of the last applied log entry.", index);
        all.add_gauge("tenure_revision", "Revision of the store.", store.revision());
        let help = "Oldest revision in the history.";
        all.add_gauge("tenure_compacted_revision", help, store.oldest_revision());
        all.add_gauge("tenure_keys", "Number of keys.", store.len());
        let help = "Number of past events kept for watchers.";
        all.add_gauge("tenure_changes", help, store.event_count());
        let help = "Bytes of past events kept for watchers.";
        all.add_gauge("tenure_change_bytes", help, store.event_bytes());
        all.add_gauge("tenure_leases", "Number of leases.", store.leases().len());
        all.add_gauge("tenure_watchers", "Number of watchers.", state.watcher_count());
        let help = "Number of claims with waiting calls.";
        all.add_gauge("tenure_waiting", help, state.waiting_claim_count());
        all.add_gauge("tenure_claims_holding", "Number of claims that hold a lock.", holding);
        all.add_gauge("tenure_claims_waiting", "Number of claims that wait for a lock.", waiting);
        all.add_gauge("tenure_queues", "Number of locks and elections with claims.", queues);
        let help = "Whether the alarm is active: 1 or 0.";
        all.begin_family("gauge", "tenure_alarm_active", help)
            .add_sample(&[("alarm", "NOSPACE")], u8::from(store.has_nospace_alarm()));
        // Dashboards for etcd read the following metrics.
        let watchers = state.watcher_count();
        all.add_gauge("etcd_debugging_mvcc_watcher_total", "Number of watchers.", watchers);
        let help = "Size of the store, as the quota counts it.";
        all.add_gauge("etcd_mvcc_db_total_size_in_bytes", help, store.quota_usage());
    });
}

/// Returns the total size of the files in a directory, in bytes. Files that cannot be read are not
/// counted.
fn bytes_in(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|it| it.len()).sum()
}

fn write_histograms(member: &Member, all: &mut MetricsExposition) {
    member.with_state(|state| {
        let times = &state.claim_times;
        let help = "Time from the queueing of a claim until it held its lock.";
        all.add_histogram("tenure_lock_wait_seconds", help, &times.waits);
        let help = "Time for which a claim held its lock.";
        all.add_histogram("tenure_lock_hold_seconds", help, &times.holds);
    });
    let latencies = &member.latencies;
    let help = "Time from the proposal of a command until this member has applied it.";
    all.add_histogram("tenure_commit_seconds", help, &latencies.commits);
    let help = "Time of a save to the disk.";
    all.add_histogram("tenure_fsync_seconds", help, member.save_metrics.durations());
    let help = "Time of a successful lease renewal.";
    all.add_histogram("tenure_renewal_seconds", help, &latencies.renewals);
    let help =
        "Time from the application of an event by this member until its watch stream has taken it.";
    all.add_histogram("tenure_watch_lag_seconds", help, &latencies.watch_lags);
}

fn write_links(member: &Member, all: &mut MetricsExposition) {
    let help = "Whether a connection with the member carries messages: 1 or 0.";
    let mut links = all.begin_family("gauge", "tenure_link_up", help);
    let members = member.with_state(|state| state.members.all());
    // Only connections to current members are reported, because other processes need not run.
    let peers = member.mesh_handle.peers().into_iter().filter(|link| members.contains(link.peer));
    for link in peers {
        let peer = &member.config.members[link.peer.index()].name;
        links.add_sample(&[("peer", peer)], u8::from(link.is_connected));
    }
}

fn write_connections(member: &Member, all: &mut MetricsExposition) {
    let response_budget = &member.response_budget;
    let help = "Bytes of large responses that are not sent yet.";
    all.add_gauge("tenure_answer_bytes", help, response_budget.used_bytes());
    let help = "Large responses dropped unread by the client.";
    all.add_counter("tenure_answers_dropped_total", help, response_budget.dropped_responses());
    let connections = &member.connections;
    let help = "Number of open client connections.";
    all.add_gauge("tenure_connections", help, connections.count());
    let help = "Connections that failed the TLS handshake.";
    let rejected = connections.failed_handshake_count.load(Ordering::Relaxed);
    all.add_counter("tenure_connections_rejected_total", help, rejected);
    let help = "Connections closed because of malformed input.";
    let malformed_connection_count = connections.malformed_connection_count.load(Ordering::Relaxed);
    all.add_counter("tenure_connections_broken_total", help, malformed_connection_count);
    let help = "Connections rejected at the peer port.";
    let mut refused = all.begin_family("counter", "tenure_rejected_total", help);
    for (reason, count) in member.mesh_handle.counts().refused {
        refused.add_sample(&[("reason", reason.name())], count);
    }
    let help = "Rejected requests, by gRPC code.";
    let mut refused = all.begin_family("counter", "tenure_requests_rejected_total", help);
    for (code, count) in member.rejections.counts_by_code() {
        refused.add_sample(&[("code", &code.to_string())], count);
    }
}
