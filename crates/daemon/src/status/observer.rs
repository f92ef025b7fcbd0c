//! Status of a node, computed from its records, its connections and its saves.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, UNIX_EPOCH};

use tenure_core::{Fence, ProcessId, Term};
use tenure_runtime::store::{SaveMetrics, SaveSummary};
use tenure_runtime::transport::{MeshStatus, PeerStatus};
use tenure_trace::{ProcessCondition, ProcessStateChange, ProcessStates, Record, unix_time_nanos};

use super::{LeaderInfo, LinkStatus, LockUsage, NodeStatus, SaveStats, TrafficStats};
use crate::clock::format_rfc3339;
use crate::config::Config;

/// Information about a node: its configured identity and algorithms. As soon as the node runs, also
/// its session, its connections and its saves.
#[derive(Debug)]
pub(crate) struct NodeInfo {
    me: ProcessId,
    cluster: String,
    size: u32,
    mutex: String,
    election: String,
    run_state: OnceLock<RunState>,
}

#[derive(Debug)]
struct RunState {
    session: u64,
    started: Instant,
    view: MeshStatus,
    saves: SaveMetrics,
}

/// Observer of a node: it reads the node's records, and computes the node's status from them.
#[derive(Debug)]
pub struct NodeObserver {
    info: Arc<NodeInfo>,
    records: Receiver<Record>,
    stats: RecordStats,
}

#[derive(Debug, Default)]
struct RecordStats {
    process_states: ProcessStates,
    /// Term of the leader that the node knows, and the time at which the node learned of it, in
    /// nanoseconds since 1970.
    leader: Option<(Term, u64)>,
    elections: u64,
    requests: u64,
    entries: u64,
    waited: Duration,
    longest_wait: Duration,
}

impl NodeInfo {
    pub(crate) fn new(config: &Config) -> Arc<Self> {
        Arc::new(NodeInfo {
            me: config.me(),
            cluster: config.cluster.name.clone(),
            size: config.node_count(),
            mutex: config.service.mutex.clone(),
            election: config.election_name().to_owned(),
            run_state: OnceLock::new(),
        })
    }

    /// Stores the session number, the connections and the save metrics of the node. The caller
    /// calls this method once, as soon as the node runs. A second call panics.
    pub(crate) fn set_running(&self, session: u64, view: MeshStatus, saves: SaveMetrics) {
        let run_state = RunState { session, started: Instant::now(), view, saves };
        let is_first = self.run_state.set(run_state).is_ok();
        assert!(is_first, "a node starts once");
    }
}

impl NodeObserver {
    pub(crate) fn new(info: Arc<NodeInfo>, records: Receiver<Record>) -> Self {
        NodeObserver { info, records, stats: RecordStats::default() }
    }

    /// Processes the records that have arrived since the last call, and passes each of them to
    /// `on_record`.
    pub(crate) fn read_new_records(&mut self, mut on_record: impl FnMut(&Record)) {
        for record in self.records.try_iter() {
            self.stats.read(&record);
            on_record(&record);
        }
    }

    /// Returns the status of the node, computed from the records that
    /// [`NodeObserver::read_new_records`] has read. `None` before the node runs.
    pub(crate) fn status(&self) -> Option<NodeStatus> {
        let (info, stats) = (&*self.info, &self.stats);
        let RunState { session, started, view, saves } = info.run_state.get()?;
        let counts = view.counts();
        let refused = counts.refused.iter().map(|(why, times)| (why.name().to_owned(), *times));
        let SaveSummary { count, total_duration: total, longest_duration: longest } = saves.read();
        let now = unix_time_nanos();
        Some(NodeStatus {
            process: info.me.display_number(),
            cluster: info.cluster.clone(),
            size: info.size,
            mutex: info.mutex.clone(),
            election: info.election.clone(),
            release: env!("CARGO_PKG_VERSION").to_owned(),
            session: *session,
            time: timestamp(now),
            up_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            leader: stats.leader.map(|(term, since)| LeaderInfo {
                process: term.leader.display_number(),
                term: term.number,
                since: timestamp(since),
                for_ms: millis(now, since),
            }),
            elections: stats.elections,
            lock: stats.usage(info.me, now),
            links: view.peers().into_iter().map(|peer| stats.link(info.me, peer)).collect(),
            refused: refused.collect(),
            traffic: TrafficStats {
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
            saves: SaveStats {
                count,
                seconds: total.as_secs_f64(),
                longest_seconds: longest.as_secs_f64(),
            },
        })
    }
}

impl RecordStats {
    fn read(&mut self, record: &Record) {
        for change in self.process_states.apply_record(record) {
            match change {
                ProcessStateChange::LeaderChanges(Some(term))
                    if self.leader.is_none_or(|(known, _)| known != term) =>
                {
                    self.leader = Some((term, record.time));
                    self.elections += 1;
                }
                ProcessStateChange::LeaderChanges(None) => self.leader = None,
                ProcessStateChange::ConditionBegins(ProcessCondition::Waiting) => {
                    self.requests += 1
                }
                ProcessStateChange::ConditionBegins(ProcessCondition::Inside) => self.entries += 1,
                ProcessStateChange::ConditionEnds(ProcessCondition::Waiting, from) => {
                    let waited = Duration::from_nanos(record.time.saturating_sub(from));
                    self.waited += waited;
                    self.longest_wait = self.longest_wait.max(waited);
                }
                _ => {}
            }
        }
    }

    fn usage(&self, me: ProcessId, now: u64) -> LockUsage {
        let process_state = self.process_states.state(me);
        let (state, since) =
            [(ProcessCondition::Inside, "inside"), (ProcessCondition::Waiting, "waiting")]
                .into_iter()
                .find_map(|(condition, word)| {
                    Some((word, Some(process_state.condition_start(condition)?)))
                })
                .unwrap_or(("outside", None));
        let Fence(high, low) = process_state.fence;
        LockUsage {
            state: state.to_owned(),
            for_ms: since.map(|since| millis(now, since)),
            fence: (self.entries > 0).then_some((high, low)),
            requests: self.requests,
            entries: self.entries,
            waited_seconds: self.waited.as_secs_f64(),
            longest_wait_seconds: self.longest_wait.as_secs_f64(),
        }
    }

    fn link(&self, me: ProcessId, peer: PeerStatus) -> LinkStatus {
        LinkStatus {
            process: peer.peer.display_number(),
            address: peer.address,
            connected: peer.is_connected,
            since: peer.connected_at.map(format_rfc3339),
            session: peer.session,
            suspected: self.process_states.state(me).suspects.contains(&peer.peer),
            error: peer.error,
            held_messages: peer.held_messages as u64,
            held_bytes: peer.held_bytes as u64,
        }
    }
}

/// Formats the time of a record, which is in nanoseconds since 1970.
fn timestamp(nanoseconds: u64) -> String {
    format_rfc3339(UNIX_EPOCH + Duration::from_nanos(nanoseconds))
}

fn millis(now: u64, since: u64) -> u64 {
    now.saturating_sub(since) / 1_000_000
}
