//! What is seen of a node from beside it: its records, its connections, its saving.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, UNIX_EPOCH};

use tenure_core::{Fence, ProcessId, Term};
use tenure_runtime::store::{SaveCounts, Saves};
use tenure_runtime::transport::{PeerStatus, View};
use tenure_trace::{Change, Hold, Record, Standings, now};

use super::{Leading, LinkStatus, NodeStatus, Saving, Traffic, Usage};
use crate::clock::written;
use crate::config::Config;

/// Who a node is, and what can be read of it as soon as it runs.
#[derive(Debug)]
pub(crate) struct Subject {
    me: ProcessId,
    cluster: String,
    size: u32,
    mutex: String,
    election: String,
    vitals: OnceLock<Vitals>,
}

#[derive(Debug)]
struct Vitals {
    session: u64,
    begun: Instant,
    view: View,
    saves: Saves,
}

/// Sees everything that one node writes down.
#[derive(Debug)]
pub struct Observer {
    subject: Arc<Subject>,
    records: Receiver<Record>,
    seen: Seen,
}

/// What the records come to.
#[derive(Debug, Default)]
struct Seen {
    standings: Standings,
    /// Who leads, and since when.
    leader: Option<(Term, u64)>,
    elections: u64,
    asked: u64,
    entries: u64,
    waited: Duration,
    longest_wait: Duration,
}

impl Subject {
    pub(crate) fn of(config: &Config) -> Arc<Self> {
        Arc::new(Subject {
            me: config.me(),
            cluster: config.cluster.name.clone(),
            size: config.size(),
            mutex: config.service.mutex.clone(),
            election: config.service.election.clone(),
            vitals: OnceLock::new(),
        })
    }

    /// It runs: from now on it can be asked how it is.
    pub(crate) fn runs(&self, session: u64, view: View, saves: Saves) {
        let vitals = Vitals { session, begun: Instant::now(), view, saves };
        let first = self.vitals.set(vitals).is_ok();
        assert!(first, "a node is started once");
    }
}

impl Observer {
    pub(crate) fn new(subject: Arc<Subject>, records: Receiver<Record>) -> Self {
        Observer { subject, records, seen: Seen::default() }
    }

    /// Takes note of what has happened since the last time, and tells it on.
    pub(crate) fn read(&mut self, mut tell: impl FnMut(&Record)) {
        for record in self.records.try_iter() {
            self.seen.read(&record);
            tell(&record);
        }
    }

    /// How the node is; nothing before it runs.
    pub(crate) fn status(&self) -> Option<NodeStatus> {
        let (subject, seen) = (&*self.subject, &self.seen);
        let Vitals { session, begun, view, saves } = subject.vitals.get()?;
        let counts = view.counts();
        let refused = counts.refused.iter().map(|(why, times)| (why.name().to_owned(), *times));
        let SaveCounts { count, total, longest } = saves.read();
        let now = now();
        Some(NodeStatus {
            process: subject.me.number(),
            cluster: subject.cluster.clone(),
            size: subject.size,
            mutex: subject.mutex.clone(),
            election: subject.election.clone(),
            release: env!("CARGO_PKG_VERSION").to_owned(),
            session: *session,
            time: moment(now),
            up_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            leader: seen.leader.map(|(term, since)| Leading {
                process: term.leader.number(),
                term: term.number,
                since: moment(since),
                for_ms: millis(now, since),
            }),
            elections: seen.elections,
            lock: seen.usage(subject.me, now),
            links: view.peers().into_iter().map(|peer| seen.link(subject.me, peer)).collect(),
            refused: refused.collect(),
            traffic: Traffic {
                messages_sent: counts.messages_sent,
                messages_received: counts.messages_received,
                bytes_sent: counts.bytes_sent,
                bytes_received: counts.bytes_received,
                duplicates: counts.duplicates,
                discarded: counts.discarded,
                overflowed: counts.overflowed,
                malformed: counts.malformed,
                implausible: counts.implausible,
                connections: counts.connections,
                reconnections: counts.reconnections,
                failed_dials: counts.failed_dials,
            },
            saves: Saving {
                count,
                seconds: total.as_secs_f64(),
                longest_seconds: longest.as_secs_f64(),
            },
        })
    }
}

impl Seen {
    fn read(&mut self, record: &Record) {
        for change in self.standings.read(record) {
            match change {
                Change::Believes(Some(term))
                    if self.leader.is_none_or(|(known, _)| known != term) =>
                {
                    self.leader = Some((term, record.time));
                    self.elections += 1;
                }
                Change::Believes(None) => self.leader = None,
                Change::Begins(Hold::Waiting) => self.asked += 1,
                Change::Begins(Hold::Inside) => self.entries += 1,
                Change::Ends(Hold::Waiting, from) => {
                    let waited = Duration::from_nanos(record.time.saturating_sub(from));
                    self.waited += waited;
                    self.longest_wait = self.longest_wait.max(waited);
                }
                _ => {}
            }
        }
    }

    fn usage(&self, me: ProcessId, now: u64) -> Usage {
        let standing = self.standings.of(me);
        let (state, since) = [(Hold::Inside, "inside"), (Hold::Waiting, "waiting")]
            .into_iter()
            .find_map(|(hold, word)| Some((word, Some(standing.since(hold)?))))
            .unwrap_or(("outside", None));
        let Fence(high, low) = standing.fence;
        Usage {
            state: state.to_owned(),
            for_ms: since.map(|since| millis(now, since)),
            fence: (self.entries > 0).then_some((high, low)),
            asked: self.asked,
            entries: self.entries,
            waited_seconds: self.waited.as_secs_f64(),
            longest_wait_seconds: self.longest_wait.as_secs_f64(),
        }
    }

    fn link(&self, me: ProcessId, peer: PeerStatus) -> LinkStatus {
        LinkStatus {
            process: peer.peer.number(),
            address: peer.address,
            connected: peer.connected,
            since: peer.connected_at.map(written),
            session: peer.session,
            suspected: self.standings.of(me).suspects.contains(&peer.peer),
            error: peer.error,
            held_messages: peer.held_frames as u64,
            held_bytes: peer.held_bytes as u64,
        }
    }
}

/// What a record calls a time.
fn moment(nanoseconds: u64) -> String {
    written(UNIX_EPOCH + Duration::from_nanos(nanoseconds))
}

fn millis(now: u64, since: u64) -> u64 {
    now.saturating_sub(since) / 1_000_000
}
