//! Votes of Maekawa's algorithm. A process may keep its quorum for all requests, or change it.
//!
//! The receipt of a message does not remove it from the network, so a process may receive a message
//! again. A vote carries the time stamp of the request that it supports, and a number. A process
//! may return a vote. The next vote for the same request then has a higher number.
//!
//! As in the code, a process without a request keeps neither a time stamp nor the numbers of votes.
//! The clock of a process is never lower than the time stamp of its last request.

pub(super) mod mapping;

use crate::logic::sort::Sort::{Int, Process, Quorum};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermOperations, for_all, if_then_else};
use crate::logic::variable::Variable;
use crate::model::action::Action;
use crate::model::{Axiom, Conjunct};
use crate::models::lock::{self, INSIDE, WAITING, is_waiting_or_inside};

/// Time stamp of a process's present request. 0 without a request.
pub(super) const STAMP: Symbol = Symbol::function("stamp", &[Process], Int);
pub(super) const CLOCK: Symbol = Symbol::function("clock", &[Process], Int);
/// Quorum whose votes the present request of a process needs.
pub(super) const QUORUM: Symbol = Symbol::function("quorum", &[Process], Quorum);
/// True if the first process has the vote of the second process.
pub(super) const HAS_VOTE: Symbol = Symbol::relation("has-vote", &[Process, Process]);
/// Number of the vote that the first process has received from the second process, or waits for. 0
/// if the first process has no request.
pub(super) const VOTE_NUMBER: Symbol = Symbol::function("number", &[Process, Process], Int);
pub(super) const HAS_VOTED: Symbol = Symbol::relation("has-voted", &[Process]);
/// Process to which a voter has given its vote. If the voter has not given its vote, this process
/// is the voter itself.
pub(super) const CANDIDATE: Symbol = Symbol::function("candidate", &[Process], Process);
/// Time stamp of the request for which a voter has voted; 0 if the voter has not given its vote.
pub(super) const VOTED_STAMP: Symbol = Symbol::function("voted-stamp", &[Process], Int);
/// Number of the vote that a voter has given; 0 if the voter has not given its vote.
pub(super) const VOTED_NUMBER: Symbol = Symbol::function("voted-number", &[Process], Int);
/// True if a request waits at a voter. Arguments: voter, process, time stamp, number.
pub(super) const QUEUED: Symbol = Symbol::relation("queued", &[Process, Process, Int, Int]);
/// True if a request is in flight. Arguments: process, voter, time stamp.
pub(super) const REQUEST: Symbol = Symbol::relation("request", &[Process, Process, Int]);
/// True if a vote is in flight. Arguments: voter, process, time stamp, number.
pub(super) const LOCKED: Symbol = Symbol::relation("locked", &[Process, Process, Int, Int]);
/// True if a returned vote is in flight. Arguments: process, voter, time stamp, number.
pub(super) const RELINQUISH: Symbol = Symbol::relation("relinquish", &[Process, Process, Int, Int]);
/// True if a release is in flight. Arguments: process, voter, time stamp, number.
pub(super) const RELEASE: Symbol = Symbol::relation("release", &[Process, Process, Int, Int]);
pub(super) const MEMBER: Symbol = Symbol::relation("member", &[Process, Quorum]);
/// Process that is a member of both quorums.
pub(super) const COMMON_MEMBER: Symbol = Symbol::function("common", &[Quorum, Quorum], Process);

pub(super) const P: Variable = Variable::process("p");
pub(super) const Q: Variable = Variable::process("q");
pub(super) const V: Variable = Variable::process("v");
pub(super) const T: Variable = Variable::int("t");
pub(super) const N: Variable = Variable::int("n");
const A: Variable = Variable::quorum("a");
const B: Variable = Variable::quorum("b");
/// Process that requests, enters or exits.
pub(super) const REQUESTER: Variable = Variable::process("x");
/// Process that votes.
pub(super) const VOTER: Variable = Variable::process("w");
/// Process whose request the voter serves next.
pub(super) const NEXT_REQUESTER: Variable = Variable::process("y");
/// Time stamp in the received message. `K` is the number in that message.
const M: Variable = Variable::int("m");
const K: Variable = Variable::int("k");
/// Time stamp of the request for which a voter votes next. `NEXT_NUMBER` is the number of this
/// vote.
pub(super) const NEXT_STAMP: Variable = Variable::int("next-stamp");
pub(super) const NEXT_NUMBER: Variable = Variable::int("next-number");

/// Symbols of the state, except `QUORUM`.
pub(super) const STATE_SYMBOLS: [Symbol; 15] = [
    WAITING,
    INSIDE,
    STAMP,
    CLOCK,
    HAS_VOTE,
    VOTE_NUMBER,
    HAS_VOTED,
    CANDIDATE,
    VOTED_STAMP,
    VOTED_NUMBER,
    QUEUED,
    REQUEST,
    LOCKED,
    RELINQUISH,
    RELEASE,
];

pub(super) fn quorum_intersection() -> Axiom {
    let common = |quorum| MEMBER.at((COMMON_MEMBER.at((A, B)), quorum));
    Axiom::new("any two quorums have a common voter", for_all([A, B], common(A) & common(B)))
}

pub(super) fn initial() -> Vec<Term> {
    vec![
        for_all([P], !WAITING.at(P) & !INSIDE.at(P) & !HAS_VOTED.at(P)),
        for_all([P], CANDIDATE.at(P).equals(P)),
        for_all([P], STAMP.at(P).equals(0) & CLOCK.at(P).equals(0)),
        for_all([P], VOTED_STAMP.at(P).equals(0) & VOTED_NUMBER.at(P).equals(0)),
        for_all([P, V], !HAS_VOTE.at((P, V)) & VOTE_NUMBER.at((P, V)).equals(0)),
        for_all([P, V, T], !REQUEST.at((P, V, T))),
        for_all([P, V, T, N], !QUEUED.at((V, P, T, N)) & !LOCKED.at((V, P, T, N))),
        for_all([P, V, T, N], !RELINQUISH.at((P, V, T, N)) & !RELEASE.at((P, V, T, N))),
    ]
}

/// Returns a formula that is true if `voter` belongs to the quorum of `process`. `process` then
/// asks `voter` for a vote.
pub(super) fn quorum_has_voter(process: Variable, voter: Variable) -> Term {
    MEMBER.at((Term::from(voter), QUORUM.at(process)))
}

/// Returns the action *request*. It is `action` with a further effect: `REQUESTER` makes a request
/// with a new time stamp, and asks all members of `quorum` for their votes.
pub(super) fn request_votes(action: Action, quorum: Term) -> Action {
    let next = CLOCK.at(REQUESTER) + 1;
    let is_new = P.equals(REQUESTER) & MEMBER.at((Term::from(V), quorum)) & T.equals(&next);
    action
        .set(CLOCK, REQUESTER, &next)
        .set(STAMP, REQUESTER, &next)
        .set(WAITING, REQUESTER, true)
        .define(HAS_VOTE, [P, V], HAS_VOTE.at((P, V)) & P.differs(REQUESTER))
        .define(VOTE_NUMBER, [P, V], if_then_else(P.equals(REQUESTER), 1, VOTE_NUMBER.at((P, V))))
        .define(REQUEST, [P, V, T], REQUEST.at((P, V, T)) | is_new)
}

/// Returns `action` with a further effect: `REQUESTER` has no request, and keeps neither a time
/// stamp nor votes.
pub(super) fn forget_request(action: Action) -> Action {
    action
        .set(STAMP, REQUESTER, 0)
        .define(HAS_VOTE, [P, V], HAS_VOTE.at((P, V)) & P.differs(REQUESTER))
        .define(VOTE_NUMBER, [P, V], if_then_else(P.equals(REQUESTER), 0, VOTE_NUMBER.at((P, V))))
}

/// Returns the action *enter*. `REQUESTER` enters when it has the vote of each member `V` of its
/// quorum for which the formula `is_vote_needed` holds.
pub(super) fn enter(is_vote_needed: Term) -> Action {
    Action::new("enter", [REQUESTER])
        .when(
            WAITING.at(REQUESTER)
                & for_all(
                    [V],
                    (quorum_has_voter(REQUESTER, V) & is_vote_needed)
                        .implies(HAS_VOTE.at((REQUESTER, V))),
                ),
        )
        .set(WAITING, REQUESTER, false)
        .set(INSIDE, REQUESTER, true)
}

/// Returns the actions by which a process `REQUESTER` with or without a request handles votes, and
/// the action *exit*. `is_up` is a formula that is true if `REQUESTER` has not crashed.
pub(super) fn requester_actions(is_up: &Term) -> Vec<Action> {
    let is_over = P.equals(REQUESTER)
        & quorum_has_voter(REQUESTER, V)
        & T.equals(STAMP.at(REQUESTER))
        & N.equals(VOTE_NUMBER.at((REQUESTER, V)));
    let is_expected = WAITING.at(REQUESTER)
        & M.equals(STAMP.at(REQUESTER))
        & K.equals(VOTE_NUMBER.at((REQUESTER, VOTER)));
    let is_present = is_waiting_or_inside(REQUESTER) & M.equals(STAMP.at(REQUESTER));
    vec![
        Action::new("receive-vote", [REQUESTER, VOTER, M, K])
            .when(
                LOCKED.at((VOTER, REQUESTER, M, K))
                    & is_expected
                    & !HAS_VOTE.at((REQUESTER, VOTER)),
            )
            .add_tuple(HAS_VOTE, (REQUESTER, VOTER)),
        Action::new("return-late-vote", [REQUESTER, VOTER, M, K])
            .when(LOCKED.at((VOTER, REQUESTER, M, K)) & !is_present & is_up.clone())
            .add_tuple(RELEASE, (REQUESTER, VOTER, M, K)),
        // The model permits this step at any time. In the code, a process returns a vote only after
        // an inquiry, and only if another voter has refused its vote.
        Action::new("relinquish", [REQUESTER, VOTER])
            .when(WAITING.at(REQUESTER) & HAS_VOTE.at((REQUESTER, VOTER)))
            .add_tuple(
                RELINQUISH,
                (
                    Term::from(REQUESTER),
                    VOTER,
                    STAMP.at(REQUESTER),
                    VOTE_NUMBER.at((REQUESTER, VOTER)),
                ),
            )
            .remove_tuple(HAS_VOTE, (REQUESTER, VOTER))
            .set(VOTE_NUMBER, (REQUESTER, VOTER), VOTE_NUMBER.at((REQUESTER, VOTER)) + 1),
        forget_request(
            Action::new("exit", [REQUESTER])
                .when(INSIDE.at(REQUESTER))
                .set(INSIDE, REQUESTER, false)
                .define(RELEASE, [P, V, T, N], RELEASE.at((P, V, T, N)) | is_over),
        ),
    ]
}

/// Returns `action` with a further effect: the process [`VOTER`], which is a voter, votes for a
/// request. `process` has made the request, and `stamp` is the time stamp of the request. `number`
/// is the number of the vote.
pub(super) fn vote_for(action: Action, process: Variable, stamp: Variable, number: Term) -> Action {
    action
        .set(HAS_VOTED, VOTER, true)
        .set(CANDIDATE, VOTER, process)
        .set(VOTED_STAMP, VOTER, stamp)
        .set(VOTED_NUMBER, VOTER, &number)
        .add_tuple(LOCKED, (VOTER, process, stamp, number))
}

/// Returns `action` with a further effect: the process [`VOTER`], which is a voter, takes back its
/// vote. After this effect, the vote of `VOTER` belongs to no request.
pub(super) fn reclaim_vote(action: Action) -> Action {
    action.set(HAS_VOTED, VOTER, false).set(CANDIDATE, VOTER, VOTER).set(VOTED_STAMP, VOTER, 0).set(
        VOTED_NUMBER,
        VOTER,
        0,
    )
}

/// Returns the actions by which a voter receives requests, returned votes and releases. A voter
/// receives a request only if the formula `is_up` is true, and if `is_due` holds for the time stamp
/// of the request.
pub(super) fn voter_actions(is_up: &Term, is_due: impl Fn(Variable) -> Term) -> Vec<Action> {
    let observed = if_then_else(CLOCK.at(VOTER).less(M), M, CLOCK.at(VOTER));
    let receive = |name| {
        Action::new(name, [REQUESTER, VOTER, M])
            .when(REQUEST.at((REQUESTER, VOTER, M)) & is_up.clone() & is_due(M))
            .set(CLOCK, VOTER, &observed)
    };
    let is_given = has_voted_for(VOTER, REQUESTER, M, K);
    let is_other = !(P.equals(NEXT_REQUESTER) & T.equals(NEXT_STAMP) & N.equals(NEXT_NUMBER));
    let is_next = QUEUED.at((VOTER, NEXT_REQUESTER, NEXT_STAMP, NEXT_NUMBER));
    let is_returned =
        NEXT_REQUESTER.equals(REQUESTER) & NEXT_STAMP.equals(M) & NEXT_NUMBER.equals(K.plus(1));
    let parameters = [REQUESTER, VOTER, M, K, NEXT_REQUESTER, NEXT_STAMP, NEXT_NUMBER];
    let returned = V.equals(VOTER) & P.equals(REQUESTER) & T.equals(M) & N.equals(K.plus(1));
    let is_kept = V.differs(VOTER) | is_other;
    let vote_for_next = |action| vote_for(action, NEXT_REQUESTER, NEXT_STAMP, NEXT_NUMBER.into());
    vec![
        vote_for(receive("vote").when(!HAS_VOTED.at(VOTER)), REQUESTER, M, 1.into()),
        receive("queue-request")
            .when(HAS_VOTED.at(VOTER))
            .add_tuple(QUEUED, (VOTER, REQUESTER, M, 1)),
        receive("receive-known-request"),
        vote_for_next(
            Action::new("vote-after-return", parameters)
                .when(RELINQUISH.at((REQUESTER, VOTER, M, K)) & is_given.clone())
                .when(is_next.clone() | is_returned)
                .define(
                    QUEUED,
                    [V, P, T, N],
                    (QUEUED.at((V, P, T, N)) | returned) & is_kept.clone(),
                ),
        ),
        vote_for_next(
            Action::new("vote-after-release", parameters)
                .when(RELEASE.at((REQUESTER, VOTER, M, K)) & is_given.clone() & is_next)
                .define(QUEUED, [V, P, T, N], QUEUED.at((V, P, T, N)) & is_kept),
        ),
        reclaim_vote(
            Action::new("become-free", [REQUESTER, VOTER, M, K])
                .when(RELEASE.at((REQUESTER, VOTER, M, K)) & is_given),
        ),
    ]
}

/// Returns a formula that is true if `voter` has given its vote to a certain request. `process` has
/// made the request, and `stamp` is the time stamp of the request. `number` is the number of the
/// vote.
pub(super) fn has_voted_for(
    voter: Variable,
    process: Variable,
    stamp: impl Into<Term>,
    number: impl Into<Term>,
) -> Term {
    HAS_VOTED.at(voter)
        & CANDIDATE.at(voter).equals(process)
        & VOTED_STAMP.at(voter).equals(stamp)
        & VOTED_NUMBER.at(voter).equals(number)
}

/// Returns a formula that is true if `process` has the vote of `V`, or if this vote is in flight to
/// `process`.
pub(super) fn is_vote_sent_to(process: Variable) -> Term {
    let number = VOTE_NUMBER.at((process, V));
    is_waiting_or_inside(process)
        & (HAS_VOTE.at((process, V))
            | LOCKED.at((Term::from(V), process, STAMP.at(process), number)))
}

/// Returns a formula that is true if the request of `process` with the time stamp `stamp` is over.
/// The request is over if the process has no request, or if its present request has a higher time
/// stamp.
pub(super) fn is_request_over(process: &Term, stamp: &Term) -> Term {
    let is_active = WAITING.at(process.clone()) | INSIDE.at(process.clone());
    is_active.implies(stamp.clone().less(STAMP.at(process.clone())))
}

/// Returns a formula that is true if `process` has really made the request with the time stamp
/// `stamp`.
///
/// The formula has two parts. First, the clock of `process` has reached `stamp`, or `process` has
/// crashed. Second, the request is over, or it is the present request of `process`. For a present
/// request, `number` must be at most the number of the vote that `process` has from `V` or waits
/// for. `is_down` returns a formula that is true if a process has crashed.
fn is_known(process: &Term, stamp: &Term, number: Term, is_down: &dyn Fn(&Term) -> Term) -> Term {
    let own_number = VOTE_NUMBER.at((process, V));
    let is_present = stamp.clone().equals(STAMP.at(process.clone())) & number.at_most(own_number);
    (is_down(process) | stamp.clone().at_most(CLOCK.at(process.clone())))
        & (is_request_over(process, stamp) | is_present)
}

/// Returns the conjuncts about processes and their votes. The conjuncts about the uniqueness of
/// votes are not among them.
pub(super) fn vote_conjuncts(is_down: &dyn Fn(&Term) -> Term) -> Vec<Conjunct> {
    vec![
        lock::mutual_exclusion(),
        lock::disjoint_phases(),
        Conjunct::new(
            "inside-voted",
            "a process inside has the votes of its quorum",
            for_all([P, V], (INSIDE.at(P) & quorum_has_voter(P, V)).implies(HAS_VOTE.at((P, V)))),
        ),
        Conjunct::new(
            "given-known",
            "a voter has voted for no future request",
            for_all(
                [V],
                HAS_VOTED.at(V).implies(is_known(
                    &CANDIDATE.at(V),
                    &VOTED_STAMP.at(V),
                    VOTED_NUMBER.at(V),
                    is_down,
                )),
            ),
        ),
        Conjunct::new(
            "number-positive",
            "the number of an awaited vote is positive",
            for_all(
                [P, V],
                is_waiting_or_inside(P).implies(Term::from(1).at_most(VOTE_NUMBER.at((P, V)))),
            ),
        ),
        Conjunct::new(
            "clock-own",
            "the clock of a process is at least the time stamp of its request",
            for_all([P], Term::from(0).at_most(STAMP.at(P)) & STAMP.at(P).at_most(CLOCK.at(P))),
        ),
    ]
}

pub(super) fn message_conjuncts(is_down: &dyn Fn(&Term) -> Term) -> Vec<Conjunct> {
    let process = Term::from(P);
    let known = || is_known(&process, &T.into(), N.into(), is_down);
    let is_past = is_down(&process) | T.at_most(CLOCK.at(P));
    let is_over = is_request_over(&process, &T.into());
    let is_returned = T.equals(STAMP.at(P)) & N.less(VOTE_NUMBER.at((P, V)));
    vec![
        Conjunct::new(
            "vote-known",
            "no vote for a future request is in flight",
            for_all([P, V, T, N], LOCKED.at((V, P, T, N)).implies(known())),
        ),
        Conjunct::new(
            "queued-known",
            "no future request waits at a voter",
            for_all([P, V, T, N], QUEUED.at((V, P, T, N)).implies(known())),
        ),
        Conjunct::new(
            "relinquished-over",
            "a returned vote is not awaited any more",
            for_all(
                [P, V, T, N],
                RELINQUISH
                    .at((P, V, T, N))
                    .implies(is_past.clone() & (is_over.clone() | is_returned)),
            ),
        ),
        Conjunct::new(
            "released-over",
            "a released request is not the present one",
            for_all([P, V, T, N], RELEASE.at((P, V, T, N)).implies(is_past.clone() & is_over)),
        ),
        Conjunct::new(
            "request-past",
            "no future request is in flight",
            for_all(
                [P, V, T],
                REQUEST
                    .at((P, V, T))
                    .implies(is_past & is_waiting_or_inside(P).implies(T.at_most(STAMP.at(P)))),
            ),
        ),
    ]
}
