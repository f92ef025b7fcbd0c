//! Terms and votes: at most one process is elected in a term.

use super::{M, P, Q, T, V, X};
use crate::logic::sort::Sort::{Int, Process, Quorum};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermOperations, for_all};
use crate::logic::variable::Variable;
use crate::model::action::Action;
use crate::model::{Axiom, Conjunct};

/// Latest term that a process has seen (`currentTerm` in the paper).
pub(in crate::models) const TERM: Symbol = Symbol::function("term", &[Process], Int);
/// True if a process has voted in its term.
pub(in crate::models) const HAS_VOTED: Symbol = Symbol::relation("has-voted", &[Process]);
/// Candidate that a process has voted for in its term (`votedFor` in the paper). Meaningful only if
/// [`HAS_VOTED`] is true.
pub(in crate::models) const VOTED_FOR: Symbol = Symbol::function("voted-for", &[Process], Process);
pub(in crate::models) const CANDIDATE: Symbol = Symbol::relation("candidate", &[Process]);
pub(in crate::models) const LEADER: Symbol = Symbol::relation("leader", &[Process]);
/// True if the first process has the vote of the second process in the first process's term.
/// Meaningful only while the first process is a candidate or a leader.
pub(in crate::models) const VOTES_RECEIVED: Symbol = Symbol::relation("votes", &[Process, Process]);
/// Quorum whose votes elected a leader.
pub(super) const ELECTED_BY: Symbol = Symbol::function("elected-by", &[Process], Quorum);
/// True if a request for votes is in flight. Arguments: candidate, term.
pub(in crate::models) const REQUEST_VOTE: Symbol =
    Symbol::relation("request-vote", &[Process, Int]);
/// True if a vote is in flight. Arguments: voter, candidate, term.
pub(in crate::models) const VOTE: Symbol = Symbol::relation("vote", &[Process, Process, Int]);
pub(in crate::models) const MEMBER: Symbol = Symbol::relation("member", &[Process, Quorum]);
/// Process that is a member of both quorums.
pub(in crate::models) const COMMON_MEMBER: Symbol =
    Symbol::function("common", &[Quorum, Quorum], Process);

/// Symbols that this module adds to the state of the model.
pub(super) const STATE_SYMBOLS: [Symbol; 9] =
    [TERM, HAS_VOTED, VOTED_FOR, CANDIDATE, LEADER, VOTES_RECEIVED, ELECTED_BY, REQUEST_VOTE, VOTE];

const A: Variable = Variable::quorum("a");
const B: Variable = Variable::quorum("b");

/// Returns an axiom: any two quorums have a common member.
pub(in crate::models) fn quorum_intersection() -> Axiom {
    let common = |quorum| MEMBER.at((COMMON_MEMBER.at((A, B)), quorum));
    let intersect = for_all([A, B], common(A) & common(B));
    Axiom::new("any two quorums have a common member", intersect)
}

pub(super) fn initial() -> [Term; 3] {
    [
        for_all([P], TERM.at(P).equals(0) & !HAS_VOTED.at(P)),
        for_all([P], !CANDIDATE.at(P) & !LEADER.at(P)),
        for_all([P, Q, T], !VOTE.at((P, Q, T)) & !REQUEST_VOTE.at((P, T))),
    ]
}

/// Returns a formula that is true if a process is a candidate or leads.
pub(in crate::models) fn is_candidate_or_leader(process: Variable) -> Term {
    CANDIDATE.at(process) | LEADER.at(process)
}

/// Returns `action` with a further effect: `X` is no longer a candidate or leader.
pub(super) fn step_down(action: Action) -> Action {
    action.set(CANDIDATE, X, false).set(LEADER, X, false)
}

/// Returns the action by which `X` adopts a higher term and steps down. A follower remains bound by
/// its promise to vote for no other process.
pub(super) fn adopt_higher_term() -> Action {
    step_down(Action::new("see-higher-term", [X, M]))
        .when(TERM.at(X).less(M))
        .set(TERM, X, M)
        .set(HAS_VOTED, X, false)
}

pub(super) fn conjuncts() -> Vec<Conjunct> {
    let elected_by_quorum = Conjunct::new(
        "elected-by-quorum",
        "a leader has the votes of a quorum",
        for_all(
            [P, V],
            (LEADER.at(P) & MEMBER.at((V, ELECTED_BY.at(P)))).implies(VOTES_RECEIVED.at((P, V))),
        ),
    );
    let votes =
        vote_conjuncts(|process| is_candidate_or_leader(process) & VOTES_RECEIVED.at((process, V)));
    leader_conjuncts().into_iter().chain([elected_by_quorum]).chain(votes).collect()
}

pub(in crate::models) fn leader_conjuncts() -> [Conjunct; 2] {
    let same_term = TERM.at(P).equals(TERM.at(Q));
    [
        Conjunct::new(
            "one-leader-per-term",
            "at most one leader is elected in a term",
            for_all([P, Q], (LEADER.at(P) & LEADER.at(Q) & same_term).implies(P.equals(Q))),
        ),
        Conjunct::new(
            "roles",
            "no process is a candidate and leads at once",
            for_all([P], !(CANDIDATE.at(P) & LEADER.at(P))),
        ),
    ]
}

/// Returns the conjuncts about votes that are counted or in flight. `has_vote` returns a formula
/// that is true if a process counts the vote of `V`.
pub(in crate::models) fn vote_conjuncts(has_vote: impl Fn(Variable) -> Term) -> [Conjunct; 5] {
    let same_term = TERM.at(P).equals(TERM.at(Q));
    // The vote of v in a term is recorded at v as long as v has seen no higher term.
    let recorded = |term: Term, candidate: Variable| {
        let is_current = TERM.at(V).equals(&term);
        term.at_most(TERM.at(V))
            & is_current.implies(HAS_VOTED.at(V) & VOTED_FOR.at(V).equals(candidate))
    };
    [
        Conjunct::new(
            "one-vote-counted",
            "two candidates of a term do not have the vote of one process",
            for_all([P, Q, V], (has_vote(P) & has_vote(Q) & same_term).implies(P.equals(Q))),
        ),
        Conjunct::new(
            "one-vote-in-flight",
            "a vote in flight and a counted vote of a process in a term are for one candidate",
            for_all([P, Q, V], (has_vote(P) & VOTE.at((V, Q, TERM.at(P)))).implies(P.equals(Q))),
        ),
        Conjunct::new(
            "one-vote-sent",
            "a process sends votes for one candidate in a term",
            for_all([P, Q, V, T], (VOTE.at((V, P, T)) & VOTE.at((V, Q, T))).implies(P.equals(Q))),
        ),
        Conjunct::new(
            "counted-recorded",
            "a counted vote is recorded at its voter until a higher term",
            for_all([P, V], has_vote(P).implies(recorded(TERM.at(P), P))),
        ),
        Conjunct::new(
            "sent-recorded",
            "a vote in flight is recorded at its voter until a higher term",
            for_all([Q, V, T], VOTE.at((V, Q, T)).implies(recorded(T.into(), Q))),
        ),
    ]
}
