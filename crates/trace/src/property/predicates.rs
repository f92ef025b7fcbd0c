//! Predicates of expressions, and their arguments.

use super::formula::ProcessPredicate;
use super::vocabulary::Vocabulary;

/// A predicate or function that expressions may use.
pub(super) struct Predicate {
    pub(super) name: &'static str,
    /// The predicate with its arguments, as error messages show it.
    pub(super) form: &'static str,
    pub(super) meaning: PredicateMeaning,
    needs: Needs,
}

/// Meaning of a predicate or function: the fact that it tests, or the value that it returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PredicateMeaning {
    Fact(ProcessPredicate),
    Leader,
    Term,
    Fence,
    Suspects,
    Sent,
    InFlight,
    State,
}

/// Feature of a service that a predicate requires.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Lock,
    Leaders,
    /// A lock, or leaders.
    Requests,
}

const fn fact(
    name: &'static str,
    form: &'static str,
    of: ProcessPredicate,
    needs: Needs,
) -> Predicate {
    Predicate { name, form, meaning: PredicateMeaning::Fact(of), needs }
}

const fn other(
    name: &'static str,
    form: &'static str,
    meaning: PredicateMeaning,
    needs: Needs,
) -> Predicate {
    Predicate { name, form, meaning, needs }
}

pub(super) const PREDICATES: [Predicate; 16] = [
    fact("asks", "asks(p)", ProcessPredicate::Requests, Needs::Requests),
    fact("requested", "requested(p)", ProcessPredicate::Requests, Needs::Requests),
    fact("enters", "enters(p)", ProcessPredicate::Enters, Needs::Lock),
    fact("exits", "exits(p)", ProcessPredicate::Exits, Needs::Lock),
    fact("inside", "inside(p)", ProcessPredicate::Inside, Needs::Lock),
    fact("waiting", "waiting(p)", ProcessPredicate::Waiting, Needs::Requests),
    fact("leads", "leads(p)", ProcessPredicate::Leads, Needs::Leaders),
    fact("elected", "elected(p)", ProcessPredicate::KnowsLeader, Needs::Leaders),
    fact("crashed", "crashed(p)", ProcessPredicate::Crashed, Needs::Nothing),
    other("leader", "leader(p)", PredicateMeaning::Leader, Needs::Leaders),
    other("term", "term(p)", PredicateMeaning::Term, Needs::Leaders),
    other("fence", "fence(p)", PredicateMeaning::Fence, Needs::Lock),
    other("suspects", "suspects(p, q)", PredicateMeaning::Suspects, Needs::Nothing),
    other(
        "sent",
        "sent(message), sent(message, p) or sent(message, p, q)",
        PredicateMeaning::Sent,
        Needs::Nothing,
    ),
    other(
        "in_flight",
        "in_flight(message), in_flight(message, p) or in_flight(message, p, q)",
        PredicateMeaning::InFlight,
        Needs::Nothing,
    ),
    other("state", "state(p)", PredicateMeaning::State, Needs::Nothing),
];

impl Predicate {
    pub(super) fn find(name: &str) -> Option<&'static Predicate> {
        PREDICATES.iter().find(|predicate| predicate.name == name)
    }

    pub(super) const fn argument_counts(&self) -> std::ops::RangeInclusive<usize> {
        match self.meaning {
            PredicateMeaning::Suspects => 2..=2,
            PredicateMeaning::Sent | PredicateMeaning::InFlight => 1..=3,
            _ => 1..=1,
        }
    }

    /// Returns the name of a feature that the predicate needs and the service in `vocabulary`
    /// lacks. Returns `None` if the service lacks no such feature.
    pub(super) fn missing_feature(&self, vocabulary: &Vocabulary) -> Option<&'static str> {
        let (lock, leaders) = (vocabulary.has_lock(), vocabulary.has_leaders());
        match self.needs {
            Needs::Lock if !lock => Some("a lock"),
            Needs::Leaders if !leaders => Some("leaders"),
            Needs::Requests if !lock && !leaders => Some("a lock or an election"),
            _ => None,
        }
    }
}

pub(super) fn available_names(vocabulary: &Vocabulary) -> Vec<&'static str> {
    let known = PREDICATES.iter().filter(|it| it.missing_feature(vocabulary).is_none());
    known.map(|it| it.name).chain(["count"]).collect()
}
