//! Leader election of Raft: one leader at a time under drifting clocks, for any number of
//! processes.
//!
//! D. Ongaro, *Consensus: bridging theory and practice*, Stanford 2014, sections 3.10 and 6.4.1.
//! The code is `crates/algorithms/src/election/raft.rs`.
//!
//! A process *claims* the leadership while it leads and its clock has not reached the end of its
//! lease. The claim ends with the lease, even if the timer of the process has not fired. The model
//! assumes that no process is suspended: a leader handles a due timer before it receives a
//! response. A message may be received any number of times, at any time, or never, so losses,
//! duplicates and delays are covered. Processes crash at any time, and keep their term and vote.
//! The numbers of heartbeats do not wrap around.
//!
//! Clocks are those of the module `clocks`. The proof needs one inequality, the margin:
//! `(HEARTBEAT_INTERVAL + LEASE) · FAST ≤ ELECTION · SLOW`.
//!
//! **Handing over.** A leader may resign and ask another process, its heir, to become a candidate.
//! The leader thereby ends its term and all earlier terms: no process claims the leadership in an
//! ended term again. Therefore the heir may become a candidate, and other processes may vote for
//! the heir. Their promise to vote only for the resigned leader no longer matters.
//!
//! A candidate of an ended term never claims the leadership. While it has a lease, it cannot win,
//! because it has no vote of the quorum that elected the resigned leader. If it wins after its
//! lease has ended, it cannot renew the lease.

mod hand_over;
mod invariant;
pub(super) mod terms;

use self::terms::{
    CANDIDATE, COMMON_MEMBER, ELECTED_BY, HAS_VOTED, LEADER, MEMBER, REQUEST_VOTE, TERM, VOTE,
    VOTED_FOR, VOTES_RECEIVED, is_candidate_or_leader, step_down,
};
use super::clocks::{
    CLOCK, FAST, SLOW, bounded_drift, duration, elapse, ends_before, positive_rates, zero,
};
use crate::logic::sort::Sort::{Int, Process, Quorum, Real};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermOperations, for_all, if_then_else};
use crate::logic::variable::Variable;
use crate::model::action::Action;
use crate::model::{Axiom, Model};
use crate::models::{ModelEntry, ModelVariant};

/// True if a process follows a leader, has voted for another process, or has restarted. Such a
/// process votes for no other process before its election timeout.
const FOLLOWER: Symbol = Symbol::relation("follower", &[Process]);
/// Time at which a process's election timeout is due, on its own clock.
const ELECTION_AT: Symbol = Symbol::function("election-at", &[Process], Real);
/// Time at which the lease of a candidate or leader ends, on its own clock.
const LEASE_UNTIL: Symbol = Symbol::function("lease-until", &[Process], Real);
/// Time at which a leader sends its next heartbeat, on its own clock. Until then, it accepts
/// responses to its last heartbeat.
const HEARTBEAT_AT: Symbol = Symbol::function("heartbeat-at", &[Process], Real);
/// Number of a leader's last heartbeat.
const ROUND: Symbol = Symbol::function("round", &[Process], Int);
/// True if the first process has received a response of the second process to its last heartbeat.
/// Meaningful only while the first process leads.
const ANSWERED: Symbol = Symbol::relation("answered", &[Process, Process]);
/// Quorum that elected a leader or last renewed its lease. During the lease, the members of this
/// quorum vote for no other process. Meaningful only while the process leads.
const RENEWED_BY: Symbol = Symbol::function("renewed-by", &[Process], Quorum);
/// True if a heartbeat is in flight. Arguments: leader, term, number.
const HEARTBEAT: Symbol = Symbol::relation("heartbeat", &[Process, Int, Int]);
/// True if a response to a heartbeat is in flight. Arguments: follower, leader, term, number.
const HEARD: Symbol = Symbol::relation("heard", &[Process, Process, Int, Int]);
const HEARTBEAT_INTERVAL: Symbol = Symbol::constant("heartbeat-interval", Real);
const LEASE: Symbol = Symbol::constant("lease", Real);
/// Shortest election timeout.
const ELECTION: Symbol = Symbol::constant("election", Real);

const P: Variable = Variable::process("p");
const Q: Variable = Variable::process("q");
const V: Variable = Variable::process("v");
const T: Variable = Variable::int("t");
const R: Variable = Variable::int("r");
/// Process that takes the step.
const X: Variable = Variable::process("x");
/// Sender of the received message.
const Y: Variable = Variable::process("y");
/// Term in the received message.
const M: Variable = Variable::int("m");
/// Heartbeat number in the received message.
const N: Variable = Variable::int("n");
/// Quorum whose votes or responses a process has received.
const W: Variable = Variable::quorum("w");
/// Random delay from now until the election timeout.
const E: Variable = Variable::real("e");

pub(super) const ENTRY: ModelEntry = ModelEntry {
    name: "raft",
    paper: "Ongaro, Stanford 2014, section 6.4.1",
    property: "one leader at a time under drifting clocks",
    model,
    abstraction: None,
    variants: &[
        // In the model, a process that follows no leader may become a candidate at any time, with
        // or without a pre-vote.
        ModelVariant { name: "pre-vote", is_refuted: false },
        ModelVariant { name: "heedless-pre-vote", is_refuted: false },
        ModelVariant { name: "forgotten-vote", is_refuted: true },
        ModelVariant { name: "no-check-quorum", is_refuted: true },
        ModelVariant { name: "long-lease", is_refuted: true },
    ],
};

/// Durations of an election, and drift of the clocks. All durations have the same unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaftLeaseModelParameters {
    /// Interval between heartbeats.
    pub heartbeat: u64,
    /// Time for which a leader may act after a majority has responded to its heartbeat.
    pub lease: u64,
    /// Shortest election timeout.
    pub election: u64,
    /// Bound on the deviation of each clock's rate from 1, in parts per million.
    pub drift_ppm: u32,
}

impl RaftLeaseModelParameters {
    /// Returns the model of an election with these durations. The model does not assume that a
    /// leader's lease ends before the election timeouts of its followers. If the durations do not
    /// ensure this, the solver refutes the model.
    ///
    /// # Panics
    ///
    /// Panics if a duration is 2⁶³ or more, or if the drift is a million or more.
    pub fn model(&self) -> Model {
        Model { axioms: self.axioms(), ..model(None) }
    }

    fn axioms(&self) -> Vec<Axiom> {
        let [heartbeat, lease, election] =
            [self.heartbeat, self.lease, self.election].map(duration);
        let times =
            HEARTBEAT_INTERVAL.equals(heartbeat) & LEASE.equals(lease) & ELECTION.equals(election);
        let times = Axiom::new("the timeouts have these durations", times);
        vec![terms::quorum_intersection(), bounded_drift(self.drift_ppm), times]
    }
}

fn model(variant: Option<&str>) -> Model {
    let mut actions = actions(variant);
    actions.extend(hand_over::actions());
    Model {
        name: ENTRY.name,
        state_symbols: state(),
        lossy_messages: Vec::new(),
        rigid: vec![MEMBER, COMMON_MEMBER, SLOW, FAST, HEARTBEAT_INTERVAL, LEASE, ELECTION],
        axioms: axioms(variant),
        initial_conditions: terms::initial()
            .into_iter()
            .chain([
                for_all([P], !FOLLOWER.at(P)),
                for_all([P, Q, T, R], !HEARTBEAT.at((P, T, R)) & !HEARD.at((P, Q, T, R))),
                hand_over::initial(),
            ])
            .collect(),
        actions,
        invariant: invariant::invariant(variant),
    }
}

fn state() -> Vec<Symbol> {
    let promises = [
        CLOCK,
        FOLLOWER,
        RENEWED_BY,
        ELECTION_AT,
        LEASE_UNTIL,
        HEARTBEAT_AT,
        ROUND,
        ANSWERED,
        HEARTBEAT,
        HEARD,
    ];
    terms::STATE_SYMBOLS.into_iter().chain(promises).chain(hand_over::STATE_SYMBOLS).collect()
}

/// Returns the axioms about quorums, rates and durations. If `variant` is unsound, the axioms fix
/// the durations to those in the code. The unit is the delay of a message. Otherwise the axioms
/// permit all durations with the required margin.
fn axioms(variant: Option<&str>) -> Vec<Axiom> {
    let is_unsound = ENTRY.variants.iter().any(|it| it.is_refuted && Some(it.name) == variant);
    if is_unsound {
        let lease = if variant == Some("long-lease") { 12 } else { 8 };
        let times =
            RaftLeaseModelParameters { heartbeat: 3, lease, election: 12, drift_ppm: 40_000 };
        return times.axioms();
    }
    let margin = ends_before(HEARTBEAT_INTERVAL.plus(LEASE), ELECTION.constant_term());
    let times = zero().less(HEARTBEAT_INTERVAL) & zero().less(LEASE);
    vec![
        terms::quorum_intersection(),
        positive_rates(),
        Axiom::new("durations are positive", times),
        Axiom::new(
            "the margin: heartbeat and lease at their longest end before the shortest timeout",
            margin,
        ),
    ]
}

/// Returns a formula that is true if the lease of a candidate or leader has not ended. With the
/// variant `no-check-quorum`, the formula is always true.
fn has_lease(process: Variable, variant: Option<&str>) -> Term {
    match variant {
        Some("no-check-quorum") => Term::truth(),
        _ => CLOCK.at(process).less(LEASE_UNTIL.at(process)),
    }
}

/// Returns a formula that is true if a process leads and its lease has not ended.
fn claims(process: Variable, variant: Option<&str>) -> Term {
    LEADER.at(process) & has_lease(process, variant)
}

/// Returns `action` with a further effect: `X` sets its election timer to the random delay [`E`],
/// which is at least [`ELECTION`].
fn with_election_timer(action: Action) -> Action {
    action.when(ELECTION.at_most(E)).set(ELECTION_AT, X, CLOCK.at(X).plus(E))
}

/// Returns `action` with a further effect: `X` becomes a candidate in the next term, with its own
/// vote and a lease.
fn become_candidate(action: Action) -> Action {
    let next = TERM.at(X) + 1;
    with_election_timer(action)
        .set(TERM, X, &next)
        .set(HAS_VOTED, X, true)
        .set(VOTED_FOR, X, X)
        .set(CANDIDATE, X, true)
        .set(LEADER, X, false)
        .set(FOLLOWER, X, false)
        .set(LEASE_UNTIL, X, CLOCK.at(X).plus(LEASE))
        .define(
            VOTES_RECEIVED,
            [P, Q],
            if_then_else(P.equals(X), Q.equals(X), VOTES_RECEIVED.at((P, Q))),
        )
        .add_tuple(REQUEST_VOTE, (Term::from(X), next))
}

/// Returns `action` with a further effect: `X` sends its vote to `Y`. With the vote, `X` promises
/// to vote for no other process before its election timeout.
fn vote(action: Action) -> Action {
    with_election_timer(action)
        .set(HAS_VOTED, X, true)
        .set(VOTED_FOR, X, Y)
        .set(FOLLOWER, X, true)
        .add_tuple(VOTE, (X, Y, M))
}

/// Returns `action` with a further effect: `X` sends a heartbeat that has the number `number`.
/// After this effect, only responses to the new heartbeat are counted. `X` counts as a process that
/// has responded to it.
fn send_heartbeat(action: Action, number: impl Into<Term>) -> Action {
    let number = number.into();
    action
        .set(ROUND, X, &number)
        .set(HEARTBEAT_AT, X, CLOCK.at(X).plus(HEARTBEAT_INTERVAL))
        .define(ANSWERED, [P, Q], if_then_else(P.equals(X), Q.equals(X), ANSWERED.at((P, Q))))
        .add_tuple(HEARTBEAT, (Term::from(X), TERM.at(X), number))
}

fn actions(variant: Option<&str>) -> Vec<Action> {
    let is_due = ELECTION_AT.at(X).at_most(CLOCK.at(X));
    let mut actions = vec![
        elapse(&[]),
        become_candidate(
            Action::new("start-election", [X, E])
                .when(!LEADER.at(X) & (!FOLLOWER.at(X) | is_due.clone())),
        ),
        with_election_timer(Action::new("ask-for-pre-votes", [X, E]))
            .when(FOLLOWER.at(X) & is_due)
            .set(FOLLOWER, X, false),
        terms::adopt_higher_term(),
        vote(Action::new("grant-vote", [X, Y, M, E]).when(
            REQUEST_VOTE.at((Y, M))
                & M.equals(TERM.at(X))
                & X.differs(Y)
                & !is_candidate_or_leader(X)
                & !FOLLOWER.at(X)
                & !HAS_VOTED.at(X),
        )),
        Action::new("count-vote", [X, Y, M])
            .when(VOTE.at((Y, X, M)) & M.equals(TERM.at(X)) & CANDIDATE.at(X))
            .add_tuple(VOTES_RECEIVED, (X, Y)),
        step_down(Action::new("step-down", [X])),
    ];
    actions.extend(leader_actions(variant));
    let crash = step_down(Action::new("crash", [X, E]));
    actions.push(match variant {
        Some("forgotten-vote") => crash.set(HAS_VOTED, X, false).set(FOLLOWER, X, false),
        _ => with_election_timer(crash).set(FOLLOWER, X, true),
    });
    actions
}

fn leader_actions(variant: Option<&str>) -> Vec<Action> {
    let has_all = |relation: Symbol| for_all([V], MEMBER.at((V, W)).implies(relation.at((X, V))));
    // The timer of the next heartbeat is not due.
    let is_in_time = LEADER.at(X) & CLOCK.at(X).less(HEARTBEAT_AT.at(X));
    let is_same_term = M.equals(TERM.at(X));
    let win = Action::new("win", [X, W])
        .when(CANDIDATE.at(X) & has_all(VOTES_RECEIVED))
        .set(CANDIDATE, X, false)
        .set(LEADER, X, true)
        .set(ELECTED_BY, X, W)
        .set(RENEWED_BY, X, W);
    let follow = step_down(Action::new("receive-heartbeat", [X, Y, M, N, E]))
        .when(HEARTBEAT.at((Y, M, N)) & TERM.at(X).at_most(M) & X.differs(Y))
        .set(HAS_VOTED, X, HAS_VOTED.at(X) & is_same_term.clone())
        .set(TERM, X, M)
        .set(FOLLOWER, X, true)
        .add_tuple(HEARD, (X, Y, M, N));
    vec![
        send_heartbeat(win, 1),
        send_heartbeat(Action::new("send-heartbeat", [X]).when(LEADER.at(X)), ROUND.at(X) + 1),
        with_election_timer(follow),
        Action::new("receive-response", [X, Y, M, N])
            .when(HEARD.at((Y, X, M, N)) & is_in_time.clone())
            .when(is_same_term & N.equals(ROUND.at(X)))
            .add_tuple(ANSWERED, (X, Y)),
        Action::new("renew-lease", [X, W])
            .when(is_in_time & has_lease(X, variant) & has_all(ANSWERED))
            .set(RENEWED_BY, X, W)
            .set(LEASE_UNTIL, X, CLOCK.at(X).plus(LEASE)),
    ]
}
