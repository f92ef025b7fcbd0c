//! Tests of Carvalho–Roucairol in every schedule, and with one fault.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::CarvalhoRoucairol;
use tenure_algorithms::mutex::carvalho_roucairol::{Config, VariantId};
use tenure_check::ViolationKind;
use tenure_core::ProcessId;
use tenure_core::monitors::RequestOrder;

use crate::by_service::{ServiceCheck, of, over_channel, with};
use crate::catalogue::{assert_sound, holds, safe_and_live, violated};
use crate::faults::Outcome::{Blocked, Fine, Unsafe};
use crate::faults::cell;
use crate::survival::explored;

fn check(size: u32) -> ServiceCheck<CarvalhoRoucairol> {
    of::<CarvalhoRoucairol>(size)
}

#[test]
fn safe_and_live_for_two_and_three_in_any_order() {
    let two = [check(2).request_limits(2).fifo(), check(2).request_limits(2)];
    assert_eq!(two.map(explored), [(84, 114), (153, 207)]);
    let three = [check(3).fifo(), check(3), check(3).request_limits([2, 1, 1])];
    assert_eq!(three.map(explored), [(690, 1_565), (983, 2_589), (1_965, 5_124)]);
}

#[test]
fn missing_second_request_starves_process() {
    let config = Variants::none().with(VariantId::NoRerequest);
    for fifo in [true, false] {
        let check = with::<CarvalhoRoucairol>(3, config);
        let check = if fifo { check.fifo() } else { check };
        let report = safe_and_live(check).run();
        assert_eq!(violated(&report, "starvation-freedom", 4), ViolationKind::Blocked);
        holds(&report, "mutual-exclusion");
    }
}

#[test]
fn entry_with_kept_permission_breaks_request_order() {
    let report = check(3).request_limits([2, 1, 1]).always(RequestOrder::new()).run();
    assert_eq!(violated(&report, "order", 11), ViolationKind::Step);
    holds(&check(3).always(RequestOrder::new()).run(), "order");
}

#[test]
fn holder_of_permissions_overtakes_without_bound() {
    for entries in 2..=5 {
        let bypass = check(2).request_limits([entries, 1]).measuring_bypass(9).run().bypass;
        assert_eq!(bypass.expect("measured").max, entries);
    }
}

#[test]
fn matches_fault_matrix() {
    assert_eq!(cell(check(3).fifo()), Fine);
    assert_eq!(cell(check(3)), Fine);
    assert_eq!(cell(check(2).max_losses(1)), Blocked);
    assert_eq!(cell(check(2).request_limits(2).max_duplicates(1)), Unsafe);
    assert_eq!(cell(check(2).request_limits(2).max_duplicates(1).fifo()), Unsafe);
    assert_eq!(cell(check(2).max_duplicates(1).fifo()), Fine, "no violation in runs this short");
    assert_eq!(cell(check(2).max_crashes(1)), Blocked);
    assert_eq!(cell(check(2).request_limits(2).max_crashes(1).max_recoveries(1)), Unsafe);
}

#[test]
fn crashed_process_blocks_only_those_lacking_its_permission() {
    let down = |process| [ProcessId(process)];
    assert_eq!(cell(check(3).request_limits([2, 2, 0]).initially_down(down(2))), Fine);
    assert_eq!(cell(check(3).request_limits([0, 1, 0]).initially_down(down(0))), Blocked);
}

#[test]
fn reliable_channel_hides_loss_and_duplication() {
    let check = over_channel::<CarvalhoRoucairol>(Config::default()).request_limits([1, 1]);
    assert_sound(check.max_losses(1).max_duplicates(1));
}
