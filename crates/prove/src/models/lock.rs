//! Vocabulary that the models of locks share: the phases of a process, and mutual exclusion.

use crate::logic::sort::Sort::{Int, Process};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermOperations, for_all};
use crate::logic::variable::Variable;
use crate::model::{Axiom, Conjunct};

pub(super) const WAITING: Symbol = Symbol::relation("waiting", &[Process]);
pub(super) const INSIDE: Symbol = Symbol::relation("inside", &[Process]);
/// Position of a process's name in the total order of names.
pub(super) const NAME: Symbol = Symbol::function("name", &[Process], Int);

const P: Variable = Variable::process("p");
const Q: Variable = Variable::process("q");

/// Returns a formula that is true if a process waits for the critical section or is inside it.
pub(super) fn is_waiting_or_inside(process: Variable) -> Term {
    WAITING.at(process) | INSIDE.at(process)
}

pub(super) fn mutual_exclusion() -> Conjunct {
    Conjunct::new(
        "mutual-exclusion",
        "at most one process is inside",
        for_all([P, Q], (INSIDE.at(P) & INSIDE.at(Q)).implies(P.equals(Q))),
    )
}

pub(super) fn disjoint_phases() -> Conjunct {
    Conjunct::new(
        "phases",
        "no process waits and is inside at once",
        for_all([P], !(WAITING.at(P) & INSIDE.at(P))),
    )
}

/// Returns an axiom: names are distinct. Names decide between equal clock readings.
pub(super) fn distinct_names() -> Axiom {
    Axiom::new(
        "names are distinct",
        for_all([P, Q], NAME.at(P).equals(NAME.at(Q)).implies(P.equals(Q))),
    )
}
