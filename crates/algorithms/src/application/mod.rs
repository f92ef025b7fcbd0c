//! Applications of leader election, one file each.
//!
//! An [`Application`] is a protocol that is informed of the leader. [`WithElection`] combines an
//! application with any election. Each application follows two rules. A new leader first asks all
//! processes for their state, because the state of its predecessor may be lost. A process that
//! receives a message of an older term refuses the message, and responds with the newest term that
//! it knows. So a deposed leader learns of the newer term.

pub mod berkeley;
pub mod primary_backup;
pub mod spanning_tree;
pub mod three_phase_commit;
pub mod two_phase_commit;
pub mod with_election;

pub use berkeley::Berkeley;
pub use primary_backup::PrimaryBackup;
pub use spanning_tree::SpanningTree;
pub use three_phase_commit::ThreePhaseCommit;
pub use two_phase_commit::TwoPhaseCommit;
pub use with_election::{Application, WithElection};

use tenure_core::{Group, Term};

/// Latest term that a process knows, and whether the process leads in this term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Leadership {
    /// The highest known term; `None` if none is known. Messages of older terms are refused.
    term: Option<Term>,
    is_leader: bool,
}

impl Leadership {
    /// Returns the highest known term if it is newer than `term`; `None` otherwise.
    fn newer_than(&self, term: Term) -> Option<Term> {
        self.term.filter(|known| *known > term)
    }

    /// Records a term. Returns true if it is newer than all terms recorded before.
    fn follow(&mut self, term: Term) -> bool {
        let is_newer = self.term.is_none_or(|known| known < term);
        if is_newer {
            *self = Leadership { term: Some(term), is_leader: false };
        }
        is_newer
    }

    /// Records the election of the leader of `term`. Returns true if this process starts to lead
    /// now.
    fn on_elected(&mut self, term: Term, group: Group) -> bool {
        self.follow(term);
        let starts = self.term == Some(term) && term.leader == group.me() && !self.is_leader;
        self.is_leader |= starts;
        starts
    }

    fn on_deposed(&mut self, term: Term) {
        self.is_leader &= self.term != Some(term);
    }

    /// Returns the highest known term if this process leads in it; `None` otherwise.
    fn leading_term(&self) -> Option<Term> {
        self.term.filter(|_| self.is_leader)
    }
}
