//! The quota of the store: the member that a client asks compares its size with the quota before it
//! proposes a command, and raises the alarm NOSPACE through the log. From that entry on, every
//! member rejects commands that add to the store, until the alarm is cleared.

use tenure_store::{Alarm, AlarmChange, Command, Error};
use tracing::warn;

use crate::caller::Caller;
use crate::refusal::Refusal;

/// Whether the store has room for a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    /// It has.
    Free,
    /// An alarm is active.
    Alarmed,
    /// The command would exceed the quota.
    Exceeded,
}

impl Caller {
    /// Rejects a command for which the store has no room, and raises the alarm if it exceeds the
    /// quota.
    pub(crate) async fn has_room(&self, command: &Command) -> Result<(), Refusal> {
        let cost = command.cost();
        if cost == 0 || self.room(cost) == Room::Free {
            return Ok(());
        }
        // A deletion or a cleared alarm may not have reached this member yet.
        self.confirm().await?;
        let room = self.room(cost);
        if room == Room::Free {
            return Ok(());
        }
        // A client without the right must not be able to raise the alarm.
        self.may_command(command)?;
        if room == Room::Exceeded {
            self.raise().await?;
        }
        Err(Error::NoSpace.into())
    }

    fn room(&self, cost: usize) -> Room {
        let (size, is_full) = self.look(|state| (state.store.size(), state.store.is_full()));
        let exceeded = |quota| (size + cost) as u64 >= quota;
        match self.plan.bounds.quota {
            _ if is_full => Room::Alarmed,
            Some(quota) if exceeded(quota) => Room::Exceeded,
            _ => Room::Free,
        }
    }

    async fn raise(&self) -> Result<(), Refusal> {
        let (size, quota) = (self.look(|state| state.store.size()), self.plan.bounds.quota);
        warn!(size, quota, "alarm NOSPACE raised: the store has reached --quota-backend-bytes");
        let change = AlarmChange { member: self.id(), alarm: Alarm::NoSpace, is_active: true };
        // The service itself raises it, with the rights of a member.
        self.as_member().propose(Command::Alarm(change)).await.map(drop)
    }
}
