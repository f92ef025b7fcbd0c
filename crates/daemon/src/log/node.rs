//! Runs a node that keeps a log.

use std::num::NonZeroU64;
use std::time::Duration;

use tenure_algorithms::agreement::raft_log::{self, RaftLog};
use tenure_algorithms::catalogue::{Configured, Parameters};
use tenure_core::{Algorithm, Delay, TICKS_PER_UNIT, Term};
use tenure_runtime::{LivePeers, Parts, RunningNode, start};
use tokio::net::TcpListener;
use tokio::sync::watch::Receiver;
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::application::{LogApplication, LogProgress, MemberRequest, SHOWN_ENTRIES};
use super::server::serve;
use crate::boot::{NodeError, NodeResources, recorder, task_result};
use crate::config::{Config, Log};
use crate::node::{Reports, Stop};
use crate::progress::peer_changes;
use crate::report::Report;

/// Default number of entries after which a snapshot replaces them.
const DEFAULT_SNAPSHOT_INTERVAL: NonZeroU64 = NonZeroU64::new(1_000).expect("not 0");

/// Shortest time between two progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Keeps a log until `stop` resolves, and passes reports to `report`.
///
/// # Errors
///
/// [`NodeError`]. Saved state is safe, and nothing is left running.
pub(crate) async fn run(
    config: Config,
    log: Log,
    stop: Stop<'_>,
    report: Reports<'_>,
) -> Result<(), NodeError> {
    let protocol = protocol(&config, &log)?;
    let card = RaftLog::card(&protocol, config.size());
    let NodeResources { transport, store, session, injection, .. } =
        NodeResources::open(&config, &card.name)?;
    let recorder = recorder(&config, &card)?;
    let listener = TcpListener::bind(log.clients).await.map_err(|error| NodeError::Address {
        address: log.clients.to_string(),
        reason: error.to_string(),
    })?;
    let application = LogApplication::new(config.me());
    let (leadership, progress) = (application.watch_leader(), application.watch_progress());
    let (sender, receiver) = mpsc::unbounded_channel();
    let running = start::<RaftLog, LogApplication>(Parts {
        config: protocol,
        transport,
        store,
        application: application,
        requests: receiver,
        recorder,
        injection,
        suspected: None,
    })?;
    let RunningNode { address, live_peers, mut task, .. } = running;
    report(Report::Ready { process: config.me().number(), address, session });
    let watching = ProgressReporter { leadership: leadership.clone(), progress, live_peers };
    let serving = serve(listener, sender.clone(), leadership);
    tokio::pin!(serving);
    tokio::select! {
        () = stop => {}
        () = &mut serving => {}
        () = watching.watch(report) => {}
        stopped = &mut task => return Ok(task_result(stopped)?),
    }
    tracing::info!(process = %config.me(), "shutting down");
    // The log hands over leadership before it stops.
    let _ = sender.send(MemberRequest::Shutdown);
    // Meanwhile clients receive pending responses, and learn of the next leader.
    tokio::select! {
        stopped = &mut task => Ok(task_result(stopped)?),
        () = serving => Ok(task_result(task.await)?),
    }
}

/// Returns the configuration of the log.
fn protocol(config: &Config, log: &Log) -> Result<raft_log::Config, NodeError> {
    let delay = config.detector.message_ms * TICKS_PER_UNIT;
    let variants = log.variants.clone();
    let parameters = Parameters { delay, variants, ..Parameters::plain(config.size()) };
    let plain = raft_log::Config::configured(&parameters)?;
    let after = log.snapshot_after.unwrap_or(DEFAULT_SNAPSHOT_INTERVAL);
    let config = match plain.snapshot_interval {
        Some(_) => plain,
        // Keeps some entries before the snapshot, for members that lag a little.
        None => raft_log::Config {
            snapshot_interval: Some(after),
            trailing_entries: after.get() / 10,
            ..plain
        },
    };
    let Some((least, most)) = log.election_ms else { return Ok(config) };
    let election = Delay::between_units(least, most);
    // One or two late heartbeats must not cause an election.
    Ok(raft_log::Config { election, heartbeat: Delay::ticks(election.min / 4), ..config })
}

/// Sources of the changes at a node.
struct ProgressReporter {
    leadership: Receiver<Option<Term>>,
    progress: Receiver<LogProgress>,
    live_peers: watch::Receiver<LivePeers>,
}

impl ProgressReporter {
    /// Reports changes until the node ends.
    async fn watch(mut self, report: Reports<'_>) {
        let mut ticks = interval(PROGRESS_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut term, mut peers) = (0, LivePeers::new());
        loop {
            tokio::select! {
                changed = self.leadership.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    report(match *self.leadership.borrow_and_update() {
                        Some(now) => {
                            term = now.number;
                            tracing::info!(leader = %now.leader, term, "leader elected");
                            Report::Elected { leader: now.leader.number(), term }
                        }
                        None => {
                            tracing::info!(term, "leader lost");
                            Report::Deposed { term }
                        }
                    });
                }
                Ok(()) = self.live_peers.changed() => {
                    let now = self.live_peers.borrow_and_update().clone();
                    peer_changes(&peers, &now).into_iter().for_each(&mut *report);
                    peers = now;
                }
                _ = ticks.tick() => {
                    if self.progress.has_changed().unwrap_or(false) {
                        report(log_report(&self.progress.borrow_and_update()));
                    }
                }
            }
        }
    }
}

fn log_report(progress: &LogProgress) -> Report {
    Report::Log {
        stored: progress.stored(),
        committed: progress.committed,
        last_terms: progress.last_terms(SHOWN_ENTRIES),
    }
}
