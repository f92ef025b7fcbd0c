//! What is proposed, until it is decided: whoever asked for it may be gone by then.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_store::Outcome;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use crate::errand::Undone;
use crate::refusal::Refusal;

/// How many commands may wait to be decided.
pub(crate) const BACKLOG: usize = 4000;

/// How many bytes they may have together.
const BYTES: usize = 64 << 20;

/// How many bytes are counted as one.
const UNIT: usize = 1 << 10;

/// How long a command counts as undecided of which nothing is heard. By then there is another
/// leader, or a member that does not hear from most of the others.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// What is done about an outcome that nobody waits for any more.
pub(crate) type Unheard = Box<dyn FnOnce(Outcome) + Send>;

/// What comes of a proposal.
type Told = Result<Outcome, Undone>;

/// The room for commands that wait to be decided.
#[derive(Debug)]
pub(crate) struct Backlog {
    places: Arc<Semaphore>,
    units: Arc<Semaphore>,
}

impl Default for Backlog {
    fn default() -> Self {
        let [places, units] = [BACKLOG, BYTES / UNIT].map(|many| Arc::new(Semaphore::new(many)));
        Backlog { places, units }
    }
}

impl Backlog {
    /// Takes room for a command of so many bytes, if there is any.
    pub(crate) fn admit(
        &self,
        bytes: usize,
        unheard: Option<Unheard>,
    ) -> Result<Proposal, Refusal> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let place = self.places.clone().try_acquire_owned();
        let units = self.units.clone().try_acquire_many_owned(units);
        let room = place.and_then(|place| Ok([place, units?])).map_err(|_| Refusal::TOO_MANY)?;
        Ok(Proposal { answer: None, room: Some(room), unheard })
    }
}

/// A command that is proposed. It takes its room until it is decided, also if this is dropped
/// before: whoever stops waiting has not taken it out of the log.
pub(crate) struct Proposal {
    /// While it is under way.
    answer: Option<oneshot::Receiver<Told>>,
    room: Option<[OwnedSemaphorePermit; 2]>,
    unheard: Option<Unheard>,
}

impl fmt::Debug for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proposal").field("answer", &self.answer).finish_non_exhaustive()
    }
}

impl Proposal {
    /// Waits for what comes of it.
    pub(crate) async fn told(
        &mut self,
        answer: oneshot::Receiver<Told>,
        deadline: Instant,
    ) -> Result<Told, Refusal> {
        let told = timeout_at(deadline, self.answer.insert(answer)).await;
        let told = told.map_err(|_| Refusal::TIMED_OUT)?;
        self.answer = None;
        told.map_err(|_| Refusal::STOPPED)
    }
}

impl Drop for Proposal {
    fn drop(&mut self) {
        let (Some(answer), Ok(runtime)) = (self.answer.take(), Handle::try_current()) else {
            return;
        };
        let (room, unheard) = (self.room.take(), self.unheard.take());
        runtime.spawn(async move {
            let told = timeout(FORGOTTEN, answer).await;
            drop(room);
            if let (Ok(Ok(Ok(outcome))), Some(unheard)) = (told, unheard) {
                unheard(outcome);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use tenure_store::{At, Command, Store};

    use super::*;

    fn outcome() -> Outcome {
        let mut store = Store::default();
        store.apply(At { index: 1, term: 1 }, Command::Grant { lease: 1, ttl: 60 })
    }

    #[tokio::test]
    async fn a_command_takes_its_room_until_it_is_decided_whoever_waits_for_it() {
        let backlog = Backlog::default();
        let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
        let (reply, answer) = oneshot::channel();
        {
            let unheard: Unheard = Box::new(move |outcome| drop(heard.send(outcome)));
            let mut proposal = backlog.admit(BYTES, Some(unheard)).expect("room");
            let soon = Instant::now() + Duration::from_millis(1);
            let told = proposal.told(answer, soon).await;
            assert_eq!(told.err(), Some(Refusal::TIMED_OUT));
        }
        tokio::task::yield_now().await;
        assert_eq!(backlog.admit(1, None).err(), Some(Refusal::TOO_MANY), "it is under way");
        reply.send(Ok(outcome())).expect("somebody who waits");
        assert_eq!(hears.recv().await, Some(outcome()));
        assert!(backlog.admit(BYTES, None).is_ok(), "it is decided");
    }

    #[tokio::test]
    async fn who_was_told_needs_nobody_else() {
        let (backlog, (reply, answer)) = (Backlog::default(), oneshot::channel());
        let unheard: Unheard = Box::new(|outcome| panic!("{outcome:?} was told already"));
        let mut proposal = backlog.admit(BYTES, Some(unheard)).expect("room");
        reply.send(Ok(outcome())).expect("somebody who waits");
        let told = proposal.told(answer, Instant::now() + FORGOTTEN).await;
        assert_eq!(told, Ok(Ok(outcome())));
        drop(proposal);
        assert!(backlog.admit(BYTES, None).is_ok());
    }
}
