//! Chang–Roberts leader election on a ring, for any number of processes.
//!
//! E. Chang, R. Roberts, *An improved algorithm for decentralized extrema-finding in circular
//! configurations of processes*, CACM 22(5), 1979. The code is
//! `crates/algorithms/src/election/chang_roberts.rs`.
//!
//! The ring is described by `between(a, b, c)`: a walk from `a` along the ring reaches `b` before
//! `c`. The receipt of a message does not remove it from the network, and a process may receive any
//! message in flight next. Messages may therefore be late, repeated or lost, and may overtake one
//! another.

use tenure_check::GlobalState;

use crate::conformance::checker_json::{CheckerJson, live_processes};
use crate::logic::sort::Sort::{Int, Process};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermOperations, for_all};
use crate::logic::variable::Variable;
use crate::model::action::Action;
use crate::model::{Axiom, Conjunct, Model};
use crate::models::{ModelEntry, ModelVariant};
use crate::structure::table::Structure;
use crate::structure::value::Value;

const PARTICIPANT: Symbol = Symbol::relation("participant", &[Process]);
/// True if a process knows the leader.
const ELECTED: Symbol = Symbol::relation("elected", &[Process]);
/// Leader that a process knows.
const LEADER: Symbol = Symbol::function("leader", &[Process], Process);
/// True if a message with the rank of the first process is in flight to the second process.
const CANDIDACY: Symbol = Symbol::relation("candidacy", &[Process, Process]);
/// True if a message is in flight to the second process, and announces that the first process is
/// the leader.
const ANNOUNCEMENT: Symbol = Symbol::relation("announcement", &[Process, Process]);
/// True if a walk along the ring from the first process reaches the second process before the
/// third.
const BETWEEN: Symbol = Symbol::relation("between", &[Process, Process, Process]);
/// Process that follows a process on the ring.
const NEXT: Symbol = Symbol::function("next", &[Process], Process);
const RANK: Symbol = Symbol::function("rank", &[Process], Int);

const P: Variable = Variable::process("p");
const Q: Variable = Variable::process("q");
const R: Variable = Variable::process("r");
const S: Variable = Variable::process("s");
/// Process that takes the step.
const X: Variable = Variable::process("x");
/// Process whose rank the received message contains.
const O: Variable = Variable::process("o");

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    name: "chang-roberts",
    paper: "Chang & Roberts, CACM 22(5), 1979",
    property: "one leader, which has the highest rank",
    model,
    abstraction: Some(abstraction),
    variants: &[ModelVariant { name: "passes-all", is_refuted: true }],
};

fn model(variant: Option<&str>) -> Model {
    Model {
        name: ENTRY.name,
        state_symbols: vec![PARTICIPANT, ELECTED, LEADER, CANDIDACY, ANNOUNCEMENT],
        lossy_messages: vec![CANDIDACY, ANNOUNCEMENT],
        rigid: vec![BETWEEN, NEXT, RANK],
        axioms: ring(),
        initial_conditions: vec![
            for_all([P], !PARTICIPANT.at(P) & !ELECTED.at(P)),
            for_all([P, Q], !CANDIDACY.at((P, Q)) & !ANNOUNCEMENT.at((P, Q))),
        ],
        actions: actions(variant),
        invariant: invariant(),
    }
}

fn actions(variant: Option<&str>) -> Vec<Action> {
    let is_passed = match variant {
        Some("passes-all") => O.differs(X),
        _ => RANK.at(X).less(RANK.at(O)),
    };
    let start = |action: Action| {
        action.set(PARTICIPANT, X, true).add_tuple(CANDIDACY, (Term::from(X), NEXT.at(X)))
    };
    vec![
        start(Action::new("elect", [X]).when(!PARTICIPANT.at(X))),
        Action::new("forward", [X, O])
            .when(CANDIDACY.at((O, X)) & is_passed)
            .set(PARTICIPANT, X, true)
            .add_tuple(CANDIDACY, (Term::from(O), NEXT.at(X))),
        start(
            Action::new("discard-and-start", [X, O])
                .when(CANDIDACY.at((O, X)) & RANK.at(O).less(RANK.at(X)) & !PARTICIPANT.at(X)),
        ),
        Action::new("win", [X])
            .when(CANDIDACY.at((X, X)))
            .set(PARTICIPANT, X, false)
            .set(ELECTED, X, true)
            .set(LEADER, X, X)
            .add_tuple(ANNOUNCEMENT, (Term::from(X), NEXT.at(X))),
        Action::new("learn", [X, O])
            .when(ANNOUNCEMENT.at((O, X)) & O.differs(X))
            .set(PARTICIPANT, X, false)
            .set(ELECTED, X, true)
            .set(LEADER, X, O)
            .add_tuple(ANNOUNCEMENT, (Term::from(O), NEXT.at(X))),
        Action::new("end", [X]).when(ANNOUNCEMENT.at((X, X))).set(PARTICIPANT, X, false),
    ]
}

fn invariant() -> Vec<Conjunct> {
    vec![
        Conjunct::new(
            "agreement",
            "all processes that know a leader know the same",
            for_all(
                [P, Q],
                (ELECTED.at(P) & ELECTED.at(Q)).implies(LEADER.at(P).equals(LEADER.at(Q))),
            ),
        ),
        Conjunct::new(
            "highest-leads",
            "a known leader has the highest rank",
            for_all([P, Q], ELECTED.at(P).implies(is_highest(LEADER.at(P)))),
        ),
        Conjunct::new(
            "highest-announced",
            "an announced leader has the highest rank",
            for_all([O, P, Q], ANNOUNCEMENT.at((O, P)).implies(is_highest(O))),
        ),
        Conjunct::new(
            "passed-lower",
            "a rank has passed only processes with lower ranks",
            for_all(
                [O, P, Q],
                (CANDIDACY.at((O, P)) & BETWEEN.at((O, Q, P))).implies(RANK.at(Q).less(RANK.at(O))),
            ),
        ),
        Conjunct::new(
            "round-highest",
            "a rank that has come round is the highest",
            for_all([O, Q], CANDIDACY.at((O, O)).implies(is_highest(O))),
        ),
    ]
}

/// Returns a formula with the free variable `Q`. If it is true for all `Q`, then `process` has the
/// highest rank, and no other process has the same rank.
fn is_highest(process: impl Into<Term>) -> Term {
    let process = process.into();
    Q.equals(&process) | RANK.at(Q).less(RANK.at(process))
}

fn ring() -> Vec<Axiom> {
    let distinct = P.differs(Q) & Q.differs(R) & P.differs(R);
    vec![
        Axiom::new(
            "the order on the ring is cyclic",
            for_all([P, Q, R], BETWEEN.at((P, Q, R)).implies(BETWEEN.at((Q, R, P)))),
        ),
        Axiom::new(
            "the order on the ring is transitive",
            for_all(
                [P, Q, R, S],
                (BETWEEN.at((P, Q, R)) & BETWEEN.at((P, R, S))).implies(BETWEEN.at((P, Q, S))),
            ),
        ),
        Axiom::new(
            "the order on the ring is asymmetric",
            for_all([P, Q, R], BETWEEN.at((P, Q, R)).implies(!BETWEEN.at((P, R, Q)))),
        ),
        Axiom::new(
            "the order on the ring relates distinct processes",
            for_all([P, Q, R], BETWEEN.at((P, Q, R)).implies(distinct.clone())),
        ),
        Axiom::new(
            "the order on the ring is total",
            for_all([P, Q, R], distinct.implies(BETWEEN.at((P, Q, R)) | BETWEEN.at((P, R, Q)))),
        ),
        Axiom::new(
            "the next process is adjacent",
            for_all([P, Q], Q.equals(P) | Q.equals(NEXT.at(P)) | BETWEEN.at((P, NEXT.at(P), Q))),
        ),
        Axiom::new(
            "ranks are distinct",
            for_all([P, Q], RANK.at(P).equals(RANK.at(Q)).implies(P.equals(Q))),
        ),
    ]
}

fn abstraction(state: &GlobalState) -> Structure {
    let size = state.processes.len() as u32;
    let mut structure = Structure::new(size);
    let process = |index: u32| Value::process(index % size);
    for start in 0..size {
        structure.set(NEXT, [process(start)], process(start + 1));
        for second in 1..size {
            for third in second + 1..size {
                let arguments = [start, start + second, start + third].map(process);
                structure.add_tuple(BETWEEN, arguments);
            }
        }
    }
    let mut by_rank = Vec::new();
    for (me, process) in live_processes(state) {
        let process = CheckerJson(process);
        let rank = process.field("rank").to_unweighted_rank_id();
        structure.set(RANK, [me], rank);
        by_rank.push((rank, me));
        if process.field("phase").variant_name() == "Participant" {
            structure.add_tuple(PARTICIPANT, [me]);
        }
        let elected = process.field("elected");
        if !elected.is_none() {
            structure.add_tuple(ELECTED, [me]);
            structure.set(LEADER, [me], elected.to_process());
        }
    }
    for message in &state.messages {
        let to = Value::process(message.to);
        let content = CheckerJson(&message.content);
        if content.variant_name() == "Elected" {
            structure.add_tuple(ANNOUNCEMENT, [content.field("leader").to_process(), to]);
        } else {
            let rank = content.field("rank").to_unweighted_rank_id();
            let of = by_rank.iter().find(|(other, _)| *other == rank);
            structure.add_tuple(CANDIDACY, [of.expect("a rank belongs to a process").1, to]);
        }
    }
    structure
}
