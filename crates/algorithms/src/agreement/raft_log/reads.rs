//! Reads that cost no entry (6.4).
//!
//! **Why an answer is not stale.** A read is answered when a majority has answered a question that
//! was sent after it was asked, and an entry of our term is committed. Whatever anybody had been
//! acknowledged by then was committed by us or by a leader of an earlier term: in a later one
//! nobody was elected before, as one of that majority, which was still with us, would have had to
//! vote. So it is in our log (leader completeness); and as it stands before an entry of our own
//! term that is committed, we know it to be committed, and have told our user.
//!
//! Reads share questions: while one is under way, those that come wait for the next.

use alloc::collections::VecDeque;

use tenure_core::service::log::{Event, Reason};
use tenure_core::{Effects, ProcessId};

use super::{Leadership, RaftLog, Role};

/// The reads that a leader has not answered yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Reads {
    /// The last question whether we still lead: they are numbered from 1.
    round: u64,
    /// The oldest first: the ticket, and the question that has to be answered.
    waiting: VecDeque<(u64, u64)>,
}

impl Reads {
    pub(super) fn round(&self) -> u64 {
        self.round
    }

    pub(super) fn tickets(&self) -> impl Iterator<Item = u64> + '_ {
        self.waiting.iter().map(|(ticket, _)| *ticket)
    }
}

impl RaftLog {
    /// Our user reads.
    pub(super) fn read(&mut self, ticket: u64, fx: &mut impl Effects<Self>) {
        if self.reads_alone() && self.knows_commit() && self.leads() {
            return fx.emit(Event::Answered { ticket, index: self.commit });
        }
        let Role::Leader(Leadership { reads, .. }) = &mut self.role else {
            return self.decline(ticket, Reason::NotLeading, fx);
        };
        let round = reads.round + 1;
        let asks = reads.waiting.is_empty();
        reads.waiting.push_back((ticket, round));
        if asks {
            self.ask_whether_we_lead(fx);
        }
    }

    fn leads(&self) -> bool {
        matches!(self.role, Role::Leader(_))
    }

    /// Begins a question, with the next message to everybody.
    fn ask_whether_we_lead(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { reads, .. }) = &mut self.role else { return };
        reads.round += 1;
        self.beat(fx);
        self.answer_reads(fx);
    }

    /// Answers those whose question was answered.
    pub(super) fn answer_reads(&mut self, fx: &mut impl Effects<Self>) {
        let knows = self.knows_commit();
        let Role::Leader(Leadership { peers, reads, .. }) = &self.role else { return };
        if !knows || reads.waiting.is_empty() {
            return;
        }
        let answered = |peer: ProcessId| peers[peer.index()].round;
        let confirmed = self.reached_by_majority(reads.round, answered);
        let Role::Leader(Leadership { reads, .. }) = &mut self.role else { return };
        while let Some((ticket, _)) = reads.waiting.pop_front_if(|(_, round)| *round <= confirmed) {
            fx.emit(Event::Answered { ticket, index: self.commit });
        }
        if reads.waiting.front().is_some_and(|(_, round)| *round > reads.round) {
            self.ask_whether_we_lead(fx);
        }
    }
}
