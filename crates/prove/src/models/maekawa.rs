//! Maekawa's mutual exclusion with quorums, for any number of processes and any quorums that
//! intersect.
//!
//! M. Maekawa, *A √N algorithm for mutual exclusion in decentralized systems*, ACM TOCS 3(2), 1985.
//! The code is `crates/algorithms/src/mutex/maekawa.rs`.

use std::collections::BTreeSet;

use tenure_check::GlobalState;

use crate::conformance::checker_json::{CheckerJson, live_processes};
use crate::logic::sort::Sort::Quorum;
use crate::logic::term::{Term, TermOperations, for_all};
use crate::model::action::Action;
use crate::model::{Conjunct, Model};
use crate::models::ModelEntry;
use crate::models::lock::is_waiting_or_inside;
use crate::models::votes::mapping;
use crate::models::votes::{
    self, COMMON_MEMBER, LOCKED, MEMBER, P, QUORUM, RELEASE, RELINQUISH, REQUEST, REQUESTER, STAMP,
    V, VOTE_NUMBER, has_voted_for, is_vote_sent_to,
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
    let request = Action::new("request", [REQUESTER]).when(!is_waiting_or_inside(REQUESTER));
    let mut actions =
        vec![votes::request_votes(request, QUORUM.at(REQUESTER)), votes::enter(always.clone())];
    actions.extend(votes::requester_actions(&always));
    actions.extend(votes::voter_actions(&always, |_| Term::truth()));
    let is_down = |_: &Term| Term::falsehood();
    let mut invariant = votes::vote_conjuncts(&is_down);
    invariant.push(Conjunct::new(
        "vote-given",
        "a vote that a process has or that is on its way was given to its present request",
        for_all(
            [P, V],
            is_vote_sent_to(P).implies(has_voted_for(V, P, STAMP.at(P), VOTE_NUMBER.at((P, V)))),
        ),
    ));
    invariant.extend(votes::message_conjuncts(&is_down));
    Model {
        name: ENTRY.name,
        state_symbols: votes::STATE_SYMBOLS.to_vec(),
        lossy_messages: vec![REQUEST, LOCKED, RELINQUISH, RELEASE],
        rigid: vec![QUORUM, MEMBER, COMMON_MEMBER],
        axioms: vec![votes::quorum_intersection()],
        initial_conditions: votes::initial(),
        actions,
        invariant,
    }
}

fn abstraction(state: &GlobalState) -> Structure {
    let mut structure = Structure::new(state.processes.len() as u32);
    let mut quorums: Vec<BTreeSet<Value>> = Vec::new();
    for (index, (me, process)) in (0..).zip(live_processes(state)) {
        let process = CheckerJson(process);
        quorums.push(process.field("quorum").elements().map(CheckerJson::to_process).collect());
        structure.set(QUORUM, [me], Value::Element(Quorum, index));
        mapping::add_process(&mut structure, me, process);
    }
    mapping::add_quorums(&mut structure, &quorums);
    for message in &state.messages {
        let link = [message.from, message.to].map(Value::process);
        mapping::add_message(&mut structure, link, CheckerJson(&message.content));
    }
    structure
}
