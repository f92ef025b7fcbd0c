//! Suzuki–Kasami mutual exclusion: one token that is sent on request, for any number of processes.
//!
//! I. Suzuki, T. Kasami, *A distributed mutual exclusion algorithm*, ACM TOCS 3(4), 1985. The code
//! is `crates/algorithms/src/mutex/suzuki_kasami.rs`.
//!
//! The token is the only message that is removed when it is received. In the model, the queue in
//! the token is a set, and any process in the set may get the token next. The model thereby covers
//! the order in the code.

use tenure_check::GlobalState;

use crate::conformance::checker_json::{CheckerJson, live_processes};
use crate::logic::sort::Sort::{Int, Process};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermOperations, exists, for_all, if_then_else};
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
/// Highest number of a request of the second process that the first process knows (`RN` in the
/// paper).
const KNOWN: Symbol = Symbol::function("known", &[Process, Process], Int);
/// Number of the last served request of a process, as recorded in the token (`LN` in the paper).
const SERVED: Symbol = Symbol::function("served", &[Process], Int);
/// True if a process is in the queue that the token contains (`Q` in the paper).
const QUEUED: Symbol = Symbol::relation("queued", &[Process]);
/// True if a request is in flight. Arguments: sender, receiver, number.
const REQUEST: Symbol = Symbol::relation("request", &[Process, Process, Int]);
/// Process that holds the token at the start.
const FIRST: Symbol = Symbol::constant("first", Process);

const P: Variable = Variable::process("p");
const Q: Variable = Variable::process("q");
const N: Variable = Variable::int("n");
/// Process that takes the step.
const X: Variable = Variable::process("x");
/// Process from which `X` receives a request, or to which `X` sends the token.
const Y: Variable = Variable::process("y");
/// Number in the received request.
const M: Variable = Variable::int("m");

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    name: "suzuki-kasami",
    paper: "Suzuki & Kasami, ACM TOCS 3(4), 1985",
    property: "mutual exclusion",
    model,
    abstraction: Some(abstraction),
    variants: &[],
};

fn model(_: Option<&str>) -> Model {
    let number = KNOWN.at((X, X)) + 1;
    let is_new = P.equals(X) & Q.differs(X) & N.equals(&number);
    let newest = if_then_else(KNOWN.at((X, Y)).less(M), M, KNOWN.at((X, Y)));
    let is_due = newest.clone().equals(SERVED.at(Y) + 1);
    // The token after `X` exits. `served` contains the numbers of the last served requests, and
    // `is_due_at_exit` is true for each process in the queue.
    let served = if_then_else(P.equals(X), KNOWN.at((X, X)), SERVED.at(P));
    let is_due_at_exit = |of: Variable| {
        QUEUED.at(of) | (of.differs(X) & KNOWN.at((X, of)).equals(SERVED.at(of) + 1))
    };
    let exit = |name| Action::new(name, [X, Y]).when(INSIDE.at(X)).set(INSIDE, X, false);
    Model {
        name: ENTRY.name,
        state_symbols: vec![WAITING, HOLDING, INSIDE, TOKEN, KNOWN, SERVED, QUEUED, REQUEST],
        lossy_messages: vec![REQUEST],
        rigid: vec![FIRST],
        axioms: Vec::new(),
        initial_conditions: vec![
            for_all([P], !WAITING.at(P) & !INSIDE.at(P) & !TOKEN.at(P) & !QUEUED.at(P)),
            for_all([P], HOLDING.at(P).equals(P.equals(FIRST))),
            for_all([P, Q], KNOWN.at((P, Q)).equals(0) & SERVED.at(P).equals(0)),
            for_all([P, Q, N], !REQUEST.at((P, Q, N))),
        ],
        actions: vec![
            Action::new("request", [X])
                .when(!WAITING.at(X) & !HOLDING.at(X) & !INSIDE.at(X))
                .set(WAITING, X, true)
                .set(KNOWN, (X, X), &number)
                .define(REQUEST, [P, Q, N], REQUEST.at((P, Q, N)) | is_new),
            Action::new("enter-with-own-token", [X])
                .when(HOLDING.at(X))
                .set(HOLDING, X, false)
                .set(INSIDE, X, true),
            Action::new("receive-token", [X])
                .when(TOKEN.at(X) & WAITING.at(X))
                .remove_tuple(TOKEN, X)
                .set(WAITING, X, false)
                .set(INSIDE, X, true),
            Action::new("receive-request", [X, Y, M])
                .when(REQUEST.at((Y, X, M)) & !(HOLDING.at(X) & is_due.clone()))
                .set(KNOWN, (X, Y), &newest),
            Action::new("send-token", [X, Y, M])
                .when(REQUEST.at((Y, X, M)) & HOLDING.at(X) & is_due)
                .set(KNOWN, (X, Y), newest)
                .set(HOLDING, X, false)
                .add_tuple(TOKEN, Y),
            exit("exit-and-send")
                .when(is_due_at_exit(Y))
                .define(SERVED, [P], served.clone())
                .add_tuple(TOKEN, Y)
                .define(QUEUED, [P], is_due_at_exit(P) & P.differs(Y)),
            exit("exit-and-keep")
                .when(!exists([P], is_due_at_exit(P)) & Y.equals(X))
                .define(SERVED, [P], served)
                .set(HOLDING, X, true)
                .define(QUEUED, [P], Term::falsehood()),
            Action::new("lose-token", [X]).when(TOKEN.at(X)).remove_tuple(TOKEN, X),
        ],
        invariant: invariant(),
    }
}

fn invariant() -> Vec<Conjunct> {
    let has_token = |process| HOLDING.at(process) | INSIDE.at(process) | TOKEN.at(process);
    let own = KNOWN.at((P, P));
    let present = own.clone().equals(SERVED.at(P) + 1);
    let is_served = own.clone().equals(SERVED.at(P));
    vec![
        lock::mutual_exclusion(),
        Conjunct::new(
            "one-token",
            "there is at most one token",
            for_all([P, Q], (has_token(P) & has_token(Q)).implies(P.equals(Q))),
        ),
        Conjunct::new(
            "phases",
            "a process waits, holds the idle token, or is inside, one at a time",
            for_all(
                [P],
                !(WAITING.at(P) & HOLDING.at(P))
                    & !(WAITING.at(P) & INSIDE.at(P))
                    & !(HOLDING.at(P) & INSIDE.at(P)),
            ),
        ),
        Conjunct::new(
            "token-awaited",
            "the token is sent only to a process that waits",
            for_all([P], TOKEN.at(P).implies(WAITING.at(P))),
        ),
        Conjunct::new(
            "known-sent",
            "no process knows a request that was not made",
            for_all([P, Q], KNOWN.at((Q, P)).at_most(KNOWN.at((P, P)))),
        ),
        Conjunct::new(
            "request-sent",
            "a request in flight was made",
            for_all([P, Q, N], REQUEST.at((P, Q, N)).implies(N.at_most(KNOWN.at((P, P))))),
        ),
        Conjunct::new(
            "waiting-unserved",
            "exactly the last request of a waiting process is not served",
            for_all(
                [P],
                if_then_else(
                    WAITING.at(P),
                    present.clone(),
                    if_then_else(INSIDE.at(P), present | is_served.clone(), is_served),
                ),
            ),
        ),
        Conjunct::new(
            "queued-waiting",
            "a queued process waits, and the token is not on its way to it",
            for_all([P], QUEUED.at(P).implies(WAITING.at(P) & !TOKEN.at(P))),
        ),
        Conjunct::new(
            "idle-queue-empty",
            "an idle token has an empty queue",
            for_all([P, Q], !(HOLDING.at(P) & QUEUED.at(Q))),
        ),
    ]
}

fn abstraction(state: &GlobalState) -> Structure {
    let mut structure = Structure::new(state.processes.len() as u32);
    structure.set(FIRST, [], Value::process(0));
    for (me, process) in live_processes(state) {
        let process = CheckerJson(process);
        for (other, number) in (0..).zip(process.field("requests").elements()) {
            structure.set(KNOWN, [me, Value::process(other)], number.to_int());
        }
        let phase = process.field("phase");
        match phase.variant_name() {
            "Waiting" => structure.add_tuple(WAITING, [me]),
            "Holding" => structure.add_tuple(HOLDING, [me]),
            "Inside" => structure.add_tuple(INSIDE, [me]),
            _ => {}
        }
        if let "Holding" | "Inside" = phase.variant_name() {
            add_token(&mut structure, phase.field("token"));
        }
    }
    for message in &state.messages {
        let [from, to] = [message.from, message.to].map(Value::process);
        let content = CheckerJson(&message.content);
        if content.variant_name() == "Token" {
            structure.add_tuple(TOKEN, [to]);
            add_token(&mut structure, content.field("token"));
        } else {
            structure.add_tuple(REQUEST, [from, to, content.field("number").to_int().into()]);
        }
    }
    structure
}

/// Adds to `structure` the state that travels with the token.
fn add_token(structure: &mut Structure, token: CheckerJson<'_>) {
    for (process, number) in (0..).zip(token.field("served").elements()) {
        structure.set(SERVED, [Value::process(process)], number.to_int());
    }
    for process in token.field("queue").elements() {
        structure.add_tuple(QUEUED, [process.to_process()]);
    }
}
