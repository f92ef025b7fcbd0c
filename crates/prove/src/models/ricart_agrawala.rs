//! Ricart–Agrawala mutual exclusion, for any number of processes.
//!
//! G. Ricart, A. K. Agrawala, *An optimal algorithm for mutual exclusion in computer networks*,
//! CACM 24(1), 1981. The code is `crates/algorithms/src/mutex/ricart_agrawala.rs`.

use tenure_check::GlobalState;

use crate::conformance::checker_json::CheckerJson;
use crate::logic::sort::Sort::{Int, Process};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermOperations, for_all, if_then_else};
use crate::logic::variable::Variable;
use crate::model::action::Action;
use crate::model::{Conjunct, Model};
use crate::models::lock::{self, INSIDE, NAME, WAITING, is_waiting_or_inside};
use crate::models::{ModelEntry, ModelVariant};
use crate::structure::table::Structure;
use crate::structure::value::Value;

/// Number of a process's present request: `Our_Sequence_Number`. 0 without a request.
const STAMP: Symbol = Symbol::function("stamp", &[Process], Int);
/// Highest number that a process has sent or received: `Highest_Sequence_Number`.
const CLOCK: Symbol = Symbol::function("clock", &[Process], Int);
/// True if a request is in flight. Arguments: sender, receiver, number.
const REQUEST: Symbol = Symbol::relation("request", &[Process, Process, Int]);
/// True if a reply is in flight. Arguments: sender, receiver, number of the answered request.
const REPLY: Symbol = Symbol::relation("reply", &[Process, Process, Int]);
/// True if a process defers its reply to a request: `Reply_Deferred`. Arguments: the process, the
/// sender of the request, the number of the request.
const DEFERRED: Symbol = Symbol::relation("deferred", &[Process, Process, Int]);
/// True if the first process has received the reply to its present request from the second process.
const GRANTED: Symbol = Symbol::relation("granted", &[Process, Process]);

const P: Variable = Variable::process("p");
const Q: Variable = Variable::process("q");
const T: Variable = Variable::int("t");
const U: Variable = Variable::int("u");
/// Process that takes the step.
const X: Variable = Variable::process("x");
/// Sender of the received message.
const Y: Variable = Variable::process("y");
/// Number in the received message.
const M: Variable = Variable::int("m");

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    name: "ricart-agrawala",
    paper: "Ricart & Agrawala, CACM 24(1), 1981",
    property: "mutual exclusion",
    model,
    abstraction: Some(abstraction),
    variants: &[
        ModelVariant { name: "clock-only-strict", is_refuted: true },
        ModelVariant { name: "forget-clock", is_refuted: true },
    ],
};

fn model(variant: Option<&str>) -> Model {
    Model {
        name: ENTRY.name,
        state_symbols: vec![WAITING, INSIDE, STAMP, CLOCK, REQUEST, REPLY, DEFERRED, GRANTED],
        lossy_messages: vec![REQUEST, REPLY],
        rigid: vec![NAME],
        axioms: vec![lock::distinct_names()],
        initial_conditions: vec![
            for_all([P], !WAITING.at(P) & !INSIDE.at(P)),
            for_all([P], STAMP.at(P).equals(0) & CLOCK.at(P).equals(0)),
            for_all([P, Q], !GRANTED.at((P, Q))),
            for_all(
                [P, Q, T],
                !REQUEST.at((P, Q, T)) & !REPLY.at((P, Q, T)) & !DEFERRED.at((P, Q, T)),
            ),
        ],
        actions: vec![
            request(),
            receive_request(variant),
            receive_reply(),
            enter(),
            exit(),
            observe_clock(),
        ],
        invariant: invariant(),
    }
}

/// Returns a formula that is true if one request precedes another request. `process` has made the
/// first request, with the number `stamp`. `other` has made the second request, with the number
/// `other_stamp`.
fn precedes(stamp: &Term, process: Variable, other_stamp: &Term, other: Variable) -> Term {
    let is_tie = stamp.clone().equals(other_stamp);
    stamp.clone().less(other_stamp) | (is_tie & NAME.at(process).less(NAME.at(other)))
}

/// Returns the action *request*: a process advances its clock and sends a request to all others.
fn request() -> Action {
    let next = CLOCK.at(X) + 1;
    let is_new = P.equals(X) & Q.differs(X) & T.equals(&next);
    Action::new("request", [X])
        .when(!is_waiting_or_inside(X))
        .set(WAITING, X, true)
        .set(STAMP, X, &next)
        .set(CLOCK, X, &next)
        .define(REQUEST, [P, Q, T], REQUEST.at((P, Q, T)) | is_new)
        .define(GRANTED, [P, Q], GRANTED.at((P, Q)) & P.differs(X))
}

/// Returns the action *receive a request*. The receiver defers its reply if it is inside, or if it
/// waits and its own request precedes the received request. Otherwise it replies.
fn receive_request(variant: Option<&str>) -> Action {
    let own = STAMP.at(X);
    let other = Term::from(M);
    let precedes = match variant {
        Some("clock-only-strict") => own.less(&other),
        _ => precedes(&own, X, &other, Y),
    };
    let defers = INSIDE.at(X) | (WAITING.at(X) & precedes);
    let clock = match variant {
        Some("forget-clock") => CLOCK.at(X),
        _ => if_then_else(CLOCK.at(X).less(M), M, CLOCK.at(X)),
    };
    let is_this = P.equals(X) & Q.equals(Y) & T.equals(M);
    Action::new("receive-request", [X, Y, M])
        .when(REQUEST.at((Y, X, M)))
        .set(CLOCK, X, clock)
        .remove_tuple(REQUEST, (Y, X, M))
        .define(DEFERRED, [P, Q, T], DEFERRED.at((P, Q, T)) | (is_this.clone() & defers.clone()))
        .define(REPLY, [P, Q, T], REPLY.at((P, Q, T)) | (is_this & !defers))
}

fn receive_reply() -> Action {
    Action::new("receive-reply", [X, Y, M])
        .when(REPLY.at((Y, X, M)) & WAITING.at(X) & M.equals(STAMP.at(X)))
        .add_tuple(GRANTED, (X, Y))
        .remove_tuple(REPLY, (Y, X, M))
}

/// Returns the action *enter*, which is possible when all others have replied.
fn enter() -> Action {
    Action::new("enter", [X])
        .when(WAITING.at(X) & for_all([P], P.differs(X).implies(GRANTED.at((X, P)))))
        .set(WAITING, X, false)
        .set(INSIDE, X, true)
}

/// Returns the action *exit*: a process replies to all deferred requests.
fn exit() -> Action {
    Action::new("exit", [X])
        .when(INSIDE.at(X))
        .set(INSIDE, X, false)
        .set(STAMP, X, 0)
        .define(GRANTED, [P, Q], GRANTED.at((P, Q)) & P.differs(X))
        .define(REPLY, [P, Q, T], REPLY.at((P, Q, T)) | (P.equals(X) & DEFERRED.at((X, Q, T))))
        .define(DEFERRED, [P, Q, T], DEFERRED.at((P, Q, T)) & P.differs(X))
}

/// Returns the action *observe*: a process learns of a higher number. Unlike in the paper, replies
/// carry the clock of their sender, and applications may forward this clock.
fn observe_clock() -> Action {
    Action::new("observe-clock", [X, M]).when(CLOCK.at(X).less(M)).set(CLOCK, X, M)
}

fn invariant() -> Vec<Conjunct> {
    let mut conjuncts = processes();
    conjuncts.extend(messages());
    conjuncts.extend(grants());
    conjuncts
}

fn processes() -> Vec<Conjunct> {
    vec![
        lock::mutual_exclusion(),
        lock::disjoint_phases(),
        Conjunct::new(
            "inside-granted",
            "a process inside has the replies of all others",
            for_all([P, Q], (INSIDE.at(P) & P.differs(Q)).implies(GRANTED.at((P, Q)))),
        ),
        Conjunct::new(
            "clock-own",
            "the clock of a process is at least the number of its request",
            for_all([P], Term::from(0).at_most(STAMP.at(P)) & STAMP.at(P).at_most(CLOCK.at(P))),
        ),
    ]
}

fn messages() -> Vec<Conjunct> {
    let is_present = |process| WAITING.at(process) & P.differs(Q) & T.equals(STAMP.at(process));
    vec![
        Conjunct::new(
            "request-present",
            "a request in flight is the present one of a waiting process, and not granted",
            for_all([P, Q, T], REQUEST.at((P, Q, T)).implies(is_present(P) & !GRANTED.at((P, Q)))),
        ),
        Conjunct::new(
            "reply-present",
            "a reply in flight answers the present request of a waiting process",
            for_all([P, Q, T], REPLY.at((P, Q, T)).implies(is_present(Q) & !GRANTED.at((Q, P)))),
        ),
        Conjunct::new(
            "deferred-present",
            "a deferred request is the present one of a waiting process, and was seen",
            for_all(
                [P, Q, T],
                DEFERRED.at((P, Q, T)).implies(
                    is_present(Q)
                        & !GRANTED.at((Q, P))
                        & is_waiting_or_inside(P)
                        & T.at_most(CLOCK.at(P)),
                ),
            ),
        ),
        Conjunct::new(
            "granted-active",
            "only a process with a request has replies",
            for_all([P, Q], GRANTED.at((P, Q)).implies(is_waiting_or_inside(P) & P.differs(Q))),
        ),
        Conjunct::new(
            "request-or-reply",
            "a request and its reply are not in flight together",
            for_all([P, Q, T, U], !(REQUEST.at((P, Q, T)) & REPLY.at((Q, P, U)))),
        ),
        Conjunct::new(
            "request-or-deferred",
            "a request in flight is not deferred",
            for_all([P, Q, T, U], !(REQUEST.at((P, Q, T)) & DEFERRED.at((Q, P, U)))),
        ),
        Conjunct::new(
            "reply-or-deferred",
            "a deferred request has no reply",
            for_all([P, Q, T, U], !(REPLY.at((Q, P, T)) & DEFERRED.at((Q, P, U)))),
        ),
    ]
}

fn grants() -> Vec<Conjunct> {
    // p has granted the present request of q: the reply of p is received or in flight.
    let has_granted = GRANTED.at((Q, P)) | REPLY.at((P, Q, STAMP.at(Q)));
    vec![
        Conjunct::new(
            "granted-seen",
            "a process that has granted a request has seen its number",
            for_all(
                [P, Q],
                (P.differs(Q) & is_waiting_or_inside(Q) & has_granted.clone())
                    .implies(STAMP.at(Q).at_most(CLOCK.at(P))),
            ),
        ),
        Conjunct::new(
            "granted-precedes",
            "a granted request precedes the request of the process that granted it",
            for_all(
                [P, Q],
                (P.differs(Q) & is_waiting_or_inside(Q) & has_granted & is_waiting_or_inside(P))
                    .implies(precedes(&STAMP.at(Q), Q, &STAMP.at(P), P)),
            ),
        ),
    ]
}

/// Maps a state of the code to a state of the model. The code keeps no request for an idle process,
/// so the model gives an idle process the `STAMP` 0.
fn abstraction(state: &GlobalState) -> Structure {
    let mut structure = Structure::new(state.processes.len() as u32);
    let all: Vec<Value> = (0..state.processes.len() as u32).map(Value::process).collect();
    for (me, process) in all.iter().copied().zip(&state.processes) {
        structure.set(NAME, [me], i64::from(me.index()));
        let Some(process) = process else { continue };
        let process = CheckerJson(process);
        structure.set(CLOCK, [me], process.field("clock").to_int());
        for deferred in process.field("deferred").elements() {
            let (number, asker) = deferred.to_timestamp();
            structure.add_tuple(DEFERRED, [me, asker, number.into()]);
        }
        let phase = process.field("phase");
        if phase.variant_name() == "Idle" {
            continue;
        }
        structure.set(STAMP, [me], phase.field("request").to_timestamp().0);
        let mut granted: Vec<Value> = all.iter().copied().filter(|other| *other != me).collect();
        if phase.variant_name() == "Waiting" {
            structure.add_tuple(WAITING, [me]);
            let awaited: Vec<Value> =
                phase.field("awaited").elements().map(CheckerJson::to_process).collect();
            granted.retain(|other| !awaited.contains(other));
        } else {
            structure.add_tuple(INSIDE, [me]);
        }
        granted.into_iter().for_each(|other| structure.add_tuple(GRANTED, [me, other]));
    }
    for message in &state.messages {
        let [from, to] = [message.from, message.to].map(Value::process);
        let content = CheckerJson(&message.content);
        match content.variant_name() {
            "Request" => {
                let (number, _) = content.field("stamp").to_timestamp();
                structure.add_tuple(REQUEST, [from, to, number.into()]);
            }
            _ => structure.add_tuple(REPLY, [from, to, content.field("to").to_int().into()]),
        }
    }
    structure
}
