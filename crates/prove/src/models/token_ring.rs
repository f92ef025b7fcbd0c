//! Token ring, for any number of processes: the holder of the token may enter, and passes it on.
//!
//! G. Le Lann, *Distributed systems – towards a formal approach*, IFIP Congress 1977. The code is
//! `crates/algorithms/src/mutex/token_ring.rs`.
//!
//! The token is removed when it is received, and may be lost. Mutual exclusion does not depend on
//! the shape of the ring, so the model permits any function that returns a next process.

use tenure_check::GlobalState;

use crate::conformance::checker_json::{CheckerJson, live_processes};
use crate::logic::sort::Sort::Process;
use crate::logic::symbol::Symbol;
use crate::logic::term::{TermOperations, for_all};
use crate::logic::variable::Variable;
use crate::model::action::Action;
use crate::model::{Conjunct, Model};
use crate::models::ModelEntry;
use crate::models::lock::{self, INSIDE, WAITING};
use crate::structure::table::Structure;
use crate::structure::value::Value;

/// True if a process holds the token and does not use it.
const HOLDING: Symbol = Symbol::relation("holding", &[Process]);
/// True if the token is in flight to a process.
const TOKEN: Symbol = Symbol::relation("token", &[Process]);
/// Maps each process to the next process on the ring.
const NEXT: Symbol = Symbol::function("next", &[Process], Process);
/// Process that holds the token at the start.
const FIRST: Symbol = Symbol::constant("first", Process);

const P: Variable = Variable::process("p");
const Q: Variable = Variable::process("q");
/// Process that takes the step.
const X: Variable = Variable::process("x");

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    name: "token-ring",
    paper: "Le Lann, IFIP Congress, 1977",
    property: "mutual exclusion",
    model,
    abstraction: Some(abstraction),
    variants: &[],
};

fn model(_: Option<&str>) -> Model {
    let pass = |action: Action| action.add_tuple(TOKEN, NEXT.at(X));
    let has_none = !WAITING.at(X) & !HOLDING.at(X) & !INSIDE.at(X);
    Model {
        name: ENTRY.name,
        state_symbols: vec![WAITING, HOLDING, INSIDE, TOKEN],
        lossy_messages: Vec::new(),
        rigid: vec![NEXT, FIRST],
        axioms: Vec::new(),
        initial_conditions: vec![
            for_all([P], !WAITING.at(P) & !INSIDE.at(P) & !TOKEN.at(P)),
            for_all([P], HOLDING.at(P).equals(P.equals(FIRST))),
        ],
        actions: vec![
            Action::new("request", [X]).when(has_none.clone()).set(WAITING, X, true),
            Action::new("enter-with-own-token", [X])
                .when(HOLDING.at(X))
                .set(HOLDING, X, false)
                .set(INSIDE, X, true),
            Action::new("receive-token", [X])
                .when(TOKEN.at(X) & WAITING.at(X))
                .remove_tuple(TOKEN, X)
                .set(WAITING, X, false)
                .set(INSIDE, X, true),
            Action::new("hold-token", [X])
                .when(TOKEN.at(X) & has_none)
                .remove_tuple(TOKEN, X)
                .set(HOLDING, X, true),
            pass(Action::new("pass-token", [X]).when(HOLDING.at(X)).set(HOLDING, X, false)),
            pass(Action::new("exit", [X]).when(INSIDE.at(X)).set(INSIDE, X, false)),
            Action::new("lose-token", [X]).when(TOKEN.at(X)).remove_tuple(TOKEN, X),
        ],
        invariant: invariant(),
    }
}

fn invariant() -> Vec<Conjunct> {
    let has_token = |process| HOLDING.at(process) | INSIDE.at(process) | TOKEN.at(process);
    vec![
        lock::mutual_exclusion(),
        Conjunct::new(
            "one-token",
            "there is at most one token",
            for_all([P, Q], (has_token(P) & has_token(Q)).implies(P.equals(Q))),
        ),
        Conjunct::new(
            "one-place",
            "the token is at one place: held idle, in use or in flight",
            for_all(
                [P],
                !(HOLDING.at(P) & INSIDE.at(P))
                    & !(HOLDING.at(P) & TOKEN.at(P))
                    & !(INSIDE.at(P) & TOKEN.at(P)),
            ),
        ),
    ]
}

fn abstraction(state: &GlobalState) -> Structure {
    let size = state.processes.len() as u32;
    let mut structure = Structure::new(size);
    structure.set(FIRST, [], Value::process(0));
    for (me, process) in live_processes(state) {
        structure.set(NEXT, [me], Value::process((me.index() + 1) % size));
        match CheckerJson(process).field("phase").variant_name() {
            "Waiting" => structure.add_tuple(WAITING, [me]),
            "Holding" => structure.add_tuple(HOLDING, [me]),
            "Inside" => structure.add_tuple(INSIDE, [me]),
            _ => {}
        }
    }
    for message in &state.messages {
        structure.add_tuple(TOKEN, [Value::process(message.to)]);
    }
    structure
}
