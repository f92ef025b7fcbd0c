//! Waiting for whoever leads.

use std::time::Duration;

use tenure_core::ProcessId;
use tenure_core::service::log::Reason;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::errand::Undone;
use crate::member::Member;
use crate::refusal::Refusal;
use crate::state::Standing;

/// After how long it is looked once more, where nothing tells of news.
const SOON: Duration = Duration::from_millis(10);

impl Member {
    /// Waits until somebody leads.
    pub(crate) async fn somebody_leads(&self, deadline: Instant) -> Result<(), Refusal> {
        known(&mut self.shared.standing.subscribe(), deadline).await.map(drop)
    }

    /// Waits until somebody leads whom this member reaches, or itself. What is passed on to a
    /// leader that was killed is answered as unknown when the next one leads, though nobody ever
    /// had it; whoever waits here instead has it done by that one. What changes after that is news
    /// to this watcher.
    pub(crate) async fn led(
        &self,
        standing: &mut watch::Receiver<Standing>,
        deadline: Instant,
    ) -> Result<(), Refusal> {
        loop {
            let leader = known(standing, deadline).await?;
            if leader == self.plan.me || self.peers.reaches(ProcessId::at(leader)) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(Refusal::NO_LEADER);
            }
            news(standing).await;
        }
    }
}

/// Waits until it is known who leads.
async fn known(
    standing: &mut watch::Receiver<Standing>,
    deadline: Instant,
) -> Result<usize, Refusal> {
    let known = standing.wait_for(|it| it.leader.is_some());
    let known = timeout_at(deadline, known).await.map_err(|_| Refusal::NO_LEADER)?;
    known.map_err(|_| Refusal::STOPPED)?.leader.ok_or(Refusal::NO_LEADER)
}

/// Waits a moment, or until there is news of who leads.
async fn news(standing: &mut watch::Receiver<Standing>) {
    let _ = timeout_at(Instant::now() + SOON, standing.changed()).await;
}

/// Waits a moment where what was declined may be taken soon, or until there is news of who leads,
/// which may be older than the answer.
pub(crate) async fn may_try_again(
    undone: Undone,
    standing: &mut watch::Receiver<Standing>,
    deadline: Instant,
) -> Result<(), Refusal> {
    match undone {
        Undone::Unknown => Err(Refusal::LEADER_FAILED),
        Undone::Declined(Reason::Full) => Err(Refusal::TOO_MANY),
        Undone::Declined(_) if Instant::now() >= deadline => Err(Refusal::LEADER_CHANGED),
        Undone::Declined(_) => {
            news(standing).await;
            Ok(())
        }
    }
}
