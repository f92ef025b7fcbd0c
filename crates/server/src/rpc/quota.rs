//! Quota of the store.
//!
//! The member that receives a command first compares the size of the store with the quota. If the
//! command would reach the quota, the member raises the alarm NOSPACE by a log entry. After that
//! entry, all members reject commands that put keys or grant leases, until an operator clears the
//! alarm.

use tenure_store::{Alarm, AlarmChange, Command, Error, Principal};
use tracing::warn;

use crate::auth::caller::Caller;
use crate::rpc::error::RpcError;

#[derive(Clone, Copy, PartialEq, Eq)]
enum QuotaState {
    /// The store has room for the command.
    Free,
    /// The alarm NOSPACE is active.
    AlarmRaised,
    /// The command would reach the quota, and the alarm is not active yet.
    Exceeded,
}

impl Caller {
    /// Returns [`Error::NoSpace`] if the store has no room for the command. Raises the alarm
    /// NOSPACE first if the command would reach the quota.
    pub(crate) async fn ensure_store_has_room(&self, command: &Command) -> Result<(), RpcError> {
        let cost = command.estimated_growth();
        if cost == 0 || self.quota_state(cost) == QuotaState::Free {
            return Ok(());
        }
        // A deletion or a cleared alarm may not have reached this member yet.
        self.wait_linearizable().await?;
        let state = self.quota_state(cost);
        if state == QuotaState::Free {
            return Ok(());
        }
        // A client that may not run the command must not raise the alarm.
        self.check_store_access(|store, principal| store.authorize_command(principal, command))?;
        if state == QuotaState::Exceeded {
            self.raise_alarm().await?;
        }
        Err(Error::NoSpace.into())
    }

    fn quota_state(&self, cost: usize) -> QuotaState {
        let (size, is_full) =
            self.with_state(|state| (state.store.quota_usage(), state.store.has_nospace_alarm()));
        let exceeded = |quota| (size + cost) as u64 >= quota;
        match self.config.limits.quota {
            _ if is_full => QuotaState::AlarmRaised,
            Some(quota) if exceeded(quota) => QuotaState::Exceeded,
            _ => QuotaState::Free,
        }
    }

    async fn raise_alarm(&self) -> Result<(), RpcError> {
        let (size, quota) =
            (self.with_state(|state| state.store.quota_usage()), self.config.limits.quota);
        warn!(size, quota, "alarm NOSPACE raised: the store has reached --quota-backend-bytes");
        let change = AlarmChange { member: self.id(), alarm: Alarm::NoSpace, activates: true };
        // The member raises the alarm itself, with the rights of a member and not of the client.
        let (principal, command) = (Principal::Member, Command::Alarm(change));
        self.member().propose_for(&principal, command, None, || Ok(())).await.map(drop)
    }
}
