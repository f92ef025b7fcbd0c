//! Leader election of Raft: one leader per term, for any number of processes.
//!
//! D. Ongaro, J. Ousterhout, *In search of an understandable consensus algorithm*, USENIX ATC 2014,
//! section 5.2. The code is `crates/algorithms/src/election/raft.rs`.
//!
//! Processes crash at any time, and keep their term and vote. The receipt of a message does not
//! remove it from the network, so a process may receive a message again. A leader forgets the votes
//! that elected it, as in the code. Nevertheless, no other process can win an election in that
//! term. Each quorum has a member that voted for the leader in that term. This member does not vote
//! for another process in the same term.
//!
//! `tenure prove` does not compare the code with this model. The code has too many states, because
//! timers fire at any time. Instead, a test compares the states of two processes in the first term.

use crate::logic::sort::Sort::Int;
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermOperations, exists, for_all, if_then_else};
use crate::logic::variable::Variable;
use crate::model::action::Action;
use crate::model::{Conjunct, Model};
use crate::models::raft_lease::terms::{
    self, CANDIDATE, COMMON_MEMBER, HAS_VOTED, LEADER, MEMBER, REQUEST_VOTE, TERM, VOTE, VOTED_FOR,
    VOTES_RECEIVED, is_candidate_or_leader,
};
use crate::models::{ModelEntry, ModelVariant};

/// True if some message in flight contains a term. Argument: the term.
const MENTIONED: Symbol = Symbol::relation("mentioned", &[Int]);

const P: Variable = Variable::process("p");
const Q: Variable = Variable::process("q");
const V: Variable = Variable::process("v");
const A: Variable = Variable::quorum("a");
const T: Variable = Variable::int("t");
/// Process that takes the step.
const X: Variable = Variable::process("x");
/// Sender of the received message.
const Y: Variable = Variable::process("y");
/// Term in the received message.
const M: Variable = Variable::int("m");
/// Quorum that elects a candidate: the candidate has received the vote of each member.
const W: Variable = Variable::quorum("w");

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    name: "raft",
    paper: "Ongaro & Ousterhout, USENIX ATC 2014, section 5.2",
    property: "one leader per term",
    model,
    abstraction: None,
    variants: &[ModelVariant { name: "forgotten-vote", is_refuted: true }],
};

fn model(variant: Option<&str>) -> Model {
    Model {
        name: ENTRY.name,
        state_symbols: vec![
            TERM,
            HAS_VOTED,
            VOTED_FOR,
            CANDIDATE,
            LEADER,
            VOTES_RECEIVED,
            REQUEST_VOTE,
            VOTE,
            MENTIONED,
        ],
        lossy_messages: vec![REQUEST_VOTE, VOTE, MENTIONED],
        rigid: vec![MEMBER, COMMON_MEMBER],
        axioms: vec![terms::quorum_intersection()],
        initial_conditions: vec![
            for_all([P], TERM.at(P).equals(0) & !CANDIDATE.at(P) & !LEADER.at(P)),
            // By convention, `VOTED_FOR` of a process that has not voted is the process itself.
            for_all([P], !HAS_VOTED.at(P) & VOTED_FOR.at(P).equals(P)),
            for_all([P, Q], !VOTES_RECEIVED.at((P, Q))),
            for_all([P, Q, T], !VOTE.at((P, Q, T)) & !REQUEST_VOTE.at((P, T))),
            for_all([T], !MENTIONED.at(T)),
        ],
        actions: actions(variant),
        invariant: invariant(),
    }
}

/// Returns `action` with a further effect: `X` drops the votes that it has received.
fn forget_votes(action: Action) -> Action {
    action.define(VOTES_RECEIVED, [P, Q], VOTES_RECEIVED.at((P, Q)) & P.differs(X))
}

/// Returns `action` with a further effect: `X` records its vote for `candidate` in its term.
fn vote_for(action: Action, candidate: Variable) -> Action {
    action.set(HAS_VOTED, X, true).set(VOTED_FOR, X, candidate)
}

/// Returns `action` with a further effect: `X` has not voted in its term. By convention,
/// `VOTED_FOR` of a process that has not voted is the process itself.
fn forget_vote(action: Action) -> Action {
    action.set(HAS_VOTED, X, false).set(VOTED_FOR, X, X)
}

fn has_voted_for(voter: Variable, candidate: Variable) -> Term {
    HAS_VOTED.at(voter) & VOTED_FOR.at(voter).equals(candidate)
}

fn actions(variant: Option<&str>) -> Vec<Action> {
    let next = TERM.at(X) + 1;
    let follows =
        |action: Action| forget_votes(action.set(CANDIDATE, X, false).set(LEADER, X, false));
    let is_current = M.equals(TERM.at(X));
    let crash = follows(Action::new("crash", [X]));
    let start = Action::new("start-election", [X])
        .set(TERM, X, &next)
        .set(CANDIDATE, X, true)
        .set(LEADER, X, false)
        .define(
            VOTES_RECEIVED,
            [P, Q],
            if_then_else(P.equals(X), Q.equals(X), VOTES_RECEIVED.at((P, Q))),
        )
        .add_tuple(REQUEST_VOTE, (Term::from(X), next));
    vec![
        vote_for(start, X),
        forget_vote(follows(
            Action::new("see-higher-term", [X, M])
                .when(MENTIONED.at(M) & TERM.at(X).less(M))
                .set(TERM, X, M),
        )),
        vote_for(
            Action::new("grant-vote", [X, Y, M])
                .when(
                    REQUEST_VOTE.at((Y, M))
                        & is_current.clone()
                        & !is_candidate_or_leader(X)
                        & !HAS_VOTED.at(X),
                )
                .add_tuple(VOTE, (X, Y, M)),
            Y,
        ),
        Action::new("grant-vote-again", [X, Y, M])
            .when(REQUEST_VOTE.at((Y, M)) & is_current.clone() & has_voted_for(X, Y))
            .add_tuple(VOTE, (X, Y, M)),
        Action::new("count-vote", [X, Y, M])
            .when(VOTE.at((Y, X, M)) & is_current & CANDIDATE.at(X))
            .add_tuple(VOTES_RECEIVED, (X, Y)),
        forget_votes(
            Action::new("win", [X, W])
                .when(
                    CANDIDATE.at(X)
                        & for_all([V], MEMBER.at((V, W)).implies(VOTES_RECEIVED.at((X, V)))),
                )
                .set(CANDIDATE, X, false)
                .set(LEADER, X, true),
        ),
        follows(Action::new("step-down", [X])),
        // Each message contains the term of its sender.
        Action::new("mention-term", [X]).add_tuple(MENTIONED, TERM.at(X)),
        match variant {
            Some("forgotten-vote") => forget_vote(crash),
            _ => crash,
        },
    ]
}

fn invariant() -> Vec<Conjunct> {
    // v has not voted for the rival in the term of p, and will not.
    let supports_no_rival = |rival: Variable| {
        let has_vote = TERM.at(rival).equals(TERM.at(P)) & VOTES_RECEIVED.at((rival, V));
        let has_voted_otherwise = HAS_VOTED.at(V) & VOTED_FOR.at(V).differs(rival);
        let may_vote =
            TERM.at(V).less(TERM.at(P)) | (TERM.at(V).equals(TERM.at(P)) & !has_voted_otherwise);
        !has_vote & !VOTE.at((Term::from(V), rival, TERM.at(P))) & !may_vote
    };
    let has_one_role = |process| !(CANDIDATE.at(process) & LEADER.at(process));
    // This formula is always true, by the axiom about quorums. It only helps the solver to
    // instantiate the conjunct, because it mentions the quorum `A`. For the same reason, the
    // conjunct contains `has_one_role`, which mentions the rival.
    let is_quorum = MEMBER.at((COMMON_MEMBER.at((A, A)), A));
    let of_leaders = [
        Conjunct::new(
            "candidate-votes",
            "a process has votes only while it is a candidate",
            for_all([P, V], VOTES_RECEIVED.at((P, V)).implies(CANDIDATE.at(P))),
        ),
        Conjunct::new(
            "no-rival",
            "each quorum has a member that supports no rival of a leader in its term",
            for_all(
                [P, Q, A],
                (LEADER.at(P) & P.differs(Q) & has_one_role(Q) & is_quorum)
                    .implies(exists([V], MEMBER.at((V, A)) & supports_no_rival(Q))),
            ),
        ),
    ];
    let votes = terms::vote_conjuncts(|process| VOTES_RECEIVED.at((process, V)));
    terms::leader_conjuncts().into_iter().chain(of_leaders).chain(votes).collect()
}

#[cfg(test)]
mod tests {
    use tenure_algorithms::election::raft::{Config, RaftElection};
    use tenure_check::{Check, GlobalState};
    use tenure_core::Algorithm;

    use super::*;
    use crate::conformance::checker_json::{CheckerJson, live_processes};
    use crate::conformance::comparison::{
        ConformanceChecker, ConformanceMismatch, ConformanceReport,
    };
    use crate::models::majority::minimal_majorities;
    use crate::models::votes::mapping;
    use crate::structure::table::Structure;
    use crate::structure::value::Value;

    /// Compares the code with `model`, for two processes in the first term.
    fn compared(model: &Model) -> ConformanceReport {
        let config = Config { heartbeat_modulus: 1, ..Config::with_defaults(2, 1) };
        let mut comparer = ConformanceChecker::new(model, abstraction, 2);
        let check = Check::<RaftElection>::with_protocol_config(2, config)
            .max_term_of(RaftElection::highest_term, 1);
        let walk = check
            .visit_reachable_states(100_000, &mut comparer)
            .expect("the configuration is valid");
        comparer.finish(walk)
    }

    #[test]
    fn code_agrees_with_model_in_the_first_term() {
        let comparison = compared(&ENTRY.model());
        assert!(comparison.agrees(), "{comparison:#?}");
        for action in ["start-election", "grant-vote", "count-vote", "win", "step-down"] {
            assert!(comparison.actions.contains_key(action), "{comparison:#?}");
        }
    }

    #[test]
    fn missing_action_is_noticed() {
        let mut model = ENTRY.model();
        model.actions.retain(|action| action.name != "win");
        let comparison = compared(&model);
        assert!(
            matches!(comparison.mismatch, Some(ConformanceMismatch::Step { .. })),
            "{comparison:#?}"
        );
    }

    /// Maps a state of the code to a state of the model. All processes are up.
    fn abstraction(state: &GlobalState) -> Structure {
        let size = state.processes.len() as u32;
        let mut structure = Structure::new(size);
        mapping::add_quorums(&mut structure, &minimal_majorities(size));
        for (me, process) in live_processes(state) {
            let process = CheckerJson(process);
            structure.set(TERM, [me], process.field("term").to_int());
            let candidate = process.field("voted_for");
            structure.set(VOTED_FOR, [me], me);
            if !candidate.is_none() {
                structure.add_tuple(HAS_VOTED, [me]);
                structure.set(VOTED_FOR, [me], candidate.to_process());
            }
            let role = process.field("role");
            match role.variant_name() {
                "Leader" => structure.add_tuple(LEADER, [me]),
                "Candidate" => {
                    structure.add_tuple(CANDIDATE, [me]);
                    for voter in role.field("votes").elements() {
                        structure.add_tuple(VOTES_RECEIVED, [me, voter.to_process()]);
                    }
                }
                _ => {}
            }
        }
        for message in &state.messages {
            let [from, to] = [message.from, message.to].map(Value::process);
            let content = CheckerJson(&message.content);
            let term = || Value::from(content.field("term").to_int());
            structure.add_tuple(MENTIONED, [term()]);
            match content.variant_name() {
                "RequestVote" | "Succeed" => structure.add_tuple(REQUEST_VOTE, [from, term()]),
                "Vote" if content.field("granted").0 == true => {
                    structure.add_tuple(VOTE, [from, to, term()]);
                }
                _ => {}
            }
        }
        structure
    }
}
