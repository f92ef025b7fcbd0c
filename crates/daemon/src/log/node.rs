//! A node that keeps a log, as a process.

use std::num::NonZeroU64;
use std::time::Duration;

use tenure_algorithms::agreement::raft_log::{self, RaftLog};
use tenure_algorithms::catalogue::{Configured, Parameters};
use tenure_core::{Algorithm, Delay, TICKS_PER_UNIT, Term};
use tenure_runtime::{Parts, Present, Running, start};
use tokio::net::TcpListener;
use tokio::sync::watch::Receiver;
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::desk::{Ask, Desk, SHOWN, Standing};
use super::server::serve;
use crate::boot::{Ground, NodeError, outcome, recorder};
use crate::config::{Config, Log};
use crate::node::{Reports, Stop};
use crate::report::Report;
use crate::watching::changes;

/// After how many entries a snapshot stands for them, where nobody says after how many.
const SNAPSHOT_AFTER: NonZeroU64 = NonZeroU64::new(1_000).expect("it is not 0");

/// How often a node tells how far its log has come, if it has come any farther.
const PROGRESS: Duration = Duration::from_millis(100);

/// Keeps a log until `stop` is done, telling `report` how it goes.
///
/// # Errors
///
/// [`NodeError`]; what was saved is safe, and nothing is left running.
pub(crate) async fn run(
    config: Config,
    log: Log,
    stop: Stop<'_>,
    report: Reports<'_>,
) -> Result<(), NodeError> {
    let protocol = protocol(&config, &log)?;
    let card = RaftLog::card(&protocol, config.size());
    let Ground { transport, store, session, injection, .. } = Ground::of(&config, &card.name)?;
    let recorder = recorder(&config, &card)?;
    let listener = TcpListener::bind(log.clients).await.map_err(|error| NodeError::Address {
        address: log.clients.to_string(),
        says: error.to_string(),
    })?;
    let desk = Desk::new(config.me());
    let (leadership, standing) = (desk.leadership(), desk.standing());
    let (ask, asks) = mpsc::unbounded_channel();
    let running = start::<RaftLog, Desk>(Parts {
        config: protocol,
        transport,
        store,
        local: desk,
        asks,
        recorder,
        injection,
        suspected: None,
    })?;
    let Running { address, present, mut task, .. } = running;
    report(Report::Ready { process: config.me().number(), address, session });
    let watching = Watching { leadership: leadership.clone(), standing, present };
    let serving = serve(listener, ask.clone(), leadership);
    tokio::pin!(serving);
    tokio::select! {
        () = stop => {}
        () = &mut serving => {}
        () = watching.watch(report) => {}
        stopped = &mut task => return Ok(outcome(stopped)?),
    }
    tracing::info!("{} leaves", config.me());
    // It hands over what it leads, and says goodbye.
    let _ = ask.send(Ask::End);
    // Meanwhile clients get the answers that are still to come, and hear whom to ask then.
    tokio::select! {
        stopped = &mut task => Ok(outcome(stopped)?),
        () = serving => Ok(outcome(task.await)?),
    }
}

/// The log as it is configured.
fn protocol(config: &Config, log: &Log) -> Result<raft_log::Config, NodeError> {
    let delay = config.detector.message_ms * TICKS_PER_UNIT;
    let variants = log.variants.clone();
    let parameters = Parameters { delay, variants, ..Parameters::plain(config.size()) };
    let plain = raft_log::Config::configured(&parameters)?;
    let after = log.snapshot_after.unwrap_or(SNAPSHOT_AFTER);
    let config = match plain.snapshot_after {
        Some(_) => plain,
        // Whoever was away for a moment need not be sent all.
        None => {
            raft_log::Config { snapshot_after: Some(after), trailing: after.get() / 10, ..plain }
        }
    };
    let Some((least, most)) = log.election_ms else { return Ok(config) };
    let election = Delay::between_units(least, most);
    // A leader is not missed for one or two messages that are late.
    Ok(raft_log::Config { election, heartbeat: Delay::ticks(election.min / 4), ..config })
}

/// Where a node learns what changes.
struct Watching {
    leadership: Receiver<Option<Term>>,
    standing: Receiver<Standing>,
    present: watch::Receiver<Present>,
}

impl Watching {
    /// Reports what changes; returns when the node has ended.
    async fn watch(mut self, report: Reports<'_>) {
        let mut ticks = interval(PROGRESS);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut term, mut there) = (0, Present::new());
        loop {
            tokio::select! {
                changed = self.leadership.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    report(match *self.leadership.borrow_and_update() {
                        Some(now) => {
                            term = now.number;
                            tracing::info!("{} leads in term {term}", now.leader);
                            Report::Elected { leader: now.leader.number(), term }
                        }
                        None => {
                            tracing::info!("nobody leads any more; term {term} is over");
                            Report::Deposed { term }
                        }
                    });
                }
                Ok(()) = self.present.changed() => {
                    let now = self.present.borrow_and_update().clone();
                    changes(&there, &now).into_iter().for_each(&mut *report);
                    there = now;
                }
                _ = ticks.tick() => {
                    if self.standing.has_changed().unwrap_or(false) {
                        report(told(&self.standing.borrow_and_update()));
                    }
                }
            }
        }
    }
}

fn told(standing: &Standing) -> Report {
    Report::Log {
        stored: standing.stored(),
        committed: standing.committed,
        last_terms: standing.last_terms(SHOWN),
    }
}
