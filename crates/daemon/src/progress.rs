//! Reports what changes at a running node: the leader, the live peers, and the progress of the
//! workload.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use tenure_core::{Fence, ProcessId};
use tenure_runtime::store::SaveMetrics;
use tenure_runtime::{ElectionHandle, LivePeerSessions};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch::Receiver;
use tokio::task::JoinHandle;
use tokio::time::{Interval, interval};

use crate::boot::NodeError;
use crate::node::NodeEventSink;
use crate::report::NodeEvent;
use crate::workload::{WorkloadError, WorkloadStats};

const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Sources of the changes that [`report_changes`] reports.
pub(crate) struct ChangeSources<'a> {
    pub(crate) liveness: &'a mut LivenessReporter,
    pub(crate) election: ElectionHandle,
    pub(crate) live_peers: Receiver<LivePeerSessions>,
    /// True if the node runs a workload, whose progress is reported.
    pub(crate) has_work: bool,
    /// Numbers of entries and rejections of the workload.
    pub(crate) stats: WorkloadStats,
    /// Fencing tokens of the entries of the workload. Yields nothing if grants are not reported.
    pub(crate) grants: UnboundedReceiver<Fence>,
}

/// Reporter that decides at each tick of an interval whether to report [`NodeEvent::Alive`].
pub(crate) struct LivenessReporter {
    saves: SaveMetrics,
    /// Times of the decisions. `None`: this reporter never reports [`NodeEvent::Alive`].
    ticks: Option<Interval>,
}

impl LivenessReporter {
    /// Creates a reporter with an interval of `period`. If `period` is `None` or 0, it never
    /// reports [`NodeEvent::Alive`].
    pub(crate) fn new(saves: SaveMetrics, period: Option<Duration>) -> Self {
        let period = period.filter(|period| !period.is_zero());
        LivenessReporter { saves, ticks: period.map(interval) }
    }

    /// Waits for the next tick at which the disk does not hang. The disk hangs if a save has been
    /// in progress for longer than the interval of the ticks. Dropping the future loses nothing.
    async fn wait_until_due(&mut self) {
        let Some(ticks) = &mut self.ticks else { return pending().await };
        loop {
            ticks.tick().await;
            if self.saves.unfinished_save_age().is_none_or(|age| age <= ticks.period()) {
                return;
            }
        }
    }

    /// Reports [`NodeEvent::Alive`] at each tick at which the disk does not hang.
    pub(crate) async fn report(&mut self, on_event: NodeEventSink<'_>) -> Infallible {
        loop {
            self.wait_until_due().await;
            on_event(NodeEvent::Alive);
        }
    }
}

/// Reports changes as they happen. Returns only if the workload fails.
pub(crate) async fn report_changes(
    mut reporter: ChangeSources<'_>,
    worker: &mut JoinHandle<Result<(), WorkloadError>>,
    on_event: NodeEventSink<'_>,
) -> NodeError {
    let mut ticks = interval(PROGRESS_INTERVAL);
    let mut has_work = reporter.has_work;
    let (mut term, mut last_progress, mut peers) = (0, (0, 0), LivePeerSessions::new());
    loop {
        tokio::select! {
            changed = reporter.election.wait_for_leader_change() => match changed {
                Ok(Some(now)) => {
                    term = now.number;
                    tracing::info!(leader = %now.leader, term, "leader elected");
                    on_event(NodeEvent::Elected { leader: now.leader.display_number(), term });
                }
                Ok(None) => {
                    tracing::info!(term, "leader lost");
                    on_event(NodeEvent::Deposed { term });
                }
                Err(_) => pending().await,
            },
            () = reporter.liveness.wait_until_due() => on_event(NodeEvent::Alive),
            Ok(()) = reporter.live_peers.changed() => {
                let now = reporter.live_peers.borrow_and_update().clone();
                peer_changes(&peers, &now).into_iter().for_each(&mut *on_event);
                peers = now;
            }
            Some(fence) = reporter.grants.recv() => {
                on_event(NodeEvent::Granted { fence: fence.to_string() });
            }
            _ = ticks.tick(), if has_work => {
                let (entries, refused) = reporter.stats.entries_and_rejections();
                if std::mem::replace(&mut last_progress, (entries, refused)) != last_progress {
                    on_event(NodeEvent::Progress { entries, refused });
                }
            }
            ended = &mut *worker, if has_work => {
                match ended {
                    Ok(Ok(())) => has_work = false,
                    Ok(Err(error)) => return NodeError::Work(error.to_string()),
                    Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
                }
                let (entries, refused) = reporter.stats.entries_and_rejections();
                on_event(NodeEvent::Done { entries, refused });
            }
        }
    }
}

/// Compares the sessions of the live peers at two times. Returns reports about the peers that came
/// up or went down between these times. A peer with a new session went down and came up. If
/// `before` is empty, no peer was up before.
fn peer_changes(before: &LivePeerSessions, now: &LivePeerSessions) -> Vec<NodeEvent> {
    let mut reports = Vec::new();
    for (index, session) in now.iter().enumerate() {
        let (peer, known) = (ProcessId::from_index(index), before.get(index).copied().flatten());
        if *session == known {
            continue;
        }
        if known.is_some() {
            tracing::info!(%peer, "peer is down");
            reports.push(NodeEvent::PeerDown { process: peer.display_number() });
        }
        if let Some(session) = *session {
            tracing::info!(%peer, session, "peer is up");
            reports.push(NodeEvent::PeerUp { process: peer.display_number(), session });
        }
    }
    reports
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_only_changed_peers() {
        let reported = |before: &[Option<u64>], now: &[Option<u64>]| {
            peer_changes(&before.to_vec(), &now.to_vec())
        };
        let up = |process, session| NodeEvent::PeerUp { process, session };
        assert_eq!(reported(&[], &[None, Some(1), None]), [up(2, 1)]);
        assert_eq!(reported(&[None, Some(1)], &[None, Some(1)]), []);
        assert_eq!(reported(&[None, Some(1)], &[None, None]), [NodeEvent::PeerDown { process: 2 }]);
        let again = [NodeEvent::PeerDown { process: 2 }, up(2, 2)];
        assert_eq!(reported(&[None, Some(1)], &[None, Some(2)]), again);
    }
}
