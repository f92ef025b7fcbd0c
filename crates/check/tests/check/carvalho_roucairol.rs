//! Carvalho–Roucairol in every schedule, and what one fault does to it.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use tenure_algorithms::Variants;
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::mutex::CarvalhoRoucairol;
use tenure_algorithms::mutex::carvalho_roucairol::{Config, Switch};
use tenure_check::{Judgement, Manner};
use tenure_claims::claims;
use tenure_core::ProcessId;
use tenure_core::monitors::{Fencing, Order};

use crate::among::{Among, of, with};
use crate::catalogue::{holds, safe_and_live, violated};
use crate::faults::Cell::{Blocked, Fine, Unsafe};
use crate::faults::cell;

fn check(size: u32) -> Among<CarvalhoRoucairol> {
    of::<CarvalhoRoucairol>(size)
}

/// How many states and steps there are, all of them safe and none of them stuck.
fn explored(check: Among<CarvalhoRoucairol>) -> (u64, u64) {
    let report = safe_and_live(check).always(Fencing::new()).run();
    report.assert_holds();
    (report.states, report.transitions)
}

#[claims("7-CR2")]
#[test]
fn two_and_three_are_safe_and_live_in_any_order_with_the_known_numbers_of_states() {
    let two = [check(2).entries(2).fifo(), check(2).entries(2)];
    assert_eq!(two.map(explored), [(84, 114), (153, 207)]);
    let three = [check(3).fifo(), check(3), check(3).entries([2, 1, 1])];
    assert_eq!(three.map(explored), [(690, 1_565), (983, 2_589), (1_965, 5_124)]);
}

#[claims("7-CR1")]
#[test]
fn whoever_does_not_ask_again_is_never_served() {
    let config = Config { variants: Variants::none().with(Switch::NoRerequest) };
    for fifo in [true, false] {
        let check = with::<CarvalhoRoucairol>(3, config.clone());
        let check = if fifo { check.fifo() } else { check };
        let report = safe_and_live(check).run();
        assert_eq!(violated(&report, "starvation-freedom", 4), Manner::Blocked);
        holds(&report, "mutual-exclusion");
    }
}

#[claims("7-CR2")]
#[test]
fn whoever_enters_again_without_asking_breaks_the_order_of_requests() {
    let report = check(3).entries([2, 1, 1]).always(Order::new()).run();
    assert_eq!(violated(&report, "order", 11), Manner::Step);
    holds(&check(3).always(Order::new()).run(), "order");
}

#[test]
fn whoever_has_its_permissions_overtakes_as_often_as_it_enters() {
    for entries in 2..=5 {
        let bypass = check(2).entries([entries, 1]).measuring_bypass(9).run().bypass;
        assert_eq!(bypass.expect("measured").most, entries);
    }
}

#[test]
fn the_column_of_the_fault_matrix() {
    assert_eq!(cell(check(3).fifo()), Fine);
    assert_eq!(cell(check(3)), Fine);
    assert_eq!(cell(check(2).losing(1)), Blocked);
    assert_eq!(cell(check(2).entries(2).duplicating(1)), Unsafe);
    assert_eq!(cell(check(2).entries(2).duplicating(1).fifo()), Unsafe);
    assert_eq!(cell(check(2).duplicating(1).fifo()), Fine, "too short to show it");
    assert_eq!(cell(check(2).crashing(1)), Blocked);
    assert_eq!(cell(check(2).entries(2).crashing(1).recovering(1)), Unsafe);
}

#[test]
fn a_process_that_is_down_is_missed_only_by_those_who_lack_its_permission() {
    let down = |process| [ProcessId(process)];
    assert_eq!(cell(check(3).entries([2, 2, 0]).down(down(2))), Fine);
    assert_eq!(cell(check(3).entries([0, 1, 0]).down(down(0))), Blocked);
}

#[test]
fn over_the_reliable_channel_loss_and_duplication_do_no_harm() {
    let check = |entries: [u32; 2]| {
        let inner = fifo::Config { window: 2, ..fifo::Config::around(Config::default()) };
        with::<Fifo<CarvalhoRoucairol>>(2, inner).entries(entries).in_flight(2)
    };
    let report = safe_and_live(check([1, 1]).losing(1).duplicating(1)).run();
    report.assert_holds();
    assert_eq!(report.of("starvation-freedom"), Judgement::Holds);
}
