//! Handing over: a leader resigns and asks another process, its heir, to become a candidate
//! immediately.

use super::terms::{
    CANDIDATE, ELECTED_BY, HAS_VOTED, LEADER, MEMBER, TERM, VOTE, VOTES_RECEIVED, step_down,
};
use super::{E, M, P, T, V, X, Y, become_candidate, claims, has_lease, vote};
use crate::logic::sort::Sort::{Int, Process, Quorum};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermOperations, for_all, if_then_else};
use crate::model::Conjunct;
use crate::model::action::Action;

/// Latest term in which a leader has resigned; −1 before the first resignation. This term and all
/// earlier ones are *ended*.
pub(super) const LATEST_ENDED_TERM: Symbol = Symbol::constant("ended", Int);
/// Quorum that elected the leader whose resignation ended a term. A resignation ends the term of
/// the leader, and all earlier terms that have not ended yet. Argument: the ended term.
const ENDED_BY: Symbol = Symbol::function("ended-by", &[Int], Quorum);
/// True if a request to become a candidate is in flight. Arguments: receiver, term of the resigned
/// leader.
const HAND_OVER: Symbol = Symbol::relation("hand-over", &[Process, Int]);
/// True if the heir's request for votes is in flight. The heir is the process that a resigned
/// leader has asked to become a candidate. Arguments: heir, term in which the heir is a candidate.
const SUCCEED: Symbol = Symbol::relation("succeed", &[Process, Int]);

/// Symbols that this module adds to the state of the model.
pub(super) const STATE_SYMBOLS: [Symbol; 4] = [LATEST_ENDED_TERM, ENDED_BY, HAND_OVER, SUCCEED];

pub(super) fn initial() -> Term {
    LATEST_ENDED_TERM.equals(-1) & for_all([P, T], !HAND_OVER.at((P, T)) & !SUCCEED.at((P, T)))
}

pub(super) fn actions() -> Vec<Action> {
    let is_ended_now = LATEST_ENDED_TERM.less(T) & T.at_most(TERM.at(X));
    let latest = if_then_else(LATEST_ENDED_TERM.less(TERM.at(X)), TERM.at(X), LATEST_ENDED_TERM);
    let resign = step_down(Action::new("resign", [X, Y]).when(LEADER.at(X)))
        .set(LATEST_ENDED_TERM, (), latest)
        .define(ENDED_BY, [T], if_then_else(is_ended_now, ELECTED_BY.at(X), ENDED_BY.at(T)))
        .add_tuple(HAND_OVER, (Term::from(Y), TERM.at(X)));
    // The heir may become a candidate although it has promised to vote only for the resigned
    // leader.
    let stand =
        Action::new("stand-as-heir", [X, M, E]).when(HAND_OVER.at((X, M)) & M.equals(TERM.at(X)));
    let succeed = Action::new("vote-for-heir", [X, Y, M, E])
        .when(SUCCEED.at((Y, M)) & TERM.at(X).less(M) & X.differs(Y))
        .set(TERM, X, M);
    vec![
        resign,
        become_candidate(stand).add_tuple(SUCCEED, (Term::from(X), TERM.at(X) + 1)),
        vote(step_down(succeed)),
    ]
}

pub(super) fn conjuncts(variant: Option<&str>) -> Vec<Conjunct> {
    let is_ended = |term: Term| term.at_most(LATEST_ENDED_TERM);
    let has_voted = VOTES_RECEIVED.at((P, V)) | VOTE.at((V, P, TERM.at(P)));
    vec![
        Conjunct::new(
            "no-claim-in-ended-term",
            "no process claims the leadership in an ended term",
            for_all([P], claims(P, variant).implies(!is_ended(TERM.at(P)))),
        ),
        Conjunct::new(
            "no-winner-in-ended-term",
            "the quorum that ended a term votes for no candidate in it that has a lease",
            for_all(
                [P, V],
                (CANDIDATE.at(P)
                    & is_ended(TERM.at(P))
                    & MEMBER.at((V, ENDED_BY.at(TERM.at(P))))
                    & has_lease(P, variant))
                .implies(!has_voted),
            ),
        ),
        Conjunct::new(
            "voted-later",
            "the quorum that ended a term has voted in it or seen a later one",
            for_all(
                [T, V],
                (is_ended(T.into()) & MEMBER.at((V, ENDED_BY.at(T))))
                    .implies(T.at_most(TERM.at(V)) & T.equals(TERM.at(V)).implies(HAS_VOTED.at(V))),
            ),
        ),
        Conjunct::new(
            "hand-over-ended",
            "a process that is asked to stand succeeds the leader of an ended term",
            for_all(
                [P, T],
                HAND_OVER.at((P, T)).implies(is_ended(T.into()))
                    & SUCCEED.at((P, T)).implies(is_ended(T.minus(1)) & T.at_most(TERM.at(P))),
            ),
        ),
    ]
}
