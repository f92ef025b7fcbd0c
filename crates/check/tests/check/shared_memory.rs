//! Tests of locks in shared memory. The results of all interleavings equal those of the independent
//! model in `tests/independent/shared_memory.rs`. Other tests show the shortest run that leads to
//! each known mistake.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tenure_algorithms::shared_memory::{
    Bakery, PetersonLock, TestAndSet, bakery, peterson_lock, test_and_set,
};
use tenure_algorithms::{VariantId, Variants};
use tenure_check::{
    CheckLimits, CheckReport, Fairness, Judgement, MemoryUsageFn, RequestLimit,
    SharedMemoryLockConfig, StopReason, ViolationKind, check_shared_memory_lock,
};
use tenure_core::Property;
use tenure_core::shared_memory::SharedMemoryLock;

use crate::independent::searches::shared_memory::{
    Findings, MAX_COUNTED_BYPASS, Program, Ties, findings,
};

const ALL: [Property; 5] = [
    Property::MutualExclusion,
    Property::DeadlockFreedom,
    Property::StarvationFreedom,
    Property::FirstComeFirstServed,
    Property::Bypass(Some(1)),
];

/// Highest ticket that the searches in these tests explore.
const TICKETS: u32 = 3;

const PETERSON: Program = Program::Peterson { turn_first: false, turn: true, flag: true };
const BAKERY: Program =
    Program::Bakery { choosing: true, ties: Ties::ByName, tickets: TICKETS as u8 };

fn config(size: u32, properties: &[Property]) -> SharedMemoryLockConfig {
    let mut config = SharedMemoryLockConfig::new("lock", size, properties.to_vec());
    config.register_bound = Some(("number", TICKETS));
    config
}

/// Checks all properties of a lock, and measures its bypass. If `variant` is `None`, the lock has
/// no variant.
fn check<L, S>(size: u32, variant: Option<S>) -> CheckReport
where
    L: SharedMemoryLock<Config = Variants<S>>,
    S: VariantId,
{
    let properties = [&ALL[..], &[Property::Bypass(None)]].concat();
    let variants = variant.into_iter().fold(Variants::none(), Variants::with);
    check_shared_memory_lock::<L>(&config(size, &properties), &variants)
}

fn assert_agrees(report: &CheckReport, program: Program) {
    let theirs = findings(program, report.size as usize);
    let collision = report.counterexample("mutual-exclusion").map(|found| found.step_count());
    let is_violated = |property| report.judgement_of(property) == Judgement::Violated;
    let bypass = report.bypass.as_ref().expect("it was measured").max;
    let ours = Findings {
        states: report.states,
        transitions: report.transitions,
        collision,
        deadlock: is_violated("deadlock-freedom"),
        starvation: is_violated("starvation-freedom"),
        bypass: Some(bypass).filter(|most| *most <= MAX_COUNTED_BYPASS),
    };
    assert_eq!(ours, theirs, "{program:?}, {} processes", report.size);
}

#[test]
fn right_locks_agree_with_the_independent_model() {
    for size in 2..=3 {
        assert_agrees(&check::<PetersonLock, _>(size, None), PETERSON);
        let spinlock = Program::Spinlock { atomic: true };
        assert_agrees(&check::<TestAndSet, _>(size, None), spinlock);
    }
    assert_agrees(&check::<Bakery, _>(2, None), BAKERY);
}

#[test]
#[ignore = "takes some seconds: 9775 states, each pair of processes apart"]
fn bakery_of_three_agrees_with_the_independent_model() {
    assert_agrees(&check::<Bakery, _>(3, None), BAKERY);
}

#[test]
fn wrong_locks_agree_with_the_independent_model() {
    use bakery::VariantId as B;
    use peterson_lock::VariantId as P;
    let peterson = |turn_first, turn, flag| Program::Peterson { turn_first, turn, flag };
    assert_agrees(&check::<PetersonLock, _>(2, Some(P::TurnFirst)), peterson(true, true, true));
    assert_agrees(&check::<PetersonLock, _>(2, Some(P::NoTurn)), peterson(false, false, true));
    assert_agrees(&check::<PetersonLock, _>(2, Some(P::NoQ)), peterson(false, true, false));
    let bakery = |choosing, ties| Program::Bakery { choosing, ties, tickets: TICKETS as u8 };
    assert_agrees(&check::<Bakery, _>(2, Some(B::NoChoosing)), bakery(false, Ties::ByName));
    assert_agrees(&check::<Bakery, _>(2, Some(B::TiesEnter)), bakery(true, Ties::Enter));
    assert_agrees(&check::<Bakery, _>(2, Some(B::TiesWait)), bakery(true, Ties::Wait));
    let split = check::<TestAndSet, _>(2, Some(test_and_set::VariantId::Split));
    assert_agrees(&split, Program::Spinlock { atomic: false });
    // Negative control: the model with an atomic operation has a different number of states.
    assert_ne!(split.states, findings(Program::Spinlock { atomic: true }, 2).states);
}

#[test]
fn promises_of_the_cards_hold() {
    let report = check::<PetersonLock, _>(2, None);
    report.assert_holds();
    assert_eq!(report.bypass.expect("it was measured").max, 1);
    check::<Bakery, _>(2, None).assert_holds();
    let report = check::<TestAndSet, _>(2, None);
    let verdicts = ALL.map(|property| report.judgement_of(property.name()));
    use Judgement::{Holds, Violated};
    assert_eq!(verdicts, [Holds, Holds, Violated, Violated, Violated]);
}

#[test]
fn three_processes_bypass_each_other_without_bound_but_starve_none() {
    let report = check::<PetersonLock, _>(3, None);
    let verdicts = ALL.map(|property| report.judgement_of(property.name()));
    use Judgement::{Holds, Violated};
    assert_eq!(verdicts, [Holds, Holds, Holds, Violated, Violated]);
    let bypass = report.bypass.expect("it was measured");
    assert!(bypass.is_lower_bound && bypass.max == 16);
}

/// Returns the shortest counterexample to a property in a group of two processes: the kind of the
/// violation, the steps as text, and the index of the first step that repeats forever, if any.
fn story<L, S>(variant: Option<S>, property: &str) -> (ViolationKind, Vec<String>, Option<usize>)
where
    L: SharedMemoryLock<Config = Variants<S>>,
    S: VariantId,
{
    let report = check::<L, S>(2, variant);
    let found = report.counterexample(property).unwrap_or_else(|| panic!("{property} holds"));
    (found.kind, found.step_inputs(), found.run.repeats_from)
}

#[test]
fn shortest_run_with_turn_before_flag() {
    let wrong = Some(peterson_lock::VariantId::TurnFirst);
    let (kind, steps, _) = story::<PetersonLock, _>(wrong, "mutual-exclusion");
    assert_eq!(kind, ViolationKind::Step);
    assert_eq!(
        steps,
        [
            "P1 asks to enter",
            "P1 writes TURN[1] := 1",
            "P2 asks to enter",
            "P2 writes TURN[1] := 2",
            "P2 writes Q[2] := 1",
            "P2 reads Q[1] = 0",
            "P1 writes Q[1] := 1",
            "P1 reads Q[2] = 1",
            "P1 reads TURN[1] = 2",
        ]
    );
}

#[test]
fn shortest_starvation_at_the_spinlock() {
    let (kind, steps, repeats_from) =
        story::<TestAndSet, test_and_set::VariantId>(None, "starvation-freedom");
    assert_eq!((kind, repeats_from), (ViolationKind::Starvation, Some(1)));
    assert_eq!(steps[0], "P1 asks to enter");
    let (asks, tests) = (&steps[1..3], "P1 tests and sets lock = 1".to_owned());
    assert_eq!(asks, ["P2 asks to enter", "P2 tests and sets lock = 0"]);
    assert!(steps.len() == 6 && steps.contains(&tests), "{steps:?}");
}

#[test]
fn deadlock_differs_from_livelock() {
    use peterson_lock::VariantId;
    let (kind, steps, _) = story::<PetersonLock, _>(Some(VariantId::NoTurn), "deadlock-freedom");
    assert_eq!(kind, ViolationKind::Deadlock, "{steps:?}");
    let (kind, steps, _) = story::<PetersonLock, _>(Some(VariantId::NoQ), "deadlock-freedom");
    assert_eq!(kind, ViolationKind::Livelock, "P2 could release P1: {steps:?}");
}

#[test]
fn counterexample_is_drawn_and_judged_as_a_trace() {
    let report = check::<TestAndSet, _>(2, Some(test_and_set::VariantId::Split));
    let found = report.counterexample("mutual-exclusion").expect("both enter");
    let drawn = found.diagram();
    assert!(drawn.contains("lock = 0") && drawn.contains("lock := 1"), "{drawn}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("split.ndjson");
    found.save(&path).expect("a trace");
    let trace = std::fs::read_to_string(&path).expect("a trace");
    let access = r#""kind":"memory","data":{"operation":"read","register":"lock","value":0}"#;
    assert!(trace.contains(access), "{trace}");
}

#[test]
fn finite_requests_cannot_starve_and_have_fewer_states() {
    let mut once = config(2, &[Property::StarvationFreedom]);
    once.entries = vec![RequestLimit::AtMost(1); 2];
    let report = check_shared_memory_lock::<TestAndSet>(&once, &Variants::none());
    report.assert_holds();
    // Without fairness a run may stop while a process waits.
    once.fairness = Fairness::None;
    let report = check_shared_memory_lock::<TestAndSet>(&once, &Variants::none());
    assert_eq!(report.counterexample("starvation-freedom").map(|it| it.step_count()), Some(1));
}

#[test]
fn bounds_and_limits_are_reported() {
    let report = check::<Bakery, _>(2, None);
    assert_eq!(report.bounds.ticket_max, Some(TICKETS.into()));
    assert!(report.to_string().contains("holds within tickets up to 3"), "{report}");
    // Two entries of one process need no ticket above 1, so the bound on tickets prunes no state.
    let mut alone = config(2, &ALL);
    alone.entries = vec![RequestLimit::AtMost(2), RequestLimit::AtMost(0)];
    assert_eq!(
        check_shared_memory_lock::<Bakery>(&alone, &Variants::none()).bounds.ticket_max,
        None
    );
    let mut short = config(2, &[Property::MutualExclusion]);
    short.limits = CheckLimits { states: Some(50), ..short.limits };
    let report = check_shared_memory_lock::<PetersonLock>(&short, &Variants::none());
    assert_eq!(report.judgement_of("mutual-exclusion"), Judgement::Incomplete);
}

/// A limited search may report that no step violates a property within some depth. The shortest
/// counterexample must then be longer than this depth.
#[test]
fn limited_search_overstates_no_depth() {
    let variants = Variants::none().with(bakery::VariantId::NoChoosing);
    let limited = |states| {
        let mut config = config(2, &[Property::MutualExclusion]);
        config.limits = CheckLimits { states, ..config.limits };
        check_shared_memory_lock::<Bakery>(&config, &variants)
    };
    let all = limited(None);
    let shortest = all.counterexample("mutual-exclusion").expect("both enter").step_count();
    let mut deepest = 0;
    for report in (1..all.states).map(|states| limited(Some(states))) {
        if report.counterexamples.is_empty() {
            let depth = report.fully_explored_depth.expect("the search is breadth-first");
            assert!((depth as usize) < shortest, "{report}");
            assert!(report.to_string().contains(&format!("within depth {depth} ")), "{report}");
            deepest = deepest.max(depth as usize);
        }
    }
    assert_eq!(deepest, shortest - 1, "a search stops just before it finds the violation");
}

#[test]
fn memory_of_the_process_and_stop_flag_end_the_check() {
    let mut large = config(2, &ALL);
    let reader: MemoryUsageFn = || Some(1 << 40);
    large.limits.bytes = Some(1 << 40);
    large.limits.memory_reader = Some(reader);
    let mut stopped = config(2, &ALL);
    stopped.stop_flag = Some(Arc::new(AtomicBool::new(true)));
    for (config, limit) in [(large, StopReason::Memory), (stopped, StopReason::Stopped)] {
        let report = check_shared_memory_lock::<PetersonLock>(&config, &Variants::none());
        assert_eq!((report.reached_limit, report.states), (Some(limit), 1), "{report}");
        let is_incomplete =
            |(_, judgement): &(Property, Judgement)| *judgement == Judgement::Incomplete;
        assert!(report.properties.iter().all(is_incomplete), "{report}");
    }
}

/// The full search finds a livelock: a process waits in a cycle, although other steps would let it
/// enter. A limited search may end before it finds these steps, but must also report a livelock,
/// not a deadlock.
#[test]
fn limited_search_mistakes_no_livelock_for_deadlock() {
    let variants = Variants::none().with(peterson_lock::VariantId::NoQ);
    let properties = [Property::DeadlockFreedom, Property::StarvationFreedom];
    let limited = |states| {
        let mut config = config(2, &properties);
        config.limits = CheckLimits { states, ..config.limits };
        check_shared_memory_lock::<PetersonLock>(&config, &variants)
    };
    let all = limited(None);
    let kinds = |report: &CheckReport| -> Vec<ViolationKind> {
        report.counterexamples.iter().map(|found| found.kind).collect()
    };
    let expected = [ViolationKind::Livelock, ViolationKind::Starvation];
    assert_eq!(kinds(&all), expected);
    let reports = (1..all.states).map(|states| limited(Some(states)));
    let violated: Vec<CheckReport> = reports.filter(|it| !it.counterexamples.is_empty()).collect();
    let is_vague =
        |report: &CheckReport| !report.to_string().contains("although it could be served");
    assert!(violated.iter().any(is_vague), "a limited search that has not found the entry");
    for report in violated {
        assert_eq!(kinds(&report), expected, "{report}");
    }
}
