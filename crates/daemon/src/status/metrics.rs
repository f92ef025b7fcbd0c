//! Metrics of a node in the text format of Prometheus, version 0.0.4.

use tenure_runtime::MetricsExposition;
use tenure_runtime::transport::RejectionReason;

use super::{LinkStatus, NodeStatus};

pub(crate) fn metrics_text(status: &NodeStatus) -> String {
    let mut all = MetricsExposition::default();
    all.begin_family("gauge", "tenure_info", "Algorithms and version of the node; always 1.")
        .add_sample(
            &[
                ("process", &status.process.to_string()),
                ("cluster", &status.cluster),
                ("mutex", &status.mutex),
                ("election", &status.election),
                ("release", &status.release),
            ],
            1,
        );
    all.add_gauge("tenure_group_size", "Number of nodes of the cluster.", status.size);
    all.add_gauge("tenure_session", "Session of this start.", status.session);
    all.add_gauge("tenure_up_seconds", "Time since the start in seconds.", seconds(status.up_ms));
    write_leader(&mut all, status);
    write_lock(&mut all, status);
    write_links(&mut all, &status.links);
    write_rejections(&mut all, status);
    write_traffic(&mut all, status);
    let saves = &status.saves;
    all.add_counter("tenure_saves_total", "Number of saves to the disk.", saves.count);
    all.add_counter(
        "tenure_save_seconds_total",
        "Total duration of saves in seconds.",
        saves.seconds,
    );
    let slowest = saves.longest_seconds;
    all.add_gauge("tenure_save_longest_seconds", "Longest duration of a save in seconds.", slowest);
    all.into_text()
}

fn write_leader(all: &mut MetricsExposition, status: &NodeStatus) {
    let leader = status.leader.as_ref();
    let (process, term) = leader.map_or((0, 0), |leader| (leader.process, leader.term));
    let help = "Process that leads, as this node knows it; 0 for none.";
    all.add_gauge("tenure_leader", help, process);
    let leads = u8::from(process == status.process);
    all.add_gauge("tenure_is_leader", "Whether this node leads: 1 or 0.", leads);
    all.add_gauge("tenure_term", "Term of the leader; 0 without a leader.", term);
    let since = leader.map_or(0.0, |leader| seconds(leader.for_ms));
    let help = "Time for which this node knows the leader in seconds; 0 without a leader.";
    all.add_gauge("tenure_leader_seconds", help, since);
    let help = "Number of leaders that this node learned of.";
    all.add_counter("tenure_elections_total", help, status.elections);
}

fn write_lock(all: &mut MetricsExposition, status: &NodeStatus) {
    let lock = &status.lock;
    let is = |state: &str| u8::from(lock.state == state);
    all.add_gauge(
        "tenure_inside",
        "Whether this node is in the critical section: 1 or 0.",
        is("inside"),
    );
    all.add_gauge("tenure_waiting", "Whether this node waits to enter: 1 or 0.", is("waiting"));
    all.add_counter("tenure_requests_total", "Number of requests to enter.", lock.requests);
    all.add_counter("tenure_entries_total", "Number of entries.", lock.entries);
    let waited = lock.waited_seconds;
    all.add_counter(
        "tenure_wait_seconds_total",
        "Total time of waiting for entries in seconds.",
        waited,
    );
    let longest = lock.longest_wait_seconds;
    all.add_gauge(
        "tenure_wait_longest_seconds",
        "Longest time of waiting for an entry in seconds.",
        longest,
    );
    let (high, low) = lock.fence.unwrap_or_default();
    let mut fence =
        all.begin_family("gauge", "tenure_fence", "Fencing token of the last entry, in two parts.");
    fence.add_sample(&[("part", "high")], high);
    fence.add_sample(&[("part", "low")], low);
}

fn write_links(all: &mut MetricsExposition, links: &[LinkStatus]) {
    let mut each = |name, help, read: fn(&LinkStatus) -> u64| {
        let mut family = all.begin_family("gauge", name, help);
        for link in links {
            family.add_sample(&[("peer", &link.process.to_string())], read(link));
        }
    };
    each("tenure_link_up", "Whether a connection to the peer carries messages: 1 or 0.", |link| {
        link.connected.into()
    });
    each("tenure_suspected", "Whether the peer is suspected to have crashed: 1 or 0.", |link| {
        link.suspected.into()
    });
    each("tenure_held_messages", "Messages that the peer has not confirmed yet.", |link| {
        link.held_messages
    });
    each("tenure_held_bytes", "Bytes of messages that the peer has not confirmed yet.", |link| {
        link.held_bytes
    });
}

fn write_rejections(all: &mut MetricsExposition, status: &NodeStatus) {
    let help = "Incoming connections that were rejected.";
    let mut family = all.begin_family("counter", "tenure_rejected_total", help);
    for reason in RejectionReason::ALL.map(RejectionReason::name) {
        let times = status.refused.get(reason).copied().unwrap_or_default();
        family.add_sample(&[("reason", reason)], times);
    }
}

fn write_traffic(all: &mut MetricsExposition, status: &NodeStatus) {
    let traffic = &status.traffic;
    for (name, help, value) in [
        ("messages_sent", "Messages that were sent, including repetitions.", traffic.messages_sent),
        (
            "messages_received",
            "Messages that were passed to the algorithm.",
            traffic.messages_received,
        ),
        ("bytes_sent", "Bytes that were sent after handshakes.", traffic.bytes_sent),
        ("bytes_received", "Bytes that were received after handshakes.", traffic.bytes_received),
        ("duplicates", "Repeated messages that were dropped.", traffic.duplicates),
        ("discarded", "Messages that were for an earlier session.", traffic.discarded),
        ("overflowed", "Messages that were dropped because a queue was full.", traffic.overflowed),
        (
            "malformed",
            "Connections that were closed because of malformed bytes.",
            traffic.malformed,
        ),
        ("implausible", "Messages that failed validation.", traffic.implausible),
        ("connections", "Connections that reached a peer.", traffic.connections),
        (
            "reconnections",
            "Connections that were not the first to their peer.",
            traffic.reconnections,
        ),
        ("failed_dials", "Attempts to connect that failed.", traffic.failed_dials),
    ] {
        all.add_counter(&format!("tenure_{name}_total"), help, value);
    }
}

fn seconds(millis: u64) -> f64 {
    millis as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;

    use super::*;
    use crate::status::{LockUsage, SaveStats, TrafficStats};

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/nodes.md");

    fn status() -> NodeStatus {
        let lock = LockUsage {
            state: "outside".into(),
            for_ms: None,
            fence: None,
            requests: 0,
            entries: 0,
            waited_seconds: 0.0,
            longest_wait_seconds: 0.0,
        };
        NodeStatus {
            process: 1,
            cluster: "test".into(),
            size: 1,
            mutex: "coordinated:raft".into(),
            election: "raft".into(),
            release: "0".into(),
            session: 1,
            time: "2026-11-22T15:04:05.678Z".into(),
            up_ms: 0,
            leader: None,
            elections: 0,
            lock,
            links: Vec::new(),
            refused: BTreeMap::new(),
            traffic: TrafficStats::default(),
            saves: SaveStats::default(),
        }
    }

    #[test]
    fn documentation_lists_exactly_the_metrics_that_exist() {
        let text = metrics_text(&status());
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        let served: BTreeSet<String> = types.map(|(name, _)| name.to_owned()).collect();
        assert!(served.len() > 30, "{served:?}");

        let page = fs::read_to_string(PAGE).expect("a document");
        let (_, table) = page.split_once("| metric (prefix `tenure_`) |").expect("a table");
        let rows =
            table.lines().skip(2).map_while(|line| line.strip_prefix("| ")?.split(" |").next());
        let names = rows.flat_map(|names| names.split('`').skip(1).step_by(2));
        let names = names.filter_map(|name| name.split('{').next());
        let documented: BTreeSet<String> = names.map(|name| format!("tenure_{name}")).collect();
        assert_eq!(served, documented);

        let words = page.split(|each: char| !each.is_ascii_alphanumeric() && each != '_');
        for word in words.filter(|word| word.len() > 7 && word.starts_with("tenure_")) {
            assert!(served.contains(word), "{PAGE} names {word}");
        }
    }
}
