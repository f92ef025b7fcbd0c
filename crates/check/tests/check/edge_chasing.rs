//! Locks taken one after the other, deadlocks that are found, and deadlocks that are prevented.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::compose::keyed::Name;
use tenure_algorithms::compose::{InTurn, in_turn};
use tenure_algorithms::mutex::edge_chasing::{Config, Switch};
use tenure_algorithms::mutex::{
    Central, EdgeChasing, RicartAgrawala, SuzukiKasami, central, ricart_agrawala,
};
use tenure_check::{Check, Manner};
use tenure_claims::claims;
use tenure_core::monitors::Fencing;
use tenure_core::{Algorithm, Mutex};

use crate::among;
use crate::catalogue::{holds, safe_and_live, violated};

fn check(size: u32) -> Check<EdgeChasing> {
    Check::of(size)
}

fn with(size: u32, switch: Switch) -> Check<EdgeChasing> {
    Check::with(size, Config { variants: Variants::none().with(switch) })
}

/// How many states and steps there are, all of them safe and none of them stuck.
fn explored<P: Mutex + Algorithm>(check: Check<P>) -> (u64, u64) {
    let report = safe_and_live(check).always(Fencing::new()).run();
    report.assert_holds();
    (report.states, report.transitions)
}

#[test]
fn two_and_three_are_safe_and_live_in_any_order_with_the_known_numbers_of_states() {
    let two = [check(2).fifo(), check(2), check(2).entries(2).fifo()].map(explored);
    let three = [check(3).fifo(), check(3), check(3).entries([2, 1, 1]).fifo()].map(explored);
    let known =
        ([(62, 82), (340, 873), (693, 1030)], [(1_285, 2_723), (11_875, 46_669), (3_645, 8_059)]);
    assert_eq!((two, three), known);
}

/// The shortest schedules are those in which everybody asks.
#[claims("I-31")]
#[test]
fn without_detection_all_who_hold_a_lock_each_wait_for_ever() {
    for size in [2, 3] {
        let report = safe_and_live(with(size, Switch::NoDetection)).run();
        assert_eq!(violated(&report, "starvation-freedom", size as usize), Manner::Deadlock);
        holds(&report, "mutual-exclusion");
    }
}

#[test]
fn where_everybody_takes_the_lower_lock_first_there_is_no_deadlock() {
    let ordered = |size| with(size, Switch::Ordered);
    let checks = [ordered(2), ordered(2).entries(2), ordered(3)];
    assert_eq!(checks.map(explored), [(33, 46), (270, 513), (215, 406)]);
}

/// A fence is counted by the manager of the second lock, which has not seen the entries of others.
#[test]
fn a_manager_that_counts_alone_lets_a_fence_go_back() {
    let check = |variants| Check::<EdgeChasing>::with(3, Config { variants }).entries([2, 1, 1]);
    let report = check(Variants::none().with(Switch::CountsAlone)).always(Fencing::new()).run();
    violated(&report, "fencing", 12);
}

/// Who enters once and is in one deadlock at most makes two attempts, and one more in vain.
#[test]
fn nobody_gives_up_in_vain_and_where_aborts_have_no_number_only_links_in_order_see_to_that() {
    let within = |check: Check<EdgeChasing>| check.term_max_by(EdgeChasing::attempts, 2);
    for make in [|| check(2), || check(2).fifo(), || check(3).fifo(), || check(3)] {
        assert_eq!(explored(make()), explored(within(make())));
    }
    let unnumbered = |size| with(size, Switch::UnnumberedAbort);
    let fifo = || unnumbered(2).fifo();
    assert_eq!(explored(fifo()), explored(within(fifo())));
    assert!(explored(unnumbered(2)) > explored(within(unnumbered(2))), "a phantom deadlock");
}

#[test]
fn duplicates_do_no_harm() {
    explored(check(2).duplicating(1));
    explored(check(2).entries(2).fifo().duplicating(1));
}

#[test]
fn a_lost_message_blocks_and_lets_nobody_in() {
    let report = safe_and_live(check(2).losing(1)).run();
    assert_eq!(violated(&report, "starvation-freedom", 2), Manner::Blocked);
    holds(&report, "mutual-exclusion");
}

#[test]
fn over_the_reliable_channel_a_loss_and_a_duplicate_do_no_harm() {
    let config = fifo::Config { window: 2, ..fifo::Config::around(Config::default()) };
    let check = among::with::<Fifo<EdgeChasing>>(2, config).entries([1, 0]).in_flight(2);
    safe_and_live(check.losing(1).duplicating(1)).run().assert_holds();
}

/// Two take two locks, each in its own order.
fn two_named<P: Mutex>(inner: P::Config, first: [&str; 2], second: [&str; 2]) -> Check<InTurn<P>> {
    let list = |names: [&str; 2]| names.map(|name| Name::new(name).unwrap()).to_vec();
    let names = Arc::new([list(first), list(second)]);
    Check::with(2, in_turn::Config { names, inner })
}

/// Permissions, and a token that is asked for: instances that are booted when their name is first
/// heard of. In one order they are right, in opposite orders two wait for each other for ever,
/// and a lock that is wrong lets two in however many of it there are.
#[test]
fn named_locks_of_permissions_and_of_tokens_deadlock_in_opposite_orders_only() {
    let ra = |switches| ricart_agrawala::Config { variants: switches };
    let right = || ra(Variants::none());
    let one_order = [
        explored(two_named::<RicartAgrawala>(right(), ["a", "b"], ["a", "b"])),
        explored(two_named::<SuzukiKasami>((), ["a", "b"], ["a", "b"])),
    ];
    assert_eq!(one_order, [(57, 79), (31, 42)]);
    for opposite in [
        safe_and_live(two_named::<RicartAgrawala>(right(), ["a", "b"], ["b", "a"])).run(),
        safe_and_live(two_named::<SuzukiKasami>((), ["a", "b"], ["b", "a"])).run(),
    ] {
        assert_eq!(violated(&opposite, "starvation-freedom", 3), Manner::Deadlock);
        holds(&opposite, "mutual-exclusion");
    }
    let strict = ra(Variants::none().with(ricart_agrawala::Switch::ClockOnlyStrict));
    let wrong = safe_and_live(two_named::<RicartAgrawala>(strict, ["a", "b"], ["a", "b"])).run();
    violated(&wrong, "mutual-exclusion", 10);
}

/// P2 and P3 take two locks at one coordinator, each in its own order.
fn named(second: [&str; 2], third: [&str; 2]) -> Check<InTurn<Central>> {
    let list = |names: [&str; 2]| names.map(|name| Name::new(name).unwrap()).to_vec();
    let names = Arc::new([list(second), list(second), list(third)]);
    let config = in_turn::Config { names, inner: central::Config::default() };
    Check::with(3, config).entries([0, 1, 1])
}

#[test]
fn named_locks_in_one_order_never_deadlock_and_in_opposite_orders_they_do() {
    let sorted = named(["büro", "办公室"], ["büro", "办公室"]);
    let opposite = safe_and_live(named(["büro", "办公室"], ["办公室", "büro"])).run();
    assert_eq!(violated(&opposite, "starvation-freedom", 4), Manner::Deadlock);
    holds(&opposite, "mutual-exclusion");
    // One looks like the other, and is another: there are three locks.
    let alike = named(["caf\u{e9}", "a"], ["a", "cafe\u{301}"]);
    assert_eq!([sorted, alike].map(explored), [(70, 113), (90, 159)]);
}
