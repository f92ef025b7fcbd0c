//! Maekawa's mutual exclusion with quorums, for any number of processes and any quorums that
//! intersect.
//!
//! M. Maekawa, *A √N algorithm for mutual exclusion in decentralized systems*, ACM TOCS 3(2), 1985.
//! The code is `crates/algorithms/src/mutex/maekawa.rs`.
//!
//! Messages stay in flight after their receipt. A vote has the time stamp of the request, and a
//! number that grows when a process returns the vote for it.

use crate::logic::sort::Sort::{Int, Process};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Operations, Term, choose, for_all};
use crate::logic::variable::Variable;
use crate::model::action::Action;
use crate::model::{Axiom, Conjunct, Model};
use crate::models::ModelEntry;

/// A process waits for votes.
const WAITING: Symbol = Symbol::relation("waiting", &[Process]);
/// A process is in the critical section.
const INSIDE: Symbol = Symbol::relation("inside", &[Process]);
/// Time stamp of the last request.
const STAMP: Symbol = Symbol::function("stamp", &[Process], Int);
/// Logical clock of a process.
const CLOCK: Symbol = Symbol::function("clock", &[Process], Int);
/// The first process has the vote of the second one.
const HAS_VOTE: Symbol = Symbol::relation("has-vote", &[Process, Process]);
/// Number of the vote of the second process that the first one awaits or has.
const NUMBER: Symbol = Symbol::function("number", &[Process, Process], Int);
/// A voter has given its vote to no process.
const FREE: Symbol = Symbol::relation("free", &[Process]);
/// Process that has the vote of a voter.
const CANDIDATE: Symbol = Symbol::function("candidate", &[Process], Process);
/// Time stamp of the request for which a voter has voted.
const VOTED_STAMP: Symbol = Symbol::function("voted-stamp", &[Process], Int);
/// Number of the vote that a voter has given.
const VOTED_NUMBER: Symbol = Symbol::function("voted-number", &[Process], Int);
/// A request waits at a voter: voter, process, time stamp, number.
const QUEUED: Symbol = Symbol::relation("queued", &[Process, Process, Int, Int]);
/// A request is in flight: process, voter, time stamp.
const REQUEST: Symbol = Symbol::relation("request", &[Process, Process, Int]);
/// A vote is in flight: voter, process, time stamp, number.
const LOCKED: Symbol = Symbol::relation("locked", &[Process, Process, Int, Int]);
/// A vote is on its way back: process, voter, time stamp, number.
const RELINQUISH: Symbol = Symbol::relation("relinquish", &[Process, Process, Int, Int]);
/// A release is in flight: process, voter, time stamp, number.
const RELEASE: Symbol = Symbol::relation("release", &[Process, Process, Int, Int]);
/// A voter belongs to the quorum of a process: process, voter.
const MEMBER: Symbol = Symbol::relation("member", &[Process, Process]);
/// Some voter of the quorums of both processes.
const COMMON: Symbol = Symbol::function("common", &[Process, Process], Process);

const P: Variable = Variable::process("p");
const Q: Variable = Variable::process("q");
const V: Variable = Variable::process("v");
const T: Variable = Variable::int("t");
const N: Variable = Variable::int("n");
/// Process with a request.
const X: Variable = Variable::process("x");
/// Process that votes.
const W: Variable = Variable::process("w");
/// Process whose request a voter serves next.
const Y: Variable = Variable::process("y");
/// Time stamp and number of the received message.
const M: Variable = Variable::int("m");
const K: Variable = Variable::int("k");
/// Time stamp and number of the request that a voter serves next.
const NEXT_STAMP: Variable = Variable::int("next-stamp");
const NEXT_NUMBER: Variable = Variable::int("next-number");

/// Entry of the catalogue.
pub(crate) const ENTRY: ModelEntry = ModelEntry {
    name: "maekawa",
    paper: "Maekawa, ACM TOCS 3(2), 1985",
    property: "mutual exclusion",
    model,
    abstraction: None,
    variants: &[],
};

fn model(_: Option<&str>) -> Model {
    let mut actions = of_processes();
    actions.extend(of_voters());
    let mut invariant = votes();
    invariant.extend(messages());
    Model {
        name: ENTRY.name,
        state: vec![
            WAITING,
            INSIDE,
            STAMP,
            CLOCK,
            HAS_VOTE,
            NUMBER,
            FREE,
            CANDIDATE,
            VOTED_STAMP,
            VOTED_NUMBER,
            QUEUED,
            REQUEST,
            LOCKED,
            RELINQUISH,
            RELEASE,
        ],
        messages: vec![REQUEST, LOCKED, RELINQUISH, RELEASE],
        rigid: vec![MEMBER, COMMON],
        axioms: vec![Axiom::new(
            "any two quorums have a common voter",
            for_all([P, Q], MEMBER.at((P, COMMON.at((P, Q)))) & MEMBER.at((Q, COMMON.at((P, Q))))),
        )],
        initial: vec![
            for_all([P], !WAITING.at(P) & !INSIDE.at(P) & FREE.at(P)),
            for_all([P], STAMP.at(P).equals(0) & CLOCK.at(P).equals(0)),
            for_all([P, V], !HAS_VOTE.at((P, V)) & NUMBER.at((P, V)).equals(1)),
            for_all([P, V, T], !REQUEST.at((P, V, T))),
            for_all([P, V, T, N], !QUEUED.at((V, P, T, N)) & !LOCKED.at((V, P, T, N))),
            for_all([P, V, T, N], !RELINQUISH.at((P, V, T, N)) & !RELEASE.at((P, V, T, N))),
        ],
        actions,
        invariant,
    }
}

/// A process has a request: it waits or is inside.
fn is_active(process: Variable) -> Term {
    WAITING.at(process) | INSIDE.at(process)
}

fn of_processes() -> Vec<Action> {
    let next = CLOCK.at(X) + 1;
    let is_new = P.equals(X) & MEMBER.at((X, V)) & T.equals(&next);
    let is_over =
        P.equals(X) & MEMBER.at((X, V)) & T.equals(STAMP.at(X)) & N.equals(NUMBER.at((X, V)));
    let is_expected = WAITING.at(X) & M.equals(STAMP.at(X)) & K.equals(NUMBER.at((X, W)));
    vec![
        Action::new("request", [X])
            .when(!is_active(X))
            .set(CLOCK, X, &next)
            .set(STAMP, X, &next)
            .set(WAITING, X, true)
            .define(HAS_VOTE, [P, V], HAS_VOTE.at((P, V)) & P.differs(X))
            .define(NUMBER, [P, V], choose(P.equals(X), 1, NUMBER.at((P, V))))
            .define(REQUEST, [P, V, T], REQUEST.at((P, V, T)) | is_new),
        Action::new("receive-vote", [X, W, M, K])
            .when(LOCKED.at((W, X, M, K)) & is_expected & !HAS_VOTE.at((X, W)))
            .add(HAS_VOTE, (X, W)),
        Action::new("return-late-vote", [X, W, M, K])
            .when(LOCKED.at((W, X, M, K)) & !(is_active(X) & M.equals(STAMP.at(X))))
            .add(RELEASE, (X, W, M, K)),
        Action::new("enter", [X])
            .when(WAITING.at(X) & for_all([V], MEMBER.at((X, V)).implies(HAS_VOTE.at((X, V)))))
            .set(WAITING, X, false)
            .set(INSIDE, X, true),
        // In the code only after an inquiry, and if another voter has failed.
        Action::new("relinquish", [X, W])
            .when(WAITING.at(X) & HAS_VOTE.at((X, W)))
            .add(RELINQUISH, (Term::from(X), W, STAMP.at(X), NUMBER.at((X, W))))
            .remove(HAS_VOTE, (X, W))
            .set(NUMBER, (X, W), NUMBER.at((X, W)) + 1),
        Action::new("exit", [X]).when(INSIDE.at(X)).set(INSIDE, X, false).define(
            RELEASE,
            [P, V, T, N],
            RELEASE.at((P, V, T, N)) | is_over,
        ),
    ]
}

/// A voter gives its vote to a request.
fn votes_for(action: Action, process: Variable, stamp: Variable, number: Term) -> Action {
    action
        .set(FREE, W, false)
        .set(CANDIDATE, W, process)
        .set(VOTED_STAMP, W, stamp)
        .set(VOTED_NUMBER, W, &number)
        .add(LOCKED, (W, process, stamp, number))
}

fn of_voters() -> Vec<Action> {
    let observed = choose(CLOCK.at(W).less(M), M, CLOCK.at(W));
    let receive =
        |name| Action::new(name, [X, W, M]).when(REQUEST.at((X, W, M))).set(CLOCK, W, &observed);
    let is_given = has_given(W, X, M, K);
    let is_other = !(P.equals(Y) & T.equals(NEXT_STAMP) & N.equals(NEXT_NUMBER));
    let is_next = QUEUED.at((W, Y, NEXT_STAMP, NEXT_NUMBER));
    let is_returned = Y.equals(X) & NEXT_STAMP.equals(M) & NEXT_NUMBER.equals(K.plus(1));
    let parameters = [X, W, M, K, Y, NEXT_STAMP, NEXT_NUMBER];
    let returned = V.equals(W) & P.equals(X) & T.equals(M) & N.equals(K.plus(1));
    let is_kept = V.differs(W) | is_other;
    vec![
        votes_for(receive("vote").when(FREE.at(W)), X, M, 1.into()),
        receive("queue-request").when(!FREE.at(W)).add(QUEUED, (W, X, M, 1)),
        receive("receive-known-request"),
        votes_for(
            Action::new("vote-after-return", parameters)
                .when(RELINQUISH.at((X, W, M, K)) & is_given.clone())
                .when(is_next.clone() | is_returned)
                .define(
                    QUEUED,
                    [V, P, T, N],
                    (QUEUED.at((V, P, T, N)) | returned) & is_kept.clone(),
                ),
            Y,
            NEXT_STAMP,
            NEXT_NUMBER.into(),
        ),
        votes_for(
            Action::new("vote-after-release", parameters)
                .when(RELEASE.at((X, W, M, K)) & is_given.clone() & is_next)
                .define(QUEUED, [V, P, T, N], QUEUED.at((V, P, T, N)) & is_kept),
            Y,
            NEXT_STAMP,
            NEXT_NUMBER.into(),
        ),
        Action::new("become-free", [X, W, M, K])
            .when(RELEASE.at((X, W, M, K)) & is_given)
            .set(FREE, W, true),
    ]
}

/// A voter has given its vote to this request.
fn has_given(
    voter: Variable,
    process: Variable,
    stamp: impl Into<Term>,
    number: impl Into<Term>,
) -> Term {
    !FREE.at(voter)
        & CANDIDATE.at(voter).equals(process)
        & VOTED_STAMP.at(voter).equals(stamp)
        & VOTED_NUMBER.at(voter).equals(number)
}

/// A stamp and number of a request of `process` at voter `v` are not in the future.
fn is_known(process: &Term, stamp: &Term, number: Term) -> Term {
    let own_stamp = STAMP.at(process.clone());
    let is_active = WAITING.at(process.clone()) | INSIDE.at(process.clone());
    let own_number = NUMBER.at((process, V));
    stamp.clone().less(&own_stamp)
        | (stamp.clone().equals(own_stamp) & (!is_active | number.at_most(own_number)))
}

fn votes() -> Vec<Conjunct> {
    let present = |voter| has_given(voter, P, STAMP.at(P), NUMBER.at((P, V)));
    vec![
        Conjunct::new(
            "mutual-exclusion",
            "at most one process is inside",
            for_all([P, Q], (INSIDE.at(P) & INSIDE.at(Q)).implies(P.equals(Q))),
        ),
        Conjunct::new(
            "phases",
            "no process waits and is inside at once",
            for_all([P], !(WAITING.at(P) & INSIDE.at(P))),
        ),
        Conjunct::new(
            "inside-voted",
            "a process inside has the votes of its quorum",
            for_all([P, V], (INSIDE.at(P) & MEMBER.at((P, V))).implies(HAS_VOTE.at((P, V)))),
        ),
        Conjunct::new(
            "vote-given",
            "a vote that a process has was given by its voter, and not to another request",
            for_all([P, V], (is_active(P) & HAS_VOTE.at((P, V))).implies(present(V))),
        ),
        Conjunct::new(
            "vote-in-flight-given",
            "an awaited vote in flight was given by its voter, and not to another request",
            for_all(
                [P, V],
                (is_active(P) & LOCKED.at((Term::from(V), P, STAMP.at(P), NUMBER.at((P, V)))))
                    .implies(present(V)),
            ),
        ),
        Conjunct::new(
            "given-known",
            "a voter has voted for no future request",
            for_all(
                [V],
                (!FREE.at(V)).implies(is_known(
                    &CANDIDATE.at(V),
                    &VOTED_STAMP.at(V),
                    VOTED_NUMBER.at(V),
                )),
            ),
        ),
        Conjunct::new(
            "number-positive",
            "the number of a vote is positive",
            for_all([P, V], Term::from(1).at_most(NUMBER.at((P, V)))),
        ),
        Conjunct::new(
            "clock-own",
            "the clock of a process is at least the time stamp of its request",
            for_all([P], STAMP.at(P).at_most(CLOCK.at(P))),
        ),
    ]
}

fn messages() -> Vec<Conjunct> {
    let process = Term::from(P);
    let known = || is_known(&process, &T.into(), N.into());
    let is_past = T.less(STAMP.at(P));
    let is_present = T.equals(STAMP.at(P));
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
                RELINQUISH.at((P, V, T, N)).implies(
                    is_past.clone()
                        | (is_present.clone() & (!is_active(P) | N.less(NUMBER.at((P, V))))),
                ),
            ),
        ),
        Conjunct::new(
            "released-over",
            "a released request is not the present one",
            for_all(
                [P, V, T, N],
                RELEASE.at((P, V, T, N)).implies(is_past | (is_present & !is_active(P))),
            ),
        ),
        Conjunct::new(
            "request-past",
            "no future request is in flight",
            for_all([P, V, T], REQUEST.at((P, V, T)).implies(T.at_most(STAMP.at(P)))),
        ),
    ]
}
