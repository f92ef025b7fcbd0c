//! Maps a state of the implementation to the relations and functions of the model of votes.

use std::collections::BTreeSet;

use super::{
    CANDIDATE, CLOCK, COMMON_MEMBER, HAS_VOTE, HAS_VOTED, LOCKED, MEMBER, QUEUED, RELEASE,
    RELINQUISH, REQUEST, STAMP, VOTE_NUMBER, VOTED_NUMBER, VOTED_STAMP,
};
use crate::conformance::checker_json::CheckerJson;
use crate::logic::sort::Sort::{Process, Quorum};
use crate::models::lock::{INSIDE, WAITING};
use crate::structure::table::Structure;
use crate::structure::value::Value;

/// Adds `quorums` to `structure`, and a common voter for each pair of quorums.
///
/// # Panics
///
/// Panics if two quorums have no common voter.
pub(in crate::models) fn add_quorums(structure: &mut Structure, quorums: &[BTreeSet<Value>]) {
    structure.set_size(Quorum, quorums.len() as u32);
    let all: Vec<Value> = structure.elements(Quorum).collect();
    for (quorum, voters) in all.iter().zip(quorums) {
        voters.iter().for_each(|voter| structure.add_tuple(MEMBER, [*voter, *quorum]));
        for (other, others) in all.iter().zip(quorums) {
            let common = voters.intersection(others).next().expect("quorums intersect");
            structure.set(COMMON_MEMBER, [*quorum, *other], *common);
        }
    }
}

/// Returns the quorum of a process's present request. `None` if the process has no request.
pub(in crate::models) fn current_quorum(process: CheckerJson<'_>) -> Option<BTreeSet<Value>> {
    let phase = process.field("phase");
    Some(match phase.variant_name() {
        "Waiting" => {
            let candidate = phase.field("Waiting");
            candidate.field("answers").elements().map(|it| it.field("voter").to_process()).collect()
        }
        "Inside" => phase.field("votes").elements().map(|it| vote(it).0).collect(),
        _ => return None,
    })
}

/// Adds to `structure` the state of the process `me`, with its vote.
pub(in crate::models) fn add_process(
    structure: &mut Structure,
    me: Value,
    process: CheckerJson<'_>,
) {
    structure.set(CLOCK, [me], process.field("clock").to_int());
    let phase = process.field("phase");
    if phase.variant_name() != "Idle" {
        // At first, sets all vote numbers to 1. Only voters that were asked for a vote may have
        // another number, which is set below.
        let others: Vec<Value> = structure.elements(Process).collect();
        others.into_iter().for_each(|other| structure.set(VOTE_NUMBER, [me, other], 1));
    }
    match phase.variant_name() {
        "Waiting" => {
            let candidate = phase.field("Waiting");
            structure.add_tuple(WAITING, [me]);
            structure.set(STAMP, [me], candidate.field("request").to_timestamp().0);
            for answer in candidate.field("answers").elements() {
                let voter = answer.field("voter").to_process();
                structure.set(VOTE_NUMBER, [me, voter], answer.field("number").to_int());
                if let "Locked" | "Inquired" = answer.field("state").variant_name() {
                    structure.add_tuple(HAS_VOTE, [me, voter]);
                }
            }
        }
        "Inside" => {
            structure.add_tuple(INSIDE, [me]);
            structure.set(STAMP, [me], phase.field("request").to_timestamp().0);
            for (voter, ballot) in phase.field("votes").elements().map(vote) {
                structure.add_tuple(HAS_VOTE, [me, voter]);
                structure.set(VOTE_NUMBER, [me, voter], ballot.field("number").to_int());
            }
        }
        _ => {}
    }
    let voter = process.field("voter");
    structure.set(CANDIDATE, [me], me);
    let lock = voter.field("lock");
    if lock.variant_name() == "Locked" {
        let [candidate, stamp, number] = ballot(lock.field("Locked"));
        structure.add_tuple(HAS_VOTED, [me]);
        structure.set(CANDIDATE, [me], candidate);
        structure.set(VOTED_STAMP, [me], stamp);
        structure.set(VOTED_NUMBER, [me], number);
    }
    for waiting in voter.field("waiting").elements() {
        let [candidate, stamp, number] = ballot(waiting);
        structure.add_tuple(QUEUED, [me, candidate, stamp, number]);
    }
}

/// Adds a message in flight to `structure`. Ignores failure and inquiry messages, which the model
/// does not have.
pub(in crate::models) fn add_message(
    structure: &mut Structure,
    [from, to]: [Value; 2],
    content: CheckerJson<'_>,
) {
    let relation = match content.variant_name() {
        "Request" => {
            let (stamp, _) = content.field("stamp").to_timestamp();
            return structure.add_tuple(REQUEST, [from, to, stamp.into()]);
        }
        "Locked" => LOCKED,
        "Relinquish" => RELINQUISH,
        "Release" => RELEASE,
        _ => return,
    };
    let [_, stamp, number] = ballot(content.field("ballot"));
    structure.add_tuple(relation, [from, to, stamp, number]);
}

fn vote(pair: CheckerJson<'_>) -> (Value, CheckerJson<'_>) {
    let mut parts = pair.elements();
    let mut next = || parts.next().expect("a pair has two parts");
    (next().to_process(), next())
}

/// Returns the process, time stamp and number of a vote.
fn ballot(ballot: CheckerJson<'_>) -> [Value; 3] {
    let (stamp, process) = ballot.field("request").to_timestamp();
    [process, stamp.into(), ballot.field("number").to_int().into()]
}
