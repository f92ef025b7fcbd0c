//! Tests of the detection and prevention of deadlocks. The processes acquire several locks one
//! after the other.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::SumTypeMember;
use tenure_algorithms::compose::keyed::LockName;
use tenure_algorithms::compose::{LockSequence, lock_sequence};
use tenure_algorithms::mutex::edge_chasing::{Config, VariantId};
use tenure_algorithms::mutex::{
    Central, EdgeChasing, RicartAgrawala, SuzukiKasami, central, ricart_agrawala,
};
use tenure_check::{Check, ViolationKind};
use tenure_core::Mutex;
use tenure_core::monitors::Fencing;

use crate::by_service::over_channel;
use crate::catalogue::{assert_sound, holds, safe_and_live, violated};
use crate::survival::explored;

fn check(size: u32) -> Check<EdgeChasing> {
    Check::new(size)
}

fn with(size: u32, switch: VariantId) -> Check<EdgeChasing> {
    Check::with_protocol_config(size, Variants::none().with(switch))
}

#[test]
fn safe_and_live_for_two_and_three_in_any_order() {
    let two = [check(2).fifo(), check(2), check(2).request_limits(2).fifo()].map(explored);
    let three =
        [check(3).fifo(), check(3), check(3).request_limits([2, 1, 1]).fifo()].map(explored);
    let known =
        ([(62, 82), (340, 873), (693, 1030)], [(1_285, 2_723), (11_875, 46_669), (3_645, 8_059)]);
    assert_eq!((two, three), known);
}

/// Without detection, processes that hold locks deadlock. In the shortest such run, the only steps
/// are the requests of all processes.
#[test]
fn holders_deadlock_without_detection() {
    for size in [2, 3] {
        let report = safe_and_live(with(size, VariantId::NoDetection)).run();
        assert_eq!(violated(&report, "starvation-freedom", size as usize), ViolationKind::Deadlock);
        holds(&report, "mutual-exclusion");
    }
}

#[test]
fn ordered_acquisition_prevents_deadlock() {
    let ordered = |size| with(size, VariantId::Ordered);
    let checks = [ordered(2), ordered(2).request_limits(2), ordered(3)];
    assert_eq!(checks.map(explored), [(33, 46), (270, 513), (215, 406)]);
}

/// Each lock has a manager, which assigns the fences of the lock. With the variant that this test
/// selects, a manager ignores the fences of other locks, and the fences of a process can decrease.
#[test]
fn separate_fence_counters_can_decrease() {
    let check = |variants| {
        Check::<EdgeChasing>::with_protocol_config(3, variants).request_limits([2, 1, 1])
    };
    let report = check(Variants::none().with(VariantId::CountsAlone)).always(Fencing::new()).run();
    violated(&report, "fencing", 12);
}

/// A process that enters once can be in at most one deadlock, so it should need at most two
/// attempts. If aborts carry no number and links reorder messages, an old abort can end a later
/// attempt that is in no deadlock. The process then makes a third attempt.
#[test]
fn unnumbered_aborts_need_fifo_links() {
    let within = |check: Check<EdgeChasing>| check.max_term_of(EdgeChasing::attempt_count, 2);
    for make in [|| check(2), || check(2).fifo(), || check(3).fifo(), || check(3)] {
        assert_eq!(explored(make()), explored(within(make())));
    }
    let unnumbered = |size| with(size, VariantId::UnnumberedAbort);
    let fifo = || unnumbered(2).fifo();
    assert_eq!(explored(fifo()), explored(within(fifo())));
    assert!(explored(unnumbered(2)) > explored(within(unnumbered(2))), "a phantom deadlock");
}

#[test]
fn tolerates_duplication() {
    explored(check(2).max_duplicates(1));
    explored(check(2).request_limits(2).fifo().max_duplicates(1));
}

#[test]
fn lost_message_blocks_but_is_safe() {
    let report = safe_and_live(check(2).max_losses(1)).run();
    assert_eq!(violated(&report, "starvation-freedom", 2), ViolationKind::Blocked);
    holds(&report, "mutual-exclusion");
}

#[test]
fn reliable_channel_hides_loss_and_duplication() {
    let check = over_channel::<EdgeChasing>(Config::default()).request_limits([1, 0]);
    assert_sound(check.max_losses(1).max_duplicates(1));
}

fn lock_names(names: [&str; 2]) -> Vec<LockName> {
    names.map(|name| LockName::new(name).unwrap()).to_vec()
}

/// Returns a check in which two processes acquire two locks. Each process has its own order of the
/// locks.
fn two_named<P: SumTypeMember<Sum: Mutex>>(
    inner: P::Config,
    first: [&str; 2],
    second: [&str; 2],
) -> Check<LockSequence<P::Sum>> {
    let names = Arc::new([first, second].map(lock_names));
    Check::with_protocol_config(
        2,
        lock_sequence::Config { lock_names_by_process: names, inner: P::to_sum_type_config(inner) },
    )
}

/// Processes acquire several named locks. Each name has its own permission lock or token lock,
/// which boots when the name first occurs. If all processes acquire the locks in the same order,
/// the locks are correct. If two processes use opposite orders, they deadlock. An unsafe lock stays
/// unsafe for any number of names.
#[test]
fn named_permission_and_token_locks_deadlock_only_in_opposite_orders() {
    let right = Variants::none();
    let one_order = [
        explored(two_named::<RicartAgrawala>(right, ["a", "b"], ["a", "b"])),
        explored(two_named::<SuzukiKasami>((), ["a", "b"], ["a", "b"])),
    ];
    assert_eq!(one_order, [(57, 79), (31, 42)]);
    for opposite in [
        safe_and_live(two_named::<RicartAgrawala>(right, ["a", "b"], ["b", "a"])).run(),
        safe_and_live(two_named::<SuzukiKasami>((), ["a", "b"], ["b", "a"])).run(),
    ] {
        assert_eq!(violated(&opposite, "starvation-freedom", 3), ViolationKind::Deadlock);
        holds(&opposite, "mutual-exclusion");
    }
    let strict = Variants::none().with(ricart_agrawala::VariantId::ClockOnlyStrict);
    let wrong = safe_and_live(two_named::<RicartAgrawala>(strict, ["a", "b"], ["a", "b"])).run();
    violated(&wrong, "mutual-exclusion", 10);
}

/// Returns a check in which P2 and P3 each acquire two locks at one coordinator. The order in which
/// each of them acquires the locks is a parameter.
fn named(
    second: [&str; 2],
    third: [&str; 2],
) -> Check<LockSequence<<Central as SumTypeMember>::Sum>> {
    let names = Arc::new([second, second, third].map(lock_names));
    let inner = Central::to_sum_type_config(central::Config::default());
    let config = lock_sequence::Config { lock_names_by_process: names, inner };
    Check::with_protocol_config(3, config).request_limits([0, 1, 1])
}

#[test]
fn named_locks_deadlock_only_in_opposite_orders() {
    let sorted = named(["büro", "办公室"], ["büro", "办公室"]);
    let opposite = safe_and_live(named(["büro", "办公室"], ["办公室", "büro"])).run();
    assert_eq!(violated(&opposite, "starvation-freedom", 4), ViolationKind::Deadlock);
    holds(&opposite, "mutual-exclusion");
    // The names look alike but differ, so there are three locks.
    let alike = named(["caf\u{e9}", "a"], ["a", "cafe\u{301}"]);
    assert_eq!([sorted, alike].map(explored), [(70, 113), (90, 159)]);
}
