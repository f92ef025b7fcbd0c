//! What a leader is elected for: one file for each use.
//!
//! An [`Application`] is a protocol that is told who leads. [`Led`] puts it over an election,
//! whichever it is. All of them keep to two rules. A new leader asks before it acts, for what its
//! predecessor knew may have died with it. And whoever has heard of a term refuses what an older
//! one says, and answers with the newer, so that a leader that was overtaken learns of it.

pub mod berkeley;
pub mod led;
pub mod primary_backup;
pub mod spanning_tree;
pub mod three_phase_commit;
pub mod two_phase_commit;

pub use berkeley::Berkeley;
pub use led::{Application, Led};
pub use primary_backup::PrimaryBackup;
pub use spanning_tree::SpanningTree;
pub use three_phase_commit::ThreePhaseCommit;
pub use two_phase_commit::TwoPhaseCommit;

use tenure_core::{Group, Term};

/// Which term a process has heard of last, and whether it leads in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Allegiance {
    /// The highest; nothing older is listened to.
    term: Option<Term>,
    leads: bool,
}

impl Allegiance {
    /// The newer term that forbids to listen to this one, if there is one.
    fn newer_than(&self, term: Term) -> Option<Term> {
        self.term.filter(|known| *known > term)
    }

    /// Takes note of a term; tells whether it is newer than all before.
    fn follow(&mut self, term: Term) -> bool {
        let is_newer = self.term.is_none_or(|known| known < term);
        if is_newer {
            *self = Allegiance { term: Some(term), leads: false };
        }
        is_newer
    }

    /// The election has chosen. Tells whether we begin to lead now.
    fn on_elected(&mut self, term: Term, group: Group) -> bool {
        self.follow(term);
        let begins = self.term == Some(term) && term.leader == group.me() && !self.leads;
        self.leads |= begins;
        begins
    }

    /// The leader of a term is not to be relied on.
    fn on_deposed(&mut self, term: Term) {
        self.leads &= self.term != Some(term);
    }

    /// The term in which we lead.
    fn reign(&self) -> Option<Term> {
        self.term.filter(|_| self.leads)
    }
}
