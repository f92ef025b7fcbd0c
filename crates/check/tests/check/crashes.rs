//! Tests of the crash rows of the fault matrix (section 5.6 of the checklist). The rows differ in
//! the process that may crash: a process that never requests, any process that waits, any process
//! inside the critical section, or the process on which all others depend.

use tenure_algorithms::mutex::{
    CarvalhoRoucairol, Central, KMutex, KStateTokenRing, Lamport, Maekawa, MisraRing, NaimiTrehel,
    Raymond, RicartAgrawala, SuzukiKasami, TokenRing, k_mutex, maekawa, raymond,
};
use tenure_check::{Check, CheckError, UserPhase};
use tenure_core::monitors::MutualExclusion;
use tenure_core::quorum::QuorumKind;
use tenure_core::tree::TreeShape;
use tenure_core::{Mutex, ProcessId};

use crate::by_service::{ServiceCheck, of, with};
use crate::faults::Outcome::{self, Blocked, Fine};
use crate::faults::cell;

/// Checks a lock while one process, which never requests, may crash at any moment.
fn crashing_idle<P: Mutex>(check: Check<P>, process: u32) -> Outcome {
    cell(check.max_crashes(1).crashing_only([ProcessId(process)]))
}

/// Checks a lock. Any process may crash, but only while its user is in the phase `phase`.
fn crashing_in<P: Mutex>(check: Check<P>, phase: UserPhase) -> Outcome {
    cell(check.max_crashes(1).crashing_only_in(phase))
}

/// Returns the outcomes of four checks. In the first check, P3 crashes while it is idle. In the
/// second, a process crashes while it waits. In the third, a process crashes inside the critical
/// section. In the fourth, P1 crashes while it is idle. If the lock has a coordinator or a token,
/// P1 is the coordinator or the first holder of the token.
fn outcomes<P: Mutex>(of: impl Fn([u32; 3]) -> Check<P>) -> [Outcome; 4] {
    [
        crashing_idle(of([1, 1, 0]), 2),
        crashing_in(of([1, 1, 1]), UserPhase::Waiting),
        crashing_in(of([1, 1, 1]), UserPhase::Inside),
        crashing_idle(of([0, 1, 1]), 0),
    ]
}

const ALL_BLOCKED: [Outcome; 4] = [Blocked; 4];
const BLOCKED_UNLESS_IDLE: [Outcome; 4] = [Fine, Blocked, Blocked, Blocked];

#[test]
fn any_crash_blocks_broadcast_and_ring_locks() {
    assert_eq!(outcomes(|entries| of::<Lamport>(3).request_limits(entries).fifo()), ALL_BLOCKED);
    assert_eq!(outcomes(|entries| of::<RicartAgrawala>(3).request_limits(entries)), ALL_BLOCKED);
    assert_eq!(outcomes(|entries| of::<TokenRing>(3).request_limits(entries)), ALL_BLOCKED);
    let ring = || of::<KStateTokenRing>(3).fifo().in_flight_per_link(1);
    assert_eq!(outcomes(|entries| ring().request_limits(entries)), ALL_BLOCKED);
}

#[test]
fn idle_crash_is_harmless_with_single_permission_holder() {
    assert_eq!(outcomes(|entries| of::<Central>(3).request_limits(entries)), BLOCKED_UNLESS_IDLE);
    assert_eq!(
        outcomes(|entries| of::<SuzukiKasami>(3).request_limits(entries)),
        BLOCKED_UNLESS_IDLE
    );
    assert_eq!(
        outcomes(|entries| of::<NaimiTrehel>(3).request_limits(entries)),
        BLOCKED_UNLESS_IDLE
    );
    // P1 and P2 hold P3's permissions from the start, and P3 never requests.
    let three = || of::<CarvalhoRoucairol>(3);
    assert_eq!(outcomes(|entries| three().request_limits(entries)), BLOCKED_UNLESS_IDLE);
}

#[test]
fn tree_tolerates_crash_of_idle_leaf_only() {
    let tree = |shape, entries: [u32; 3]| {
        with::<Raymond>(3, raymond::Config::with_tree_shape(shape, 3)).request_limits(entries)
    };
    assert_eq!(outcomes(|entries| tree(TreeShape::Star, entries)), BLOCKED_UNLESS_IDLE);
    assert_eq!(outcomes(|entries| tree(TreeShape::Path, entries)), BLOCKED_UNLESS_IDLE);
    assert_eq!(crashing_idle(tree(TreeShape::Path, [1, 0, 1]), 1), Blocked);
}

#[test]
fn quorum_is_blocked_only_by_its_members() {
    let pairs = |entries: [u32; 3]| {
        let config = maekawa::Config::with_quorum_kind(QuorumKind::Pairs, 3).expect("pairs exist");
        with::<Maekawa>(3, config).request_limits(entries).fifo()
    };
    // The quorums are {P1, P2} for P1, {P2, P3} for P2, and {P3, P1} for P3.
    assert_eq!(outcomes(pairs), ALL_BLOCKED);
    assert_eq!(crashing_idle(pairs([1, 0, 0]), 2), Fine);
    assert_eq!(crashing_idle(pairs([1, 0, 0]), 1), Blocked);
}

#[test]
fn two_tokens_are_lost_with_their_holder() {
    let two = |entries: [u32; 2]| of::<MisraRing>(2).request_limits(entries).fifo();
    assert_eq!(crashing_idle(two([1, 0]), 1), Blocked);
    assert_eq!(crashing_idle(two([0, 1]), 0), Blocked);
    for phase in [UserPhase::Waiting, UserPhase::Inside] {
        assert_eq!(crashing_in(two([1, 1]), phase), Blocked, "{phase:?}");
    }
}

#[test]
fn crash_takes_one_of_two_places() {
    let places = |max| {
        let config = k_mutex::Config::with_max_inside(std::num::NonZeroU32::new(max).unwrap());
        move |entries: [u32; 3]| with::<KMutex>(3, config.clone()).request_limits(entries).fifo()
    };
    assert_eq!(outcomes(places(1)), ALL_BLOCKED);
    let assert_continues = |check: ServiceCheck<KMutex>| {
        let check =
            check.max_crashes(1).always(MutualExclusion::at_most(2)).check_starvation_freedom();
        check.run().assert_holds();
    };
    assert_continues(places(2)([1, 1, 0]).crashing_only([ProcessId(2)]));
    for phase in [UserPhase::Waiting, UserPhase::Inside] {
        assert_continues(places(2)([1, 1, 1]).crashing_only_in(phase));
    }
}

/// The options of the check restrict crashes to one process and one phase of its user. Without
/// them, the coordinator could crash too, and the waiting process would wait forever.
#[test]
fn crash_filters_restrict_process_and_phase() {
    let one = || of::<Central>(3).request_limits([0, 1, 0]).max_crashes(1);
    assert_eq!(cell(one()), Blocked);
    assert_eq!(cell(one().crashing_only([ProcessId(1)])), Fine, "no other process waits");
    assert_eq!(cell(one().crashing_only_in(UserPhase::Inside)), Fine, "no other process waits");
    let two = || of::<Central>(3).request_limits([0, 1, 1]).max_crashes(1);
    let report = two().crashing_only_in(UserPhase::Inside).check_starvation_freedom().run();
    let steps = report.counterexample("starvation-freedom").expect("P3 starves").step_inputs();
    let known = [
        "P2 asks to enter",
        "P3 asks to enter",
        "P1 receives request from P2",
        "P2 receives grant from P1",
        "P2 crashes",
    ];
    assert_eq!(steps, known);
    let twice = two().crashing_only([ProcessId(1)]).crashing_only_in(UserPhase::Idle);
    assert_eq!(cell(twice), Fine);
}

#[test]
fn rejects_crash_of_unknown_process() {
    let unknown_process = of::<Central>(2).max_crashes(1).crashing_only([ProcessId(2)]);
    let refused = unknown_process.try_run().expect_err("unknown process");
    assert_eq!(refused, CheckError::UnknownProcess { process: ProcessId(2), size: 2 });
}
