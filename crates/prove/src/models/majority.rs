//! Majority voting among live processes, for any number of processes and any intersecting quorums.
//!
//! R. H. Thomas, *A majority consensus approach to concurrency control for multiple copy
//! databases*, ACM TODS 4(2), 1979, with the votes of Maekawa. The code is
//! `crates/algorithms/src/mutex/majority.rs`.
//!
//! Processes crash at any time. A process is suspected only if it has crashed. In the model, a
//! process may begin its request again at any time, with another quorum. The code begins a request
//! again only in some of these cases. The code also numbers *generations*, which keep fences in
//! order after a wrong suspicion. The model leaves out generations.
//!
//! Links keep the order of a withdrawal and a later request: the receiver first receives the
//! withdrawal. All other messages may be late, repeated, lost, or overtake one another.

use std::collections::BTreeSet;

use tenure_check::GlobalState;

use crate::conformance::checker_json::{CheckerJson, live_processes};
use crate::logic::sort::Sort::{self, Process, Quorum};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermOperations, for_all};
use crate::logic::variable::Variable;
use crate::model::action::Action;
use crate::model::{Conjunct, Model};
use crate::models::lock::{INSIDE, WAITING, is_waiting_or_inside};
use crate::models::votes::mapping;
use crate::models::votes::{
    self, CANDIDATE, CLOCK, COMMON_MEMBER, HAS_VOTED, LOCKED, MEMBER, N, NEXT_NUMBER,
    NEXT_REQUESTER, NEXT_STAMP, P, Q, QUEUED, QUORUM, RELEASE, RELINQUISH, REQUEST, REQUESTER,
    STAMP, T, V, VOTE_NUMBER, VOTED_NUMBER, VOTED_STAMP, VOTER, has_voted_for, is_request_over,
    is_vote_sent_to, quorum_has_voter,
};
use crate::models::{ModelEntry, ModelVariant};
use crate::structure::table::Structure;
use crate::structure::value::Value;

const CRASHED: Symbol = Symbol::relation("crashed", &[Process]);
/// True if a withdrawal is in flight. It withdraws all earlier requests of the process. Arguments:
/// process, voter.
const WITHDRAWAL: Symbol = Symbol::relation("withdrawal", &[Process, Process]);
/// Value of [`QUORUM`] for a process without a request.
const NO_QUORUM: Symbol = Symbol::constant("no-quorum", Quorum);

const MESSAGES: [Symbol; 5] = [REQUEST, LOCKED, RELINQUISH, RELEASE, WITHDRAWAL];

/// Quorum of a new request.
const C: Variable = Variable::quorum("c");
/// Process that crashes.
const CRASHING: Variable = Variable::process("x");

pub(crate) const ENTRY: ModelEntry = ModelEntry {
    name: "majority",
    paper: "Thomas, ACM TODS 4(2), 1979; Maekawa, ACM TOCS 3(2), 1985",
    property: "mutual exclusion",
    model,
    abstraction: Some(abstraction),
    variants: &[ModelVariant { name: "left-out", is_refuted: true }],
};

fn model(variant: Option<&str>) -> Model {
    let is_down = |process: &Term| CRASHED.at(process.clone());
    let mut invariant = votes::vote_conjuncts(&is_down);
    invariant.extend(uniqueness());
    invariant.extend(votes::message_conjuncts(&is_down));
    let mut initial = votes::initial();
    initial.push(for_all([P], !CRASHED.at(P) & QUORUM.at(P).equals(NO_QUORUM)));
    initial.push(for_all([P, V], !WITHDRAWAL.at((P, V))));
    Model {
        name: ENTRY.name,
        state_symbols: votes::STATE_SYMBOLS
            .into_iter()
            .chain([QUORUM, CRASHED, WITHDRAWAL])
            .collect(),
        lossy_messages: MESSAGES.to_vec(),
        rigid: vec![MEMBER, COMMON_MEMBER, NO_QUORUM],
        axioms: vec![votes::quorum_intersection()],
        initial_conditions: initial,
        actions: actions(variant),
        invariant,
    }
}

fn actions(variant: Option<&str>) -> Vec<Action> {
    // In the variant `left-out`, a request does not need the votes of crashed voters.
    let counts = match variant {
        Some("left-out") => !CRASHED.at(V),
        _ => Term::truth(),
    };
    let withdrawn = P.equals(REQUESTER) & quorum_has_voter(REQUESTER, V) & V.differs(REQUESTER);
    let mut actions = vec![
        votes::request_votes(
            Action::new("request", [REQUESTER, C])
                .when(!is_waiting_or_inside(REQUESTER) & !CRASHED.at(REQUESTER))
                .set(QUORUM, REQUESTER, C),
            C.into(),
        ),
        votes::request_votes(
            Action::new("request-again", [REQUESTER, C])
                .when(WAITING.at(REQUESTER))
                .set(QUORUM, REQUESTER, C)
                .define(WITHDRAWAL, [P, V], WITHDRAWAL.at((P, V)) | withdrawn),
            C.into(),
        ),
        votes::enter(counts),
    ];
    let processes = votes::requester_actions(&!CRASHED.at(REQUESTER));
    actions.extend(processes.into_iter().map(|action| match action.name {
        "exit" => action.set(QUORUM, REQUESTER, NO_QUORUM),
        _ => action,
    }));
    // A withdrawal in flight delays later requests on the same link.
    let is_due = |stamp: Variable| {
        WITHDRAWAL
            .at((REQUESTER, VOTER))
            .implies(is_request_over(&Term::from(REQUESTER), &stamp.into()))
    };
    actions.extend(votes::voter_actions(&!CRASHED.at(VOTER), is_due));
    actions.extend(withdrawal_actions());
    actions.push(crash());
    actions.into_iter().map(without_messages_to_crashed).collect()
}

/// Returns the action without the messages that it sends to crashed processes, because these
/// messages are lost. The receiver is the second argument of each message.
fn without_messages_to_crashed(mut action: Action) -> Action {
    for message in MESSAGES {
        if let Some(update) = action.updates.get_mut(&message) {
            update.value = update.value.clone() & !CRASHED.at(update.parameters[1]);
        }
    }
    action
}

/// Returns the actions by which a voter drops the earlier requests of a process. A voter drops
/// these requests if it receives a withdrawal from the process, or if the process has crashed. When
/// a voter makes a new request itself, it drops its own earlier requests.
fn withdrawal_actions() -> Vec<Action> {
    let is_own = REQUESTER.equals(VOTER) & VOTED_STAMP.at(VOTER).less(STAMP.at(VOTER));
    let is_withdrawn =
        !CRASHED.at(VOTER) & (WITHDRAWAL.at((REQUESTER, VOTER)) | CRASHED.at(REQUESTER) | is_own);
    let is_given = HAS_VOTED.at(VOTER) & CANDIDATE.at(VOTER).equals(REQUESTER);
    let is_kept = QUEUED.at((V, P, T, N)) & !(V.equals(VOTER) & P.equals(REQUESTER));
    let is_next =
        V.equals(VOTER) & P.equals(NEXT_REQUESTER) & T.equals(NEXT_STAMP) & N.equals(NEXT_NUMBER);
    vec![
        Action::new("forget-queued", [REQUESTER, VOTER])
            .when(
                !CRASHED.at(VOTER)
                    & (WITHDRAWAL.at((REQUESTER, VOTER))
                        | CRASHED.at(REQUESTER)
                        | REQUESTER.equals(VOTER)),
            )
            .define(QUEUED, [V, P, T, N], is_kept.clone()),
        votes::vote_for(
            Action::new(
                "vote-after-withdrawal",
                [REQUESTER, VOTER, NEXT_REQUESTER, NEXT_STAMP, NEXT_NUMBER],
            )
            .when(is_withdrawn.clone() & is_given.clone() & NEXT_REQUESTER.differs(REQUESTER))
            .when(QUEUED.at((VOTER, NEXT_REQUESTER, NEXT_STAMP, NEXT_NUMBER)))
            .define(QUEUED, [V, P, T, N], is_kept.clone() & !is_next),
            NEXT_REQUESTER,
            NEXT_STAMP,
            NEXT_NUMBER.into(),
        ),
        votes::reclaim_vote(
            Action::new("free-after-withdrawal", [REQUESTER, VOTER])
                .when(is_withdrawn & is_given)
                .define(QUEUED, [V, P, T, N], is_kept),
        ),
    ]
}

fn crash() -> Action {
    votes::forget_request(
        Action::new("crash", [CRASHING])
            .when(!CRASHED.at(CRASHING))
            .set(CRASHED, CRASHING, true)
            .set(WAITING, CRASHING, false)
            .set(INSIDE, CRASHING, false)
            .set(CLOCK, CRASHING, 0)
            .set(QUORUM, CRASHING, NO_QUORUM)
            .set(HAS_VOTED, CRASHING, false)
            .set(CANDIDATE, CRASHING, CRASHING)
            .set(VOTED_STAMP, CRASHING, 0)
            .set(VOTED_NUMBER, CRASHING, 0)
            .define(QUEUED, [V, P, T, N], QUEUED.at((V, P, T, N)) & V.differs(CRASHING)),
    )
}

/// Returns the conjuncts about the uniqueness of votes. They hold even if a voter has crashed.
fn uniqueness() -> Vec<Conjunct> {
    let process = Term::from(P);
    let is_given = has_voted_for(V, P, STAMP.at(P), VOTE_NUMBER.at((P, V)));
    vec![
        Conjunct::new(
            "crashed-idle",
            "a crashed process has no request and gives no vote",
            for_all([P], CRASHED.at(P).implies(!is_waiting_or_inside(P) & !HAS_VOTED.at(P))),
        ),
        Conjunct::new(
            "one-vote",
            "the vote of a process is held or awaited by one process",
            for_all([P, Q, V], (is_vote_sent_to(P) & is_vote_sent_to(Q)).implies(P.equals(Q))),
        ),
        Conjunct::new(
            "vote-given",
            "a vote that a process has or that is on its way was given, unless its voter crashed",
            for_all([P, V], (is_vote_sent_to(P) & !CRASHED.at(V)).implies(is_given)),
        ),
        Conjunct::new(
            "withdrawn-vote-over",
            "a vote that is being withdrawn was given to an earlier request",
            for_all(
                [P, V],
                (WITHDRAWAL.at((P, V)) & HAS_VOTED.at(V) & CANDIDATE.at(V).equals(P))
                    .implies(is_request_over(&process, &VOTED_STAMP.at(V))),
            ),
        ),
        Conjunct::new(
            "withdrawn-request-over",
            "a queued request that is being withdrawn is an earlier one",
            for_all(
                [P, V, T, N],
                (WITHDRAWAL.at((P, V)) & QUEUED.at((V, P, T, N)))
                    .implies(is_request_over(&process, &T.into())),
            ),
        ),
    ]
}

fn abstraction(state: &GlobalState) -> Structure {
    let size = state.processes.len() as u32;
    let mut structure = Structure::new(size);
    let quorums = minimal_majorities(size);
    mapping::add_quorums(&mut structure, &quorums);
    for process in structure.elements(Sort::Process) {
        structure.add_tuple(CRASHED, [process]);
        structure.set(CANDIDATE, [process], process);
    }
    for (me, process) in live_processes(state) {
        let process = CheckerJson(process).field("votes");
        structure.set(CRASHED, [me], false);
        if let Some(voters) = mapping::current_quorum(process) {
            let quorum = quorums.iter().position(|it| *it == voters).expect("it is a majority");
            structure.set(QUORUM, [me], Value::Element(Quorum, quorum as u32));
        }
        mapping::add_process(&mut structure, me, process);
    }
    for message in &state.messages {
        let link = [message.from, message.to].map(Value::process);
        let content = CheckerJson(&message.content);
        match content.variant_name() {
            "Vote" => mapping::add_message(&mut structure, link, content.field("message")),
            "Withdraw" => structure.add_tuple(WITHDRAWAL, link),
            // The code sends all other messages only to a process that was suspected wrongly.
            other => panic!("no message `{other}` without wrong suspicions"),
        }
    }
    structure
}

/// Returns all sets of ⌊`size` / 2⌋ + 1 processes: the smallest majorities of a group of `size`.
pub(super) fn minimal_majorities(size: u32) -> Vec<BTreeSet<Value>> {
    let all = (1u32..1 << size).filter(|set| set.count_ones() == size / 2 + 1);
    let members = |set: u32| (0..size).filter(move |member| set >> member & 1 == 1);
    all.map(|set| members(set).map(Value::process).collect()).collect()
}
