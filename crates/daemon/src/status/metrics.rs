//! The text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write};

use tenure_runtime::transport::Refusal;

use super::{LinkStatus, NodeStatus};

/// Metrics on their way to whoever collects them.
struct Exposition(String);

/// What can be read of one metric.
struct Family<'a> {
    name: &'a str,
    out: &'a mut String,
}

impl Exposition {
    /// Begins a metric; a `kind` is `counter` or `gauge`.
    fn family<'a>(&'a mut self, kind: &str, name: &'a str, help: &str) -> Family<'a> {
        put(&mut self.0, format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        Family { name, out: &mut self.0 }
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.family("counter", name, help).is(value);
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family("gauge", name, help).is(value);
    }
}

impl Family<'_> {
    fn is(&mut self, value: impl Display) {
        put(self.out, format_args!("{} {value}\n", self.name));
    }

    fn of(&mut self, labels: &[(&str, &str)], value: impl Display) {
        let escape =
            |text: &str| text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
        let labels = labels.iter().map(|(name, said)| format!("{name}=\"{}\"", escape(said)));
        let labels = labels.collect::<Vec<_>>().join(",");
        put(self.out, format_args!("{}{{{labels}}} {value}\n", self.name));
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes everything");
}

/// All that a node counts.
pub(crate) fn metrics(status: &NodeStatus) -> String {
    let mut all = Exposition(String::new());
    all.family("gauge", "tenure_info", "What runs here; always 1.").of(
        &[
            ("process", &status.process.to_string()),
            ("cluster", &status.cluster),
            ("mutex", &status.mutex),
            ("election", &status.election),
            ("release", &status.release),
        ],
        1,
    );
    all.gauge("tenure_group_size", "How many nodes the cluster has.", status.size);
    all.gauge("tenure_session", "Which boot of its process this is.", status.session);
    all.gauge("tenure_up_seconds", "For how long the node runs.", seconds(status.up_ms));
    office(&mut all, status);
    lock(&mut all, status);
    links(&mut all, &status.links);
    refusals(&mut all, status);
    traffic(&mut all, status);
    let saves = &status.saves;
    all.counter("tenure_saves_total", "States that were made durable.", saves.count);
    all.counter("tenure_save_seconds_total", "How long that took in all.", saves.seconds);
    let slowest = saves.longest_seconds;
    all.gauge("tenure_save_longest_seconds", "How long the slowest save took.", slowest);
    all.0
}

fn office(all: &mut Exposition, status: &NodeStatus) {
    let leader = status.leader.as_ref();
    let (process, term) = leader.map_or((0, 0), |leader| (leader.process, leader.term));
    let help = "The process that leads, as this node was told; 0 while nobody does.";
    all.gauge("tenure_leader", help, process);
    let leads = u8::from(process == status.process);
    all.gauge("tenure_is_leader", "Whether this node leads, as it was told.", leads);
    all.gauge("tenure_term", "The number of the leader's term; 0 while nobody leads.", term);
    let since = leader.map_or(0.0, |leader| seconds(leader.for_ms));
    let help = "For how long this node knows of the leader; 0 while nobody leads.";
    all.gauge("tenure_leader_seconds", help, since);
    let help = "How often this node was told of a leader.";
    all.counter("tenure_elections_total", help, status.elections);
}

fn lock(all: &mut Exposition, status: &NodeStatus) {
    let lock = &status.lock;
    let is = |state: &str| u8::from(lock.state == state);
    all.gauge("tenure_inside", "Whether this node is inside.", is("inside"));
    all.gauge("tenure_waiting", "Whether this node waits to enter.", is("waiting"));
    all.counter("tenure_asked_total", "How often this node asked to enter.", lock.asked);
    all.counter("tenure_entries_total", "How often it entered.", lock.entries);
    let waited = lock.waited_seconds;
    all.counter("tenure_wait_seconds_total", "How long it waited for its entries.", waited);
    let longest = lock.longest_wait_seconds;
    all.gauge("tenure_wait_longest_seconds", "The longest wait for an entry.", longest);
    let (high, low) = lock.fence.unwrap_or_default();
    let mut fence =
        all.family("gauge", "tenure_fence", "The fence of the last entry, in two parts.");
    fence.of(&[("part", "high")], high);
    fence.of(&[("part", "low")], low);
}

fn links(all: &mut Exposition, links: &[LinkStatus]) {
    let mut each = |name, help, read: fn(&LinkStatus) -> u64| {
        let mut family = all.family("gauge", name, help);
        for link in links {
            family.of(&[("peer", &link.process.to_string())], read(link));
        }
    };
    each("tenure_link_up", "Whether a connection with the peer carries messages.", |link| {
        link.connected.into()
    });
    each("tenure_suspected", "Whether the peer is suspected to have crashed.", |link| {
        link.suspected.into()
    });
    each("tenure_held_messages", "Messages kept until the peer confirms them.", |link| {
        link.held_messages
    });
    each("tenure_held_bytes", "The bytes of those.", |link| link.held_bytes);
}

fn refusals(all: &mut Exposition, status: &NodeStatus) {
    let help = "Incoming connections that were refused.";
    let mut family = all.family("counter", "tenure_refused_total", help);
    for reason in Refusal::ALL.map(Refusal::name) {
        let times = status.refused.get(reason).copied().unwrap_or_default();
        family.of(&[("reason", reason)], times);
    }
}

fn traffic(all: &mut Exposition, status: &NodeStatus) {
    let traffic = &status.traffic;
    for (name, help, value) in [
        ("messages_sent", "Messages written to a connection.", traffic.messages_sent),
        ("messages_received", "Messages handed to the algorithm.", traffic.messages_received),
        ("bytes_sent", "Bytes written after handshakes.", traffic.bytes_sent),
        ("bytes_received", "Bytes read after handshakes.", traffic.bytes_received),
        ("duplicates", "Messages that came again and were dropped.", traffic.duplicates),
        ("discarded", "Messages for a session that had ended.", traffic.discarded),
        ("overflowed", "Messages dropped because a queue was full.", traffic.overflowed),
        ("malformed", "Connections of peers closed for senseless bytes.", traffic.malformed),
        ("implausible", "Messages that were not believed.", traffic.implausible),
        ("connections", "Connections that reached a peer.", traffic.connections),
        ("reconnections", "Those that were not the first to that peer.", traffic.reconnections),
        ("failed_dials", "Attempts to reach a peer in vain.", traffic.failed_dials),
    ] {
        all.counter(&format!("tenure_{name}_total"), help, value);
    }
}

fn seconds(millis: u64) -> f64 {
    millis as f64 / 1e3
}
