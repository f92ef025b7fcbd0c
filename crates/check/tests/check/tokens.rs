//! Tests of Suzuki–Kasami, Naimi–Trehel and Raymond in every schedule, without faults and with one
//! fault.
//!
//! Some of the expected numbers of states have independent confirmation in `tests/independent`.
//! Only this checker has computed the other numbers.

use std::fmt::Debug;

use tenure_algorithms::mutex::{NaimiTrehel, Raymond, SuzukiKasami, raymond};
use tenure_check::{Check, ViolationKind};
use tenure_core::monitors::RequestOrder;
use tenure_core::tree::TreeShape;
use tenure_core::{Mutex, ProcessId};

use crate::by_service::{ServiceCheck, of, over_channel, with};
use crate::catalogue::{assert_sound, holds, violated};
use crate::faults::Outcome::{Blocked, Fine, Unsafe};
use crate::faults::{Outcome, cell};
use crate::survival::explored;

const SHORT: &str = "no violation in runs this short";

fn suzuki_kasami(size: u32) -> ServiceCheck<SuzukiKasami> {
    of::<SuzukiKasami>(size)
}

fn naimi_trehel(size: u32) -> ServiceCheck<NaimiTrehel> {
    of::<NaimiTrehel>(size)
}

fn raymond(shape: TreeShape, size: u32) -> ServiceCheck<Raymond> {
    with::<Raymond>(size, raymond::Config::with_tree_shape(shape, size))
}

fn star(size: u32) -> ServiceCheck<Raymond> {
    raymond(TreeShape::Star, size)
}

fn path(size: u32) -> ServiceCheck<Raymond> {
    raymond(TreeShape::Path, size)
}

/// Returns the numbers of states and steps of four searches. Two processes enter twice each, on
/// FIFO links and on reordering links. Three processes enter `three` times each, on FIFO links and
/// on reordering links.
fn counts<P: Mutex + Debug>(of: impl Fn(u32) -> Check<P>, three: u32) -> [(u64, u64); 4] {
    let two = || of(2).request_limits(2);
    let three = || of(3).request_limits(three);
    [two().fifo(), two(), three().fifo(), three()].map(explored)
}

#[test]
fn suzuki_kasami_is_safe_and_live_in_any_order() {
    let known = [(78, 110), (83, 120), (579, 1_581), (725, 2_078)];
    assert_eq!(counts(suzuki_kasami, 1), known);
    assert_eq!(explored(suzuki_kasami(3).request_limits([2, 2, 1])), (9_081, 33_371));
}

#[test]
fn naimi_trehel_is_safe_and_live_in_any_order() {
    let known = [(64, 94), (69, 104), (1_432, 2_780), (1_530, 3_114)];
    assert_eq!(counts(naimi_trehel, 2), known);
}

#[test]
fn raymond_is_safe_and_live_on_star_and_path() {
    let known = [(64, 94), (69, 104), (854, 1_706), (1_004, 2_056)];
    assert_eq!(counts(star, 2), known);
    let known = [(64, 94), (69, 104), (860, 1_720), (1_012, 2_072)];
    assert_eq!(counts(path, 2), known);
}

/// Suzuki–Kasami violates the order of requests with three processes, even without messages between
/// applications. The reason is that the lock's own messages can tell a process of an earlier
/// request.
#[test]
fn suzuki_kasami_breaks_request_order_of_three() {
    let report = suzuki_kasami(3).always(RequestOrder::new()).run();
    assert_eq!(violated(&report, "order", 5), ViolationKind::Step);
}

/// A message between applications can tell a process of an earlier request. This process then
/// requests, too, and a lock on a tree may grant its request first.
#[test]
fn application_message_reveals_request_order_violation_of_trees() {
    let context = |report| violated(&report, "order", 4);
    let naimi = naimi_trehel(3).max_application_messages(1).always(RequestOrder::new()).run();
    assert_eq!(context(naimi), ViolationKind::Step);
    for check in [star(3), path(3)] {
        let report = check.max_application_messages(1).always(RequestOrder::new()).run();
        assert_eq!(context(report), ViolationKind::Step);
    }
}

/// Raymond's lock on a path violates the order of requests if a process enters twice. The violation
/// occurs even if the applications exchange no messages, because a process can learn of an earlier
/// request from the lock's own messages.
#[test]
fn trees_break_request_order_with_second_entry() {
    holds(&naimi_trehel(4).always(RequestOrder::new()).run(), "order");
    holds(&star(4).always(RequestOrder::new()).run(), "order");
    for path in [path(4).request_limits([2, 1, 1, 1]), path(3).request_limits([2, 1, 1])] {
        assert_eq!(
            violated(&path.always(RequestOrder::new()).run(), "order", 11),
            ViolationKind::Step
        );
    }
}

fn overtakes<P: Mutex>(of: impl Fn() -> Check<P>) {
    for entries in 2..=5 {
        let bypass = of().request_limits([entries, 1]).measuring_bypass(9).run().bypass;
        assert_eq!(bypass.expect("measured").max, entries);
    }
}

#[test]
fn token_holder_overtakes_without_bound() {
    overtakes(|| suzuki_kasami(2));
    overtakes(|| naimi_trehel(2));
    overtakes(|| star(2));
}

#[test]
fn reordering_and_loss_match_fault_matrix() {
    for check in [suzuki_kasami(3), suzuki_kasami(3).fifo()] {
        assert_eq!(cell(check), Fine);
    }
    assert_eq!(cell(suzuki_kasami(2).max_losses(1)), Blocked);
    assert_eq!(cell(naimi_trehel(2).max_losses(1)), Blocked);
    assert_eq!(cell(star(2).max_losses(1)), Blocked);
    assert_eq!(cell(suzuki_kasami(3).max_losses(1)), Blocked);
    assert_eq!(cell(naimi_trehel(3).max_losses(1)), Blocked);
    assert_eq!(cell(path(3).max_losses(1)), Blocked);
}

/// A duplicated token has an effect only if it arrives while its receiver waits, because a process
/// that does not wait ignores a token. Two processes violate mutual exclusion only if a message
/// overtakes the duplicate. Three processes on FIFO links violate it only if a process enters
/// twice.
#[test]
fn duplication_matches_fault_matrix_for_suzuki_kasami() {
    let twice = |size| suzuki_kasami(size).max_duplicates(1);
    assert_eq!(cell(twice(2).request_limits(2).fifo()), Fine, "{SHORT}");
    assert_eq!(cell(twice(3)), Fine, "{SHORT}");
    assert_eq!(cell(twice(2).request_limits(2)), Unsafe);
    assert_eq!(cell(twice(3).request_limits([2, 2, 1]).fifo()), Unsafe);
}

/// In the lock of Naimi and Trehel, a duplicated request makes two processes wait for each other. A
/// duplicated token violates exclusion if a process enters twice. In Raymond's lock with three
/// processes, a duplicate violates exclusion even if each process enters once.
#[test]
fn duplication_matches_fault_matrix_for_trees() {
    let twice = |size| naimi_trehel(size).max_duplicates(1);
    assert_eq!(cell(twice(2).request_limits(2).fifo()), Blocked);
    assert_eq!(cell(twice(2).request_limits(2)), Unsafe);
    assert_eq!(cell(twice(3).fifo()), Blocked);
    assert_eq!(cell(twice(3).request_limits(2).fifo()), Unsafe);
    assert_eq!(cell(star(2).max_duplicates(1).request_limits(2).fifo()), Fine, "{SHORT}");
    assert_eq!(cell(star(2).max_duplicates(1).request_limits(2)), Unsafe);
    assert_eq!(cell(star(3).max_duplicates(1).fifo()), Unsafe);
    assert_eq!(cell(path(3).max_duplicates(1).fifo()), Unsafe);
}

#[test]
fn crashes_match_fault_matrix() {
    for (crash, recover) in [(1, 0), (1, 1)] {
        assert_eq!(cell(suzuki_kasami(2).max_crashes(crash).max_recoveries(recover)), Blocked);
        assert_eq!(cell(naimi_trehel(2).max_crashes(crash).max_recoveries(recover)), Blocked);
        assert_eq!(cell(star(2).max_crashes(crash).max_recoveries(recover)), Blocked);
    }
}

/// Checks a lock with three processes, of which the process `down` is down from the start. The
/// outcome tells whether the other processes are served.
fn without<P: Mutex>(check: Check<P>, down: u32, entries: [u32; 3]) -> Outcome {
    cell(check.request_limits(entries).initially_down([ProcessId(down)]))
}

#[test]
fn idle_crash_blocks_paths_through_it() {
    assert_eq!(without(suzuki_kasami(3), 1, [2, 0, 1]), Fine);
    assert_eq!(without(naimi_trehel(3), 1, [2, 0, 1]), Fine);
    assert_eq!(without(star(3), 1, [2, 0, 1]), Fine, "a leaf");
    assert_eq!(without(path(3), 1, [2, 0, 1]), Blocked, "between them");
    assert_eq!(without(suzuki_kasami(3), 0, [0, 1, 1]), Blocked, "P1 has the token");
    assert_eq!(without(naimi_trehel(3), 0, [0, 1, 1]), Blocked, "P1 has the token");
    assert_eq!(without(star(3), 0, [0, 1, 1]), Blocked, "P1 has the token");
}

#[test]
fn reliable_channel_hides_loss_and_duplication() {
    let star = raymond::Config::with_tree_shape(TreeShape::Star, 2);
    for check in [
        over_channel::<SuzukiKasami>(()),
        over_channel::<NaimiTrehel>(()),
        over_channel::<Raymond>(star),
    ] {
        assert_sound(check.max_losses(1).max_duplicates(1));
    }
}
