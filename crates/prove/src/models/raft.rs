//! Leader election of Raft: one leader per term, for any number of processes.
//!
//! D. Ongaro, J. Ousterhout, *In search of an understandable consensus algorithm*, USENIX ATC 2014,
//! section 5.2. The code is `crates/algorithms/src/election/raft.rs`.
//!
//! Processes crash at any time, and keep their term and vote. Messages stay in flight after their
//! receipt. The votes of a candidacy are kept while the process leads, although the code forgets
//! them then.

use crate::logic::sort::Sort::{Int, Process, Quorum};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Operations, Term, choose, for_all};
use crate::logic::variable::Variable;
use crate::model::action::Action;
use crate::model::{Axiom, Conjunct, Model};
use crate::models::{ModelEntry, ModelVariant};

/// `currentTerm`: latest term that a process has seen.
const TERM: Symbol = Symbol::function("term", &[Process], Int);
/// A process has voted in its term.
const HAS_VOTED: Symbol = Symbol::relation("has-voted", &[Process]);
/// `votedFor`: candidate that a process has voted for in its term.
const VOTED_FOR: Symbol = Symbol::function("voted-for", &[Process], Process);
/// A process is a candidate.
const CANDIDATE: Symbol = Symbol::relation("candidate", &[Process]);
/// A process leads.
const LEADER: Symbol = Symbol::relation("leader", &[Process]);
/// A candidate or leader has the vote of a process.
const VOTES: Symbol = Symbol::relation("votes", &[Process, Process]);
/// Quorum that elected a leader.
const ELECTED_BY: Symbol = Symbol::function("elected-by", &[Process], Quorum);
/// A request for votes is in flight: candidate, term.
const REQUEST_VOTE: Symbol = Symbol::relation("request-vote", &[Process, Int]);
/// A vote is in flight: voter, candidate, term.
const VOTE: Symbol = Symbol::relation("vote", &[Process, Process, Int]);
/// A process is a member of a quorum.
const MEMBER: Symbol = Symbol::relation("member", &[Process, Quorum]);
/// Some member of both quorums.
const COMMON: Symbol = Symbol::function("common", &[Quorum, Quorum], Process);

const P: Variable = Variable::process("p");
const Q: Variable = Variable::process("q");
const V: Variable = Variable::process("v");
const A: Variable = Variable::quorum("a");
const B: Variable = Variable::quorum("b");
const T: Variable = Variable::int("t");
/// Process that steps.
const X: Variable = Variable::process("x");
/// Sender of the received message.
const Y: Variable = Variable::process("y");
/// Term in the received message.
const M: Variable = Variable::int("m");
/// Quorum whose votes a candidate has.
const W: Variable = Variable::quorum("w");

/// Entry of the catalogue.
pub(crate) const ENTRY: ModelEntry = ModelEntry {
    name: "raft",
    paper: "Ongaro & Ousterhout, USENIX ATC 2014, section 5.2",
    property: "one leader per term",
    model,
    abstraction: None,
    variants: &[ModelVariant { name: "forgotten-vote", is_refuted: true }],
};

fn model(variant: Option<&str>) -> Model {
    let common = |quorum| MEMBER.at((COMMON.at((A, B)), quorum));
    Model {
        name: ENTRY.name,
        state: vec![
            TERM,
            HAS_VOTED,
            VOTED_FOR,
            CANDIDATE,
            LEADER,
            VOTES,
            ELECTED_BY,
            REQUEST_VOTE,
            VOTE,
        ],
        messages: vec![REQUEST_VOTE, VOTE],
        rigid: vec![MEMBER, COMMON],
        axioms: vec![Axiom::new(
            "any two quorums have a common member",
            for_all([A, B], common(A) & common(B)),
        )],
        initial: vec![
            for_all([P], TERM.at(P).equals(0) & !HAS_VOTED.at(P)),
            for_all([P], !CANDIDATE.at(P) & !LEADER.at(P)),
            for_all([P, Q, T], !VOTE.at((P, Q, T)) & !REQUEST_VOTE.at((P, T))),
        ],
        actions: actions(variant),
        invariant: invariant(),
    }
}

/// A process is a candidate or leads.
fn stands(process: Variable) -> Term {
    CANDIDATE.at(process) | LEADER.at(process)
}

fn actions(variant: Option<&str>) -> Vec<Action> {
    let next = TERM.at(X) + 1;
    let follows = |action: Action| action.set(CANDIDATE, X, false).set(LEADER, X, false);
    let is_current = M.equals(TERM.at(X));
    let crash = follows(Action::new("crash", [X]));
    vec![
        Action::new("start-election", [X])
            .set(TERM, X, &next)
            .set(HAS_VOTED, X, true)
            .set(VOTED_FOR, X, X)
            .set(CANDIDATE, X, true)
            .set(LEADER, X, false)
            .define(VOTES, [P, Q], choose(P.equals(X), Q.equals(X), VOTES.at((P, Q))))
            .add(REQUEST_VOTE, (Term::from(X), next)),
        follows(
            Action::new("see-higher-term", [X, M])
                .when(TERM.at(X).less(M))
                .set(TERM, X, M)
                .set(HAS_VOTED, X, false),
        ),
        Action::new("grant-vote", [X, Y, M])
            .when(REQUEST_VOTE.at((Y, M)) & is_current.clone() & !stands(X) & !HAS_VOTED.at(X))
            .set(HAS_VOTED, X, true)
            .set(VOTED_FOR, X, Y)
            .add(VOTE, (X, Y, M)),
        Action::new("grant-vote-again", [X, Y, M])
            .when(
                REQUEST_VOTE.at((Y, M))
                    & is_current.clone()
                    & HAS_VOTED.at(X)
                    & VOTED_FOR.at(X).equals(Y),
            )
            .add(VOTE, (X, Y, M)),
        Action::new("count-vote", [X, Y, M])
            .when(VOTE.at((Y, X, M)) & is_current & CANDIDATE.at(X))
            .add(VOTES, (X, Y)),
        Action::new("win", [X, W])
            .when(CANDIDATE.at(X) & for_all([V], MEMBER.at((V, W)).implies(VOTES.at((X, V)))))
            .set(CANDIDATE, X, false)
            .set(LEADER, X, true)
            .set(ELECTED_BY, X, W),
        follows(Action::new("step-down", [X])),
        match variant {
            Some("forgotten-vote") => crash.set(HAS_VOTED, X, false),
            _ => crash,
        },
    ]
}

fn invariant() -> Vec<Conjunct> {
    let has_vote = |process| stands(process) & VOTES.at((process, V));
    let same_term = TERM.at(P).equals(TERM.at(Q));
    // The vote of v in a term is recorded at v as long as v has seen no higher term.
    let recorded = |term: Term, candidate: Variable| {
        let is_current = TERM.at(V).equals(&term);
        term.at_most(TERM.at(V))
            & is_current.implies(HAS_VOTED.at(V) & VOTED_FOR.at(V).equals(candidate))
    };
    vec![
        Conjunct::new(
            "one-leader-per-term",
            "at most one leader is elected in a term",
            for_all([P, Q], (LEADER.at(P) & LEADER.at(Q) & same_term.clone()).implies(P.equals(Q))),
        ),
        Conjunct::new(
            "roles",
            "no process is a candidate and leads at once",
            for_all([P], !(CANDIDATE.at(P) & LEADER.at(P))),
        ),
        Conjunct::new(
            "elected-by-quorum",
            "a leader has the votes of a quorum",
            for_all(
                [P, V],
                (LEADER.at(P) & MEMBER.at((V, ELECTED_BY.at(P)))).implies(VOTES.at((P, V))),
            ),
        ),
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
