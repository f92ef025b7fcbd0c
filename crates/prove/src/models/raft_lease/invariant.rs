//! Invariant of Raft's leases.

use super::hand_over::{self, LATEST_ENDED_TERM};
use super::terms::{
    self, CANDIDATE, LEADER, MEMBER, REQUEST_VOTE, TERM, VOTE, VOTES_RECEIVED,
    is_candidate_or_leader,
};
use super::{
    ANSWERED, CLOCK, ELECTION_AT, FOLLOWER, HEARD, HEARTBEAT, HEARTBEAT_AT, HEARTBEAT_INTERVAL,
    LEASE, LEASE_UNTIL, P, Q, R, RENEWED_BY, ROUND, T, V, claims, ends_before, has_lease,
};
use crate::logic::term::{Term, TermOperations, for_all};
use crate::logic::variable::Variable;
use crate::model::Conjunct;

pub(super) fn invariant(variant: Option<&str>) -> Vec<Conjunct> {
    let mut conjuncts = vec![Conjunct::new(
        "one-leader-at-a-time",
        "no two processes claim the leadership",
        for_all([P, Q], (claims(P, variant) & claims(Q, variant)).implies(P.equals(Q))),
    )];
    conjuncts.extend(terms::conjuncts());
    conjuncts.extend(hand_over::conjuncts(variant));
    conjuncts.extend(promises(variant));
    conjuncts.extend(deadlines());
    conjuncts.extend(messages());
    conjuncts
}

/// Promise that a process `V` has made to a process `P`: `V` votes for no process except `P`. The
/// lease of `P` relies on this promise.
struct Promise {
    /// Names of the three conjuncts about the promise of `V` to vote only for `P`. The first
    /// conjunct states that the promise lasts as long as the lease of `P`. The second conjunct
    /// states that no process has counted a vote of `V` that breaks the promise. The third conjunct
    /// states that no such vote is in flight.
    names: [&'static str; 3],
    /// Meanings of the three conjuncts in words, in the order of `names`.
    statements: [&'static str; 3],
    /// Condition of all three conjuncts: `V` has made the promise, and the lease of `P` depends on
    /// the promise.
    condition: Term,
    /// Time at which the promise ends, on the clock of `P`.
    until: Term,
}

/// Returns the conjuncts about promises to vote for no other process. Three kinds of processes make
/// such a promise: the voters of a candidate, the members of the quorum on which a leader relies,
/// and the processes that respond to the last heartbeat of a leader.
fn promises(variant: Option<&str>) -> Vec<Conjunct> {
    let has_vote = VOTES_RECEIVED.at((P, V)) | VOTE.at((V, P, TERM.at(P)));
    let has_response = ANSWERED.at((P, V)) | HEARD.at((V, P, TERM.at(P), ROUND.at(P)));
    let is_in_time = CLOCK.at(P).less(HEARTBEAT_AT.at(P));
    let is_candidate = CANDIDATE.at(P) & has_lease(P, variant) & LATEST_ENDED_TERM.less(TERM.at(P));
    let voters = Promise {
        names: ["voters-wait", "voters-voted-once", "voters-send-no-vote"],
        statements: [
            "a process that voted for a candidate grants no other vote during its lease",
            "no later candidate counts the vote of a voter for a candidate with a lease",
            "no vote of such a voter for a later term is in flight",
        ],
        condition: is_candidate & has_vote,
        until: LEASE_UNTIL.at(P),
    };
    let quorum = Promise {
        names: ["quorum-waits", "quorum-voted-once", "quorum-sends-no-vote"],
        statements: [
            "the quorum of a leader grants no vote during its lease",
            "no later candidate counts the vote of a member of a leader's quorum",
            "no vote of a member of this quorum for a later term is in flight",
        ],
        condition: claims(P, variant) & MEMBER.at((V, RENEWED_BY.at(P))),
        until: LEASE_UNTIL.at(P),
    };
    let responders = Promise {
        names: ["responders-wait", "responders-voted-once", "responders-send-no-vote"],
        statements: [
            "a process that responds in time grants no vote during the lease that it may renew",
            "no later candidate counts the vote of a process that responds in time",
            "no vote of such a process for a later term is in flight",
        ],
        condition: claims(P, variant) & is_in_time & has_response,
        until: HEARTBEAT_AT.at(P).plus(LEASE),
    };
    [voters, quorum, responders].into_iter().flat_map(conjuncts_of).collect()
}

fn conjuncts_of(promise: Promise) -> [Conjunct; 3] {
    let Promise { names, statements, condition, until } = promise;
    let remaining = until - CLOCK.at(P);
    let patience = ELECTION_AT.at(V) - CLOCK.at(V);
    let waits = FOLLOWER.at(V) & ends_before(remaining, patience);
    let is_bound = TERM.at(P).at_most(TERM.at(V)) & P.differs(V).implies(waits);
    let is_no_later = |term: Term| term.at_most(TERM.at(P));
    let counted = is_candidate_or_leader(Q) & VOTES_RECEIVED.at((Q, V));
    [
        Conjunct::new(
            names[0],
            statements[0],
            for_all([P, V], condition.clone().implies(is_bound)),
        ),
        Conjunct::new(
            names[1],
            statements[1],
            for_all([P, Q, V], (condition.clone() & counted).implies(is_no_later(TERM.at(Q)))),
        ),
        Conjunct::new(
            names[2],
            statements[2],
            for_all([P, Q, V, T], (condition & VOTE.at((V, Q, T))).implies(is_no_later(T.into()))),
        ),
    ]
}

fn deadlines() -> Vec<Conjunct> {
    vec![
        Conjunct::new(
            "followers",
            "a candidate or leader follows no process",
            for_all([P], !(FOLLOWER.at(P) & is_candidate_or_leader(P))),
        ),
        Conjunct::new(
            "lease-deadline",
            "a lease ends at most its duration ahead",
            for_all(
                [P],
                is_candidate_or_leader(P)
                    .implies(LEASE_UNTIL.at(P).at_most(CLOCK.at(P).plus(LEASE))),
            ),
        ),
        Conjunct::new(
            "heartbeat-deadline",
            "the next heartbeat is at most an interval ahead",
            for_all(
                [P],
                LEADER
                    .at(P)
                    .implies(HEARTBEAT_AT.at(P).at_most(CLOCK.at(P).plus(HEARTBEAT_INTERVAL))),
            ),
        ),
    ]
}

fn messages() -> Vec<Conjunct> {
    // States that no heartbeat has a later term than `leader`. If a heartbeat has the term of
    // `leader`, then `leader` has sent it: its number is at most the number of the last heartbeat.
    let is_sent = |leader: Variable| {
        let is_current =
            !CANDIDATE.at(leader) & LEADER.at(leader).implies(R.at_most(ROUND.at(leader)));
        T.at_most(TERM.at(leader)) & T.equals(TERM.at(leader)).implies(is_current)
    };
    vec![
        Conjunct::new(
            "requests-sent",
            "a request for votes is not of a later term than its sender",
            for_all([P, T], REQUEST_VOTE.at((P, T)).implies(T.at_most(TERM.at(P)))),
        ),
        Conjunct::new(
            "votes-requested",
            "a vote in flight is for another process, which has seen its term",
            for_all([P, V, T], VOTE.at((V, P, T)).implies(T.at_most(TERM.at(P)) & P.differs(V))),
        ),
        Conjunct::new(
            "heartbeats-sent",
            "a heartbeat of the present term has been sent by its leader",
            for_all([P, T, R], HEARTBEAT.at((P, T, R)).implies(is_sent(P))),
        ),
        Conjunct::new(
            "responses-requested",
            "a response in flight answers such a heartbeat of another process",
            for_all([P, V, T, R], HEARD.at((V, P, T, R)).implies(is_sent(P) & P.differs(V))),
        ),
    ]
}
