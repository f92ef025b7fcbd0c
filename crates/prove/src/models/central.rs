//! Central lock: a coordinator grants entries, for any number of processes.
//!
//! Textbooks present this lock first; cf. H. Garcia-Molina, *Elections in a distributed computing
//! system*, IEEE ToC C-31(1), 1982. The code is `crates/algorithms/src/mutex/central.rs`.
//!
//! The receipt of a message does not remove it from the network, so a process may receive a message
//! again. In the model, the queue of the coordinator is a set, and the coordinator may serve any
//! request in the set next. The model thereby covers the order of service in the code. The
//! coordinator serves its own requests by the same actions.

use tenure_check::GlobalState;

use crate::conformance::checker_json::{CheckerJson, live_processes};
use crate::logic::sort::Sort::{Int, Process};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermOperations, exists, for_all};
use crate::logic::variable::Variable;
use crate::model::action::Action;
use crate::model::{Conjunct, Model};
use crate::models::lock::{self, INSIDE, WAITING, is_waiting_or_inside};
use crate::models::{ModelEntry, ModelVariant};
use crate::structure::table::Structure;
use crate::structure::value::Value;

/// Number of requests that a process has made. The last request of the process has this number.
const NUMBER: Symbol = Symbol::function("number", &[Process], Int);
/// True if the coordinator has granted a request and has not received the release. Arguments:
/// process, number.
const HOLDER: Symbol = Symbol::relation("holder", &[Process, Int]);
/// True if a request waits at the coordinator. Arguments: process, number.
const QUEUED: Symbol = Symbol::relation("queued", &[Process, Int]);
/// True if a request is in flight to the coordinator. Arguments: process, number.
const REQUEST: Symbol = Symbol::relation("request", &[Process, Int]);
/// True if a grant is in flight from the coordinator. Arguments: process, number of the request.
const GRANT: Symbol = Symbol::relation("grant", &[Process, Int]);
/// True if a release is in flight to the coordinator. Arguments: process, number of the request.
const RELEASE: Symbol = Symbol::relation("release", &[Process, Int]);

const P: Variable = Variable::process("p");
const Q: Variable = Variable::process("q");
const N: Variable = Variable::int("n");
const O: Variable = Variable::int("o");
/// Process with a request.
const X: Variable = Variable::process("x");
/// Number in the received message.
const M: Variable = Variable::int("m");
/// Process whose request the coordinator grants next. `K` is the number of that request.
const Y: Variable = Variable::process("y");
const K: Variable = Variable::int("k");
/// Number of an earlier request of `X`, which the coordinator has granted. The coordinator now
/// receives a newer request of `X`.
const OLD: Variable = Variable::int("old");

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    name: "central",
    paper: "textbook; cf. Garcia-Molina, IEEE ToC 1982",
    property: "mutual exclusion",
    model,
    abstraction: Some(abstraction),
    variants: &[ModelVariant { name: "untagged-grant", is_refuted: true }],
};

fn model(variant: Option<&str>) -> Model {
    let mut actions = process_actions(variant);
    actions.extend(coordinator_actions());
    Model {
        name: ENTRY.name,
        state_symbols: vec![WAITING, INSIDE, NUMBER, HOLDER, QUEUED, REQUEST, GRANT, RELEASE],
        lossy_messages: vec![REQUEST, GRANT, RELEASE],
        rigid: Vec::new(),
        axioms: Vec::new(),
        initial_conditions: vec![
            for_all([P], !WAITING.at(P) & !INSIDE.at(P) & NUMBER.at(P).equals(0)),
            for_all([P, N], !HOLDER.at((P, N)) & !QUEUED.at((P, N))),
            for_all([P, N], !REQUEST.at((P, N)) & !GRANT.at((P, N)) & !RELEASE.at((P, N))),
        ],
        actions,
        invariant: invariant(),
    }
}

fn process_actions(variant: Option<&str>) -> Vec<Action> {
    let next = NUMBER.at(X) + 1;
    let is_present = M.equals(NUMBER.at(X));
    let enter = Action::new("enter", [X, M]).when(GRANT.at((X, M)) & WAITING.at(X));
    let enter = match variant {
        Some("untagged-grant") => enter,
        _ => enter.when(is_present.clone()),
    };
    vec![
        Action::new("request", [X])
            .when(!is_waiting_or_inside(X))
            .set(WAITING, X, true)
            .set(NUMBER, X, &next)
            .add_tuple(REQUEST, (Term::from(X), next)),
        enter.set(WAITING, X, false).set(INSIDE, X, true),
        Action::new("return-late-grant", [X, M])
            .when(GRANT.at((X, M)) & !(is_present & is_waiting_or_inside(X)))
            .add_tuple(RELEASE, (X, M)),
        Action::new("exit", [X])
            .when(INSIDE.at(X))
            .set(INSIDE, X, false)
            .add_tuple(RELEASE, (Term::from(X), NUMBER.at(X))),
    ]
}

fn coordinator_actions() -> Vec<Action> {
    let is_held = exists([P, N], HOLDER.at((P, N)));
    // The request is newer than all requests of its process that the coordinator knows.
    let is_new = for_all([N], (HOLDER.at((X, N)) | QUEUED.at((X, N))).implies(N.less(M)));
    let is_receipt = REQUEST.at((X, M)) & is_new;
    // The new request of `X` replaces an older request of `X` in the queue.
    let is_waiting = (QUEUED.at((P, N)) & P.differs(X)) | (P.equals(X) & N.equals(M));
    let is_next = P.equals(Y) & N.equals(K);
    let grants_next =
        |action: Action| action.define(HOLDER, [P, N], is_next.clone()).add_tuple(GRANT, (Y, K));
    let is_returned = RELEASE.at((X, M)) & HOLDER.at((X, M));
    vec![
        Action::new("grant-request", [X, M])
            .when(is_receipt.clone() & !is_held)
            .add_tuple(HOLDER, (X, M))
            .add_tuple(GRANT, (X, M)),
        Action::new("queue-request", [X, M, Y, K])
            .when(is_receipt.clone() & HOLDER.at((Y, K)) & Y.differs(X))
            .define(QUEUED, [P, N], is_waiting.clone()),
        // A newer request of the holder shows that the holder has exited, although its release has
        // not arrived.
        grants_next(
            Action::new("replace-holder", [X, M, OLD, Y, K])
                .when(is_receipt & HOLDER.at((X, OLD)))
                .when((QUEUED.at((Y, K)) & Y.differs(X)) | (Y.equals(X) & K.equals(M)))
                .define(QUEUED, [P, N], is_waiting & !is_next.clone()),
        ),
        grants_next(
            Action::new("grant-after-release", [X, M, Y, K])
                .when(is_returned.clone() & QUEUED.at((Y, K)))
                .remove_tuple(QUEUED, (Y, K)),
        ),
        Action::new("become-free", [X, M])
            .when(is_returned & !exists([P, N], QUEUED.at((P, N))))
            .remove_tuple(HOLDER, (X, M)),
        Action::new("withdraw-queued", [X, M])
            .when(RELEASE.at((X, M)) & QUEUED.at((X, M)))
            .remove_tuple(QUEUED, (X, M)),
    ]
}

fn invariant() -> Vec<Conjunct> {
    let is_past = N.at_most(NUMBER.at(P));
    vec![
        lock::mutual_exclusion(),
        lock::disjoint_phases(),
        Conjunct::new(
            "inside-granted",
            "the coordinator has granted the request of a process inside",
            for_all([P], INSIDE.at(P).implies(HOLDER.at((Term::from(P), NUMBER.at(P))))),
        ),
        Conjunct::new(
            "one-grant",
            "the coordinator grants one request at a time",
            for_all(
                [P, Q, N, O],
                (HOLDER.at((P, N)) & HOLDER.at((Q, O))).implies(P.equals(Q) & N.equals(O)),
            ),
        ),
        Conjunct::new(
            "grant-present",
            "an awaited grant in flight was not released",
            for_all(
                [P],
                (WAITING.at(P) & GRANT.at((Term::from(P), NUMBER.at(P))))
                    .implies(HOLDER.at((Term::from(P), NUMBER.at(P)))),
            ),
        ),
        Conjunct::new(
            "release-over",
            "a released request is over",
            for_all(
                [P, N],
                RELEASE.at((P, N)).implies(
                    is_past.clone() & is_waiting_or_inside(P).implies(N.less(NUMBER.at(P))),
                ),
            ),
        ),
        Conjunct::new(
            "request-past",
            "a request in flight was made",
            for_all([P, N], REQUEST.at((P, N)).implies(is_past.clone())),
        ),
        Conjunct::new(
            "queued-past",
            "a queued request was made",
            for_all([P, N], QUEUED.at((P, N)).implies(is_past.clone())),
        ),
        Conjunct::new(
            "granted-past",
            "a granted request was made",
            for_all([P, N], (HOLDER.at((P, N)) | GRANT.at((P, N))).implies(is_past)),
        ),
    ]
}

fn abstraction(state: &GlobalState) -> Structure {
    let mut structure = Structure::new(state.processes.len() as u32);
    for (me, process) in live_processes(state) {
        let process = CheckerJson(process);
        structure.set(NUMBER, [me], process.field("requests").to_int());
        match process.field("phase").variant_name() {
            "Waiting" => structure.add_tuple(WAITING, [me]),
            "Inside" => structure.add_tuple(INSIDE, [me]),
            _ => {}
        }
        let grants = process.field("grants");
        let claim = |claim: CheckerJson<'_>| {
            let number = claim.field("ticket").field("number").to_int();
            [claim.field("process").to_process(), number.into()]
        };
        if !grants.field("holder").is_none() {
            structure.add_tuple(HOLDER, claim(grants.field("holder")));
        }
        for waiting in grants.field("queue").elements() {
            structure.add_tuple(QUEUED, claim(waiting));
        }
    }
    for message in &state.messages {
        let content = CheckerJson(&message.content);
        let number: Value = content.field("number").to_int().into();
        let [from, to] = [message.from, message.to].map(Value::process);
        match content.variant_name() {
            "Request" => structure.add_tuple(REQUEST, [from, number]),
            "Grant" => structure.add_tuple(GRANT, [to, number]),
            _ => structure.add_tuple(RELEASE, [from, number]),
        }
    }
    structure
}
