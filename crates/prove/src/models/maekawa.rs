//! Maekawa's mutual exclusion with quorums, for any number of processes and any quorums that
//! intersect.
//!
//! M. Maekawa, *A √N algorithm for mutual exclusion in decentralized systems*, ACM TOCS 3(2), 1985.
//! The code is `crates/algorithms/src/mutex/maekawa.rs`.

use std::collections::BTreeSet;

use tenure_check::GlobalState;

use crate::conformance::shown_value::{ShownValue, named_processes};
use crate::logic::sort::Sort::Quorum;
use crate::logic::term::{Operations, Term, for_all};
use crate::model::action::Action;
use crate::model::{Conjunct, Model};
use crate::models::ModelEntry;
use crate::models::lock::is_active;
use crate::models::votes::mapping;
use crate::models::votes::{
    self, COMMON, LOCKED, MEMBER, NUMBER, P, QUORUM, RELEASE, RELINQUISH, REQUEST, STAMP, V, X,
    awaits_or_has, has_voted_for,
};
use crate::structure::table::Structure;
use crate::structure::value::Value;

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    name: "maekawa",
    paper: "Maekawa, ACM TOCS 3(2), 1985",
    property: "mutual exclusion",
    model,
    abstraction: Some(abstraction),
    variants: &[],
};

fn model(_: Option<&str>) -> Model {
    let always = Term::truth();
    let request = Action::new("request", [X]).when(!is_active(X));
    let mut actions =
        vec![votes::request_votes(request, QUORUM.at(X)), votes::enter(always.clone())];
    actions.extend(votes::process_actions(&always));
    actions.extend(votes::voter_actions(&always, |_| Term::truth()));
    let is_down = |_: &Term| Term::falsehood();
    let mut invariant = votes::vote_conjuncts(&is_down);
    invariant.push(Conjunct::new(
        "vote-given",
        "a vote that a process has or that is on its way was given to its present request",
        for_all(
            [P, V],
            awaits_or_has(P).implies(has_voted_for(V, P, STAMP.at(P), NUMBER.at((P, V)))),
        ),
    ));
    invariant.extend(votes::message_conjuncts(&is_down));
    Model {
        name: ENTRY.name,
        state: votes::STATE.to_vec(),
        messages: vec![REQUEST, LOCKED, RELINQUISH, RELEASE],
        rigid: vec![QUORUM, MEMBER, COMMON],
        axioms: vec![votes::quorum_intersection()],
        initial: votes::initial(),
        actions,
        invariant,
    }
}

fn abstraction(state: &GlobalState) -> Structure {
    let mut structure = Structure::new(state.processes.len() as u32);
    let mut quorums: Vec<BTreeSet<Value>> = Vec::new();
    for (index, (me, process)) in (0..).zip(named_processes(state)) {
        let process = ShownValue(process);
        quorums.push(process.field("quorum").elements().map(ShownValue::to_process).collect());
        structure.set(QUORUM, [me], Value::Element(Quorum, index));
        mapping::add_process(&mut structure, me, process);
    }
    mapping::add_quorums(&mut structure, &quorums);
    for message in &state.messages {
        let link = [message.from, message.to].map(Value::process);
        mapping::add_message(&mut structure, link, ShownValue(&message.content));
    }
    structure
}
