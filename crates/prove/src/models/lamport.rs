//! Lamport's mutual exclusion with a replicated queue, for any number of processes.
//!
//! L. Lamport, *Time, clocks, and the ordering of events in a distributed system*, CACM 21(7),
//! 1978. The code is `crates/algorithms/src/mutex/lamport.rs`.
//!
//! Links keep the order of messages, and each message on a link carries a higher clock reading than
//! the message before it. Therefore, the first message on a link has the least clock reading.

use tenure_check::GlobalState;

use crate::conformance::checker_json::{CheckerJson, live_processes};
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

/// Clock reading of a process's present request. 0 without a request.
const STAMP: Symbol = Symbol::function("stamp", &[Process], Int);
const CLOCK: Symbol = Symbol::function("clock", &[Process], Int);
/// True if the first process still waits for the second process. The wait ends when the first
/// process receives a reply of the second process that is later than its own request. In the
/// variant `any-message`, any later message of the second process ends the wait.
const AWAITED: Symbol = Symbol::relation("awaited", &[Process, Process]);
/// True if a request is in the queue of a process. Arguments: process with the queue, process with
/// the request, clock reading.
const QUEUED: Symbol = Symbol::relation("queued", &[Process, Process, Int]);
/// True if a request is in flight. Arguments: sender, receiver, clock reading.
const REQUEST: Symbol = Symbol::relation("request", &[Process, Process, Int]);
/// True if a reply is in flight. Arguments: sender, receiver, clock reading.
const REPLY: Symbol = Symbol::relation("reply", &[Process, Process, Int]);
/// True if a release is in flight. Arguments: sender, receiver, clock reading, clock reading of the
/// released request.
const RELEASE: Symbol = Symbol::relation("release", &[Process, Process, Int, Int]);

const P: Variable = Variable::process("p");
const Q: Variable = Variable::process("q");
const C: Variable = Variable::int("c");
const R: Variable = Variable::int("r");
/// Process that takes the step.
const X: Variable = Variable::process("x");
/// Sender of the received message.
const Y: Variable = Variable::process("y");
/// Clock reading of the received message.
const M: Variable = Variable::int("m");
/// Clock reading of the released request.
const K: Variable = Variable::int("k");

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    name: "lamport",
    paper: "Lamport, CACM 21(7), 1978",
    property: "mutual exclusion",
    model,
    abstraction: Some(abstraction),
    variants: &[
        ModelVariant { name: "own-request-on-top", is_refuted: true },
        ModelVariant { name: "reply-from-all", is_refuted: true },
        ModelVariant { name: "any-message", is_refuted: false },
    ],
};

/// Returns a formula that is true if one request precedes another request. `process` has made the
/// first request, with the clock reading `stamp`. `other` has made the second request, with the
/// clock reading `other_stamp`.
fn precedes(
    stamp: impl Into<Term>,
    process: Variable,
    other_stamp: impl Into<Term>,
    other: Variable,
) -> Term {
    let (stamp, other_stamp) = (stamp.into(), other_stamp.into());
    let is_tie = stamp.clone().equals(&other_stamp);
    stamp.less(other_stamp) | (is_tie & NAME.at(process).less(NAME.at(other)))
}

fn model(variant: Option<&str>) -> Model {
    Model {
        name: ENTRY.name,
        state_symbols: vec![
            WAITING, INSIDE, STAMP, CLOCK, AWAITED, QUEUED, REQUEST, REPLY, RELEASE,
        ],
        lossy_messages: Vec::new(),
        rigid: vec![NAME],
        axioms: vec![lock::distinct_names()],
        initial_conditions: vec![
            for_all([P], !WAITING.at(P) & !INSIDE.at(P)),
            for_all([P], CLOCK.at(P).equals(0) & STAMP.at(P).equals(0)),
            for_all([P, Q, C], !QUEUED.at((P, Q, C)) & !REQUEST.at((P, Q, C))),
            for_all([P, Q, C, R], !REPLY.at((P, Q, C)) & !RELEASE.at((P, Q, C, R))),
        ],
        actions: actions(variant),
        invariant: invariant(),
    }
}

/// Returns a formula that is true if the received message is the first on its link. The message is
/// the first if no other message on the link has a lower clock reading.
fn is_first() -> Term {
    for_all([C], (REQUEST.at((Y, X, C)) | REPLY.at((Y, X, C))).implies(M.at_most(C)))
        & for_all([C, R], RELEASE.at((Y, X, C, R)).implies(M.at_most(C)))
}

fn actions(variant: Option<&str>) -> Vec<Action> {
    let next = CLOCK.at(X) + 1;
    let received = if_then_else(CLOCK.at(X).less(M), M, CLOCK.at(X)) + 1;
    let replied = received.clone() + 1;
    let is_later = precedes(STAMP.at(X), X, M, Y);
    // If the received message is later than the request of `X`, `X` no longer waits for the sender
    // of the message.
    let not_awaited = |action: Action| {
        let is_answered = P.equals(X) & Q.equals(Y) & WAITING.at(X) & is_later.clone();
        action.define(AWAITED, [P, Q], AWAITED.at((P, Q)) & !is_answered)
    };
    let counts_all = variant == Some("any-message");
    let receive_request = Action::new("receive-request", [X, Y, M])
        .when(REQUEST.at((Y, X, M)) & is_first())
        .set(CLOCK, X, &replied)
        .add_tuple(QUEUED, (X, Y, M))
        .remove_tuple(REQUEST, (Y, X, M))
        .add_tuple(REPLY, (Term::from(X), Y, replied));
    let receive_reply = Action::new("receive-reply", [X, Y, M])
        .when(REPLY.at((Y, X, M)) & is_first())
        .set(CLOCK, X, &received)
        .remove_tuple(REPLY, (Y, X, M));
    let receive_release = Action::new("receive-release", [X, Y, M, K])
        .when(RELEASE.at((Y, X, M, K)) & is_first())
        .set(CLOCK, X, received)
        .remove_tuple(RELEASE, (Y, X, M, K))
        .remove_tuple(QUEUED, (X, Y, K));
    let has_all_replies = for_all([Q], Q.differs(X).implies(!AWAITED.at((X, Q))));
    let is_on_top = for_all([Q, C], QUEUED.at((X, Q, C)).implies(precedes(STAMP.at(X), X, C, Q)));
    let enter = Action::new("enter", [X]).when(WAITING.at(X));
    let enter = match variant {
        Some("own-request-on-top") => enter.when(is_on_top),
        Some("reply-from-all") => enter.when(has_all_replies),
        _ => enter.when(has_all_replies).when(is_on_top),
    };
    let is_sent = P.equals(X) & Q.differs(X) & C.equals(&next);
    vec![
        Action::new("request", [X])
            .when(!is_waiting_or_inside(X))
            .set(WAITING, X, true)
            .set(STAMP, X, &next)
            .set(CLOCK, X, &next)
            .define(AWAITED, [P, Q], if_then_else(P.equals(X), Q.differs(X), AWAITED.at((P, Q))))
            .define(REQUEST, [P, Q, C], REQUEST.at((P, Q, C)) | is_sent.clone()),
        if counts_all { not_awaited(receive_request) } else { receive_request },
        not_awaited(receive_reply),
        if counts_all { not_awaited(receive_release) } else { receive_release },
        enter.set(WAITING, X, false).set(INSIDE, X, true),
        Action::new("exit", [X])
            .when(INSIDE.at(X))
            .set(INSIDE, X, false)
            .set(STAMP, X, 0)
            .set(CLOCK, X, next)
            .define(
                RELEASE,
                [P, Q, C, R],
                RELEASE.at((P, Q, C, R)) | (is_sent & R.equals(STAMP.at(X))),
            ),
        Action::new("observe-clock", [X, M]).when(CLOCK.at(X).less(M)).set(CLOCK, X, M),
    ]
}

fn invariant() -> Vec<Conjunct> {
    let mut conjuncts = processes();
    conjuncts.extend(order());
    conjuncts.extend(messages());
    conjuncts
}

fn processes() -> Vec<Conjunct> {
    vec![
        lock::mutual_exclusion(),
        lock::disjoint_phases(),
        Conjunct::new(
            "request-known",
            "a request is in flight to each other process, or in its queue",
            for_all(
                [P, Q],
                (is_waiting_or_inside(P) & P.differs(Q))
                    .implies(REQUEST.at((P, Q, STAMP.at(P))) | QUEUED.at((Q, P, STAMP.at(P)))),
            ),
        ),
    ]
}

fn order() -> Vec<Conjunct> {
    // p has a request, and has received a later message from q.
    let heard = is_waiting_or_inside(P) & P.differs(Q) & !(WAITING.at(P) & AWAITED.at((P, Q)));
    let later = |clock: Term| precedes(STAMP.at(P), P, clock, Q);
    vec![
        Conjunct::new(
            "later-request",
            "after a later message of q, a request of q in flight is later",
            for_all([P, Q, C], (heard.clone() & REQUEST.at((Q, P, C))).implies(later(C.into()))),
        ),
        Conjunct::new(
            "later-reply",
            "after a later message of q, a reply of q in flight is later",
            for_all([P, Q, C], (heard.clone() & REPLY.at((Q, P, C))).implies(later(C.into()))),
        ),
        Conjunct::new(
            "later-release",
            "after a later message of q, a release of q in flight is later",
            for_all(
                [P, Q, C, R],
                (heard.clone() & RELEASE.at((Q, P, C, R))).implies(later(C.into())),
            ),
        ),
        Conjunct::new(
            "later-clock",
            "after a later message of q, the next request of q is later",
            for_all([P, Q], heard.implies(later(CLOCK.at(Q) + 1))),
        ),
        Conjunct::new(
            "on-top",
            "the request of a process inside precedes all requests in its queue",
            for_all([P, Q, C], (INSIDE.at(P) & QUEUED.at((P, Q, C))).implies(later(C.into()))),
        ),
    ]
}

fn messages() -> Vec<Conjunct> {
    let is_past = C.at_most(CLOCK.at(P)) & P.differs(Q);
    vec![
        Conjunct::new(
            "past-request",
            "a request in flight has a past clock reading",
            for_all([P, Q, C], REQUEST.at((P, Q, C)).implies(is_past.clone())),
        ),
        Conjunct::new(
            "past-reply",
            "a reply in flight has a past clock reading",
            for_all([P, Q, C], REPLY.at((P, Q, C)).implies(is_past.clone())),
        ),
        Conjunct::new(
            "past-release",
            "a release in flight has a past clock reading",
            for_all([P, Q, C, R], RELEASE.at((P, Q, C, R)).implies(is_past)),
        ),
        Conjunct::new(
            "released-over",
            "a released request is not the present one",
            for_all(
                [P, Q, C, R],
                RELEASE.at((P, Q, C, R)).implies(
                    R.at_most(CLOCK.at(P)) & is_waiting_or_inside(P).implies(R.less(STAMP.at(P))),
                ),
            ),
        ),
        Conjunct::new(
            "clock-own",
            "the clock of a process is at least that of its request",
            for_all([P], is_waiting_or_inside(P).implies(STAMP.at(P).at_most(CLOCK.at(P)))),
        ),
    ]
}

/// Maps a state of the code to a state of the model. The code keeps no request for an idle process,
/// so the process has the `STAMP` 0.
fn abstraction(state: &GlobalState) -> Structure {
    let mut structure = Structure::new(state.processes.len() as u32);
    for (me, process) in live_processes(state) {
        let process = CheckerJson(process);
        structure.set(NAME, [me], i64::from(me.index()));
        structure.set(CLOCK, [me], process.field("clock").to_int());
        for request in process.field("requests").elements() {
            let (clock, of) = request.to_timestamp();
            structure.add_tuple(QUEUED, [me, of, clock.into()]);
        }
        let phase = process.field("phase");
        if phase.variant_name() == "Idle" {
            continue;
        }
        structure.set(STAMP, [me], phase.field("request").to_timestamp().0);
        if phase.variant_name() == "Inside" {
            structure.add_tuple(INSIDE, [me]);
            continue;
        }
        structure.add_tuple(WAITING, [me]);
        for other in phase.field("awaited").elements() {
            structure.add_tuple(AWAITED, [me, other.to_process()]);
        }
    }
    for message in &state.messages {
        let [from, to] = [message.from, message.to].map(Value::process);
        let content = CheckerJson(&message.content);
        match content.variant_name() {
            "Request" => {
                let (clock, _) = content.field("stamp").to_timestamp();
                structure.add_tuple(REQUEST, [from, to, clock.into()]);
            }
            "Reply" => {
                structure.add_tuple(REPLY, [from, to, content.field("clock").to_int().into()])
            }
            _ => {
                let clock = content.field("clock").to_int();
                let (request, _) = content.field("request").to_timestamp();
                structure.add_tuple(RELEASE, [from, to, clock.into(), request.into()]);
            }
        }
    }
    structure
}
