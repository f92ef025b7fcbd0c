//! Detects that a member has known no leader for a grace period. Calls that require a leader end
//! then.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tracing::info;

use crate::log::state::LeaderStatus;

/// Shortest grace period. An election rarely takes longer, even with a short election timeout.
const MIN_GRACE_PERIOD: Duration = Duration::from_millis(1500);

/// Number of checks in a grace period. The leader is regarded as lost if none of these checks finds
/// a leader.
///
/// With a single check, a suspension of this process would look like a lost leader, because the
/// first check after the suspension may find no leader. Between two checks, the member reads the
/// messages that have arrived.
const CHECKS_PER_PERIOD: u32 = 10;

/// Monitor that reports when a member has known no leader for longer than the grace period.
#[derive(Clone, Debug)]
pub(crate) struct LeaderMonitor {
    leader_status: watch::Receiver<LeaderStatus>,
    is_lost: watch::Receiver<bool>,
}

impl LeaderMonitor {
    /// Starts a monitor, which runs until the sender of the leader status is dropped.
    ///
    /// The grace period is three election timeouts, but at least [`MIN_GRACE_PERIOD`]. It is longer
    /// than an election, so that streams survive an election. With the default election timeout, it
    /// is short enough for a client of a partitioned member to switch to another member before a
    /// lease of 8 s expires.
    pub(crate) fn start(
        leader_status: watch::Receiver<LeaderStatus>,
        election_timeout: Duration,
    ) -> Self {
        let grace = (3 * election_timeout).max(MIN_GRACE_PERIOD);
        let (sender, is_lost) = watch::channel(false);
        tokio::spawn(run(leader_status.clone(), grace, sender));
        LeaderMonitor { leader_status, is_lost }
    }

    /// Resolves when this member has known no leader for the grace period. Never resolves once the
    /// member has stopped.
    pub(crate) async fn leader_lost(self) {
        let LeaderMonitor { leader_status, mut is_lost } = self;
        while is_lost.wait_for(|is_lost| *is_lost).await.is_ok() {
            // The leader status may be newer than the last check.
            if leader_status.borrow().leader.is_none() {
                return;
            }
            if is_lost.changed().await.is_err() {
                break;
            }
        }
        std::future::pending().await
    }
}

async fn run(
    mut leader_status: watch::Receiver<LeaderStatus>,
    grace: Duration,
    is_lost: watch::Sender<bool>,
) {
    loop {
        if leader_status.wait_for(|it| it.leader.is_none()).await.is_err() {
            return;
        }
        let mut checks = interval(grace / CHECKS_PER_PERIOD);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        checks.tick().await;
        let mut missed = 0;
        loop {
            tokio::select! {
                known = leader_status.wait_for(|it| it.leader.is_some()) => match known {
                    Ok(_) => break,
                    Err(_) => return,
                },
                _ = checks.tick(), if missed < CHECKS_PER_PERIOD => missed += 1,
            }
            if missed == CHECKS_PER_PERIOD && !is_lost.send_replace(true) {
                info!(?grace, "no leader: calls that require one are ended");
            }
        }
        is_lost.send_replace(false);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{sleep, timeout};

    use super::*;

    const WITH_LEADER: LeaderStatus = LeaderStatus { leader: Some(0), term: 1 };
    const WITHOUT_LEADER: LeaderStatus = LeaderStatus { leader: None, term: 1 };

    fn started(grace: Duration) -> (watch::Sender<LeaderStatus>, LeaderMonitor) {
        let (sender, leader_status) = watch::channel(WITH_LEADER);
        let (lost, is_lost) = watch::channel(false);
        tokio::spawn(run(leader_status.clone(), grace, lost));
        (sender, LeaderMonitor { leader_status, is_lost })
    }

    #[tokio::test]
    async fn resolves_only_after_the_grace_period() {
        let (sender, monitor) = started(Duration::from_millis(50));
        let lost = tokio::spawn(monitor.clone().leader_lost());
        sleep(Duration::from_millis(200)).await;
        assert!(!lost.is_finished());
        sender.send_replace(WITHOUT_LEADER);
        timeout(Duration::from_secs(120), lost).await.expect("no leader").expect("an end");
        timeout(Duration::from_secs(120), monitor.clone().leader_lost())
            .await
            .expect("still no leader");
        sender.send_replace(WITH_LEADER);
        assert!(timeout(Duration::from_millis(200), monitor.leader_lost()).await.is_err());
    }

    #[tokio::test]
    async fn terms_without_a_leader_do_not_restart_the_grace_period() {
        let (sender, monitor) = started(Duration::from_millis(50));
        let lost = tokio::spawn(monitor.leader_lost());
        for term in 1.. {
            sender.send_replace(LeaderStatus { leader: None, term });
            sleep(Duration::from_millis(1)).await;
            if lost.is_finished() {
                return;
            }
            assert!(term < 20_000, "no leader for a long time");
        }
    }

    #[tokio::test]
    async fn process_pause_counts_as_one_check() {
        let grace = Duration::from_millis(200);
        let (sender, monitor) = started(grace);
        let lost = tokio::spawn(monitor.leader_lost());
        tokio::task::yield_now().await;
        sender.send_replace(WITHOUT_LEADER);
        tokio::task::yield_now().await;
        // The sleep blocks the runtime, like a suspension of the process. Then a leader becomes
        // known.
        std::thread::sleep(2 * grace);
        sender.send_replace(WITH_LEADER);
        sleep(2 * grace).await;
        assert!(!lost.is_finished());
    }
}
