//! Detects that a member has known no leader for a while, for the calls that require one.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tracing::info;

use crate::state::Standing;

/// Shortest grace period. Elections rarely take longer, also where the election timeout is short.
const SHORTEST_GRACE: Duration = Duration::from_millis(1500);

/// Number of checks in a grace period. A process that was not scheduled for a while counts this
/// pause as one check, and reads what arrived meanwhile before the next.
const CHECKS: u32 = 10;

/// Reports whether a member has been without a leader for longer than the grace period.
#[derive(Clone, Debug)]
pub(crate) struct LeaderMonitor {
    standing: watch::Receiver<Standing>,
    is_lost: watch::Receiver<bool>,
}

impl LeaderMonitor {
    /// Starts a monitor, which runs until the sender of the leader status is dropped.
    ///
    /// The grace period is three election timeouts, at least [`SHORTEST_GRACE`]: streams survive an
    /// election, and a client whose member is cut off moves on before a lease of 8 s expires.
    pub(crate) fn start(standing: watch::Receiver<Standing>, election_timeout: Duration) -> Self {
        let grace = (3 * election_timeout).max(SHORTEST_GRACE);
        let (sender, is_lost) = watch::channel(false);
        tokio::spawn(run(standing.clone(), grace, sender));
        LeaderMonitor { standing, is_lost }
    }

    /// Resolves when no leader has been known for the grace period. Never resolves once the member
    /// has stopped.
    pub(crate) async fn lost(self) {
        let LeaderMonitor { standing, mut is_lost } = self;
        while is_lost.wait_for(|is_lost| *is_lost).await.is_ok() {
            // The leader status may be newer than the last check.
            if standing.borrow().leader.is_none() {
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
    mut standing: watch::Receiver<Standing>,
    grace: Duration,
    is_lost: watch::Sender<bool>,
) {
    loop {
        if standing.wait_for(|it| it.leader.is_none()).await.is_err() {
            return;
        }
        let mut checks = interval(grace / CHECKS);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        checks.tick().await;
        let mut missed = 0;
        loop {
            tokio::select! {
                known = standing.wait_for(|it| it.leader.is_some()) => match known {
                    Ok(_) => break,
                    Err(_) => return,
                },
                _ = checks.tick(), if missed < CHECKS => missed += 1,
            }
            if missed == CHECKS && !is_lost.send_replace(true) {
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

    const LED: Standing = Standing { leader: Some(0), term: 1 };
    const NOT_LED: Standing = Standing { leader: None, term: 1 };

    fn started(grace: Duration) -> (watch::Sender<Standing>, LeaderMonitor) {
        let (sender, standing) = watch::channel(LED);
        let (lost, is_lost) = watch::channel(false);
        tokio::spawn(run(standing.clone(), grace, lost));
        (sender, LeaderMonitor { standing, is_lost })
    }

    #[tokio::test]
    async fn resolves_after_the_grace_period_and_not_while_a_leader_is_known() {
        let (sender, monitor) = started(Duration::from_millis(50));
        let lost = tokio::spawn(monitor.clone().lost());
        sleep(Duration::from_millis(200)).await;
        assert!(!lost.is_finished());
        sender.send_replace(NOT_LED);
        timeout(Duration::from_secs(20), lost).await.expect("no leader").expect("an end");
        timeout(Duration::from_secs(20), monitor.clone().lost()).await.expect("still no leader");
        sender.send_replace(LED);
        assert!(timeout(Duration::from_millis(200), monitor.lost()).await.is_err());
    }

    #[tokio::test]
    async fn terms_without_a_leader_do_not_restart_the_grace_period() {
        let (sender, monitor) = started(Duration::from_millis(50));
        let lost = tokio::spawn(monitor.lost());
        for term in 1.. {
            sender.send_replace(Standing { leader: None, term });
            sleep(Duration::from_millis(1)).await;
            if lost.is_finished() {
                return;
            }
            assert!(term < 20_000, "no leader for a long time");
        }
    }

    #[tokio::test]
    async fn a_pause_of_the_process_counts_as_one_check() {
        let grace = Duration::from_millis(200);
        let (sender, monitor) = started(grace);
        let lost = tokio::spawn(monitor.lost());
        tokio::task::yield_now().await;
        sender.send_replace(NOT_LED);
        tokio::task::yield_now().await;
        // Nothing runs meanwhile, and then the message of a leader is read.
        std::thread::sleep(2 * grace);
        sender.send_replace(LED);
        sleep(2 * grace).await;
        assert!(!lost.is_finished());
    }
}
