//! Giving the lead away (3.10).
//!
//! The leader takes no more entries, waits until the other has all of its log, and tells it to
//! stand at once. That is an election like any other, only that its candidate asks nobody first
//! whether it would win: so all that holds of elections holds of it. When nothing has come of it
//! after an election timeout, the leader goes on.
//!
//! Where it does not matter who leads next, the leader asks everybody, and takes the first who
//! answers and has all of its log: who is down or behind would have everybody wait.

use tenure_core::service::log::{Event, Reason};
use tenure_core::{Effects, ProcessId};

use super::message::Message;
use super::{Leadership, RaftLog, Role, Timer};

/// The lead is about to be another's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Handover {
    /// To whom; else whoever is the first to say that it has all of our log.
    to: Option<ProcessId>,
    /// Under which our user waits for that.
    pub(super) ticket: u64,
    /// Whether the other was told to stand.
    told: bool,
}

impl RaftLog {
    /// Our user gives the lead away, to somebody or to whoever can take it first.
    pub(super) fn hand_over(
        &mut self,
        ticket: u64,
        to: Option<ProcessId>,
        fx: &mut impl Effects<Self>,
    ) {
        let electors = self.electors();
        let takes = to.map_or(!electors.is_empty(), |to| electors.contains(to));
        let Role::Leader(Leadership { handover, .. }) = &mut self.role else {
            return self.decline(ticket, Reason::NotLeading, fx);
        };
        if handover.is_some() {
            return self.decline(ticket, Reason::HandingOver, fx);
        }
        if !takes {
            return self.decline(ticket, Reason::NotTaken, fx);
        }
        *handover = Some(Handover { to, ticket, told: false });
        fx.set_timer(Timer::Election, self.config.election);
        match to {
            Some(to) => self.go_on_handing_over(to, fx),
            None => self.beat(fx),
        }
    }

    /// Tells another to stand, once it has all that we have, if it is to have the lead.
    pub(super) fn go_on_handing_over(&mut self, other: ProcessId, fx: &mut impl Effects<Self>) {
        let (last, counts) = (self.log.last().index, self.members().count(other));
        let Role::Leader(Leadership { peers, handover, .. }) = &mut self.role else { return };
        if let Some(Handover { to, told, .. }) = handover
            && !*told
            && counts
            && to.is_none_or(|to| to == other)
            && peers[other.index()].has(last)
        {
            *told = true;
            fx.send(other, Message::TimeoutNow { term: self.term });
        }
    }

    /// It has taken too long: we lead on.
    pub(super) fn keep_the_lead(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { handover, .. }) = &mut self.role else { return };
        if let Some(Handover { ticket, .. }) = handover.take() {
            self.decline(ticket, Reason::NotTaken, fx);
        }
    }

    /// Whether the lead is about to be another's.
    pub(super) fn hands_over(&self) -> bool {
        matches!(&self.role, Role::Leader(Leadership { handover: Some(_), .. }))
    }

    /// The leader wants us to stand.
    pub(super) fn on_timeout_now(
        &mut self,
        from: ProcessId,
        term: u64,
        fx: &mut impl Effects<Self>,
    ) {
        if term == self.term && self.leader() == Some(from) && self.counts() {
            fx.emit(Event::Following { term, leader: None });
            fx.set_timer(Timer::Election, self.config.election);
            self.stand(fx);
        }
    }
}
