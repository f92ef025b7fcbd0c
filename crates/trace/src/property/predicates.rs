//! Predicates of expressions, and their arguments.

use super::formula::Fact;
use super::vocabulary::Vocabulary;

/// A predicate or function that expressions may use.
pub(super) struct Predicate {
    pub(super) name: &'static str,
    /// The predicate with its arguments, as error messages show it.
    pub(super) form: &'static str,
    pub(super) meaning: Meaning,
    needs: Needs,
}

/// Fact or value that a predicate or function of an expression stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Fact(Fact),
    Leader,
    Term,
    Fence,
    Suspects,
    Sent,
    InFlight,
    State,
}

/// Feature that a service must have so that a predicate has a meaning.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Lock,
    Leaders,
    /// The service has a lock or an election, so that users can send requests.
    Requests,
}

const fn fact(name: &'static str, form: &'static str, of: Fact, needs: Needs) -> Predicate {
    Predicate { name, form, meaning: Meaning::Fact(of), needs }
}

const fn other(
    name: &'static str,
    form: &'static str,
    meaning: Meaning,
    needs: Needs,
) -> Predicate {
    Predicate { name, form, meaning, needs }
}

pub(super) const PREDICATES: [Predicate; 16] = [
    fact("asks", "asks(p)", Fact::Requests, Needs::Requests),
    fact("requested", "requested(p)", Fact::Requests, Needs::Requests),
    fact("enters", "enters(p)", Fact::Enters, Needs::Lock),
    fact("exits", "exits(p)", Fact::Exits, Needs::Lock),
    fact("inside", "inside(p)", Fact::Inside, Needs::Lock),
    fact("waiting", "waiting(p)", Fact::Waiting, Needs::Requests),
    fact("leads", "leads(p)", Fact::Leads, Needs::Leaders),
    fact("elected", "elected(p)", Fact::Elected, Needs::Leaders),
    fact("crashed", "crashed(p)", Fact::Crashed, Needs::Nothing),
    other("leader", "leader(p)", Meaning::Leader, Needs::Leaders),
    other("term", "term(p)", Meaning::Term, Needs::Leaders),
    other("fence", "fence(p)", Meaning::Fence, Needs::Lock),
    other("suspects", "suspects(p, q)", Meaning::Suspects, Needs::Nothing),
    other(
        "sent",
        "sent(message), sent(message, p) or sent(message, p, q)",
        Meaning::Sent,
        Needs::Nothing,
    ),
    other(
        "in_flight",
        "in_flight(message), in_flight(message, p) or in_flight(message, p, q)",
        Meaning::InFlight,
        Needs::Nothing,
    ),
    other("state", "state(p)", Meaning::State, Needs::Nothing),
];

impl Predicate {
    pub(super) fn find(name: &str) -> Option<&'static Predicate> {
        PREDICATES.iter().find(|predicate| predicate.name == name)
    }

    pub(super) const fn arguments(&self) -> std::ops::RangeInclusive<usize> {
        match self.meaning {
            Meaning::Suspects => 2..=2,
            Meaning::Sent | Meaning::InFlight => 1..=3,
            _ => 1..=1,
        }
    }

    /// If the service in `vocabulary` lacks a feature that the predicate needs, returns the name of
    /// this feature. Otherwise returns `None`.
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

pub(super) fn names(vocabulary: &Vocabulary) -> Vec<&'static str> {
    let known = PREDICATES.iter().filter(|it| it.missing_feature(vocabulary).is_none());
    known.map(|it| it.name).chain(["count"]).collect()
}
