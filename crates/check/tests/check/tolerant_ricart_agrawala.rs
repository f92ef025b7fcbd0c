//! Ricart–Agrawala with a detector (3.6): every schedule, every crash.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::mutex::{RicartAgrawala, TolerantRicartAgrawala};
use tenure_check::Moment;
use tenure_core::ProcessId;
use tenure_core::monitors::{MutualExclusion, Order};

use crate::among::{Among, of, with};
use crate::catalogue::{holds, violated};
use crate::faults::Cell::{Blocked, Fine, Unsafe};
use crate::faults::cell;
use crate::survival::{DifferentFences, judged, survives};

fn check(size: u32) -> Among<TolerantRicartAgrawala> {
    of::<TolerantRicartAgrawala>(size).detecting()
}

/// It remembers its last entry, so that there are a few more states.
#[test]
fn without_a_crash_it_is_safe_and_live_and_fences_increase() {
    assert_eq!(survives(check(2).entries(2)), 221);
    assert_eq!(survives(check(3).entries(1)), 4_604);
    assert_eq!(survives(check(3).entries(1).fifo()), 2_551);
}

#[test]
fn one_crash_of_two_and_of_three_is_survived_wherever_it_hits() {
    assert_eq!(survives(check(2).entries(2).crashing(1)), 1_054);
    assert_eq!(survives(check(3).entries(1).crashing(1)), 45_754);
}

#[test]
fn entries_are_in_the_order_of_requests_also_across_a_crash() {
    for check in [check(2).entries(2), check(3).entries([1, 1, 0])] {
        check.crashing(1).always(Order::new()).run().assert_holds();
    }
}

#[test]
fn two_crashes_of_three_are_survived() {
    assert_eq!(survives(check(3).entries([0, 1, 1]).crashing(2)), 3_571);
}

/// 5.6: what blocks the plain algorithm, by who crashes and when.
#[test]
fn whoever_crashes_blocks_the_plain_algorithm_and_not_this_one() {
    for moment in [Moment::Idle, Moment::Waiting, Moment::Inside] {
        let tolerant = check(3).entries([1, 1, 0]).crashing(1).crashing_while(moment);
        assert_eq!(cell(tolerant), Fine, "{moment:?}");
        let plain = of::<RicartAgrawala>(3).entries([1, 1, 0]).detecting();
        assert_eq!(cell(plain.crashing(1).crashing_while(moment)), Blocked, "{moment:?}");
    }
}

#[test]
fn without_a_detector_a_crash_blocks() {
    let blind = of::<TolerantRicartAgrawala>(2).crashing(1);
    assert_eq!(cell(blind), Blocked);
}

/// 3.15, 5.6: recovery makes the plain algorithm unsafe.
#[test]
fn whoever_comes_back_is_let_in_again_with_a_higher_fence() {
    let plain = of::<RicartAgrawala>(2).detecting().crashing(1).recovering(1);
    assert_eq!(cell(plain), Unsafe);
    assert_eq!(survives(check(2).entries(2).crashing(1).recovering(1)), 61_537);
    for (process, states) in [(0, 13_105), (1, 14_047), (2, 26_047)] {
        let one = check(3).entries([1, 1, 0]).fifo().crashing(1).crashing_at([ProcessId(process)]);
        assert_eq!(survives(one.recovering(1)), states);
    }
}

/// P1 enters while P2 is down, and is down when P2 is back: nobody live knows its fence.
#[test]
fn if_all_crash_by_turns_they_exclude_each_other_and_their_fences_are_not_in_order() {
    let report = judged(check(2).entries(1).crashing(2).recovering(2));
    holds(&report, "mutual-exclusion");
    holds(&report, "starvation-freedom");
    violated(&report, "fencing", 7);
}

/// 3.6: with a detector that can be wrong, safety is by the fence alone.
#[test]
fn a_suspicion_in_vain_lets_two_in_and_their_fences_differ() {
    let lets_two_in = |wrong: &dyn Fn() -> Among<TolerantRicartAgrawala>, length| {
        let report = wrong().always(MutualExclusion::new()).run();
        violated(&report, "mutual-exclusion", length);
        let named = wrong().always(DifferentFences::default());
        named.starvation_free().run().assert_holds();
    };
    lets_two_in(&|| check(2).entries(2).suspecting_falsely(1), 5);
    lets_two_in(&|| check(3).entries([1, 1, 0]).suspecting_falsely(1), 9);
}

#[test]
fn a_loss_and_a_duplicate_do_no_harm_over_the_reliable_channel() {
    let config = fifo::Config { window: 2, ..fifo::Config::around(()) };
    let over = || {
        let check = with::<Fifo<TolerantRicartAgrawala>>(2, config.clone());
        check.in_flight(2).detecting()
    };
    assert_eq!(survives(over().entries([1, 0]).losing(1).duplicating(1)), 3_131);
    assert_eq!(survives(over().entries([1, 0]).losing(1).crashing(1)), 1_632);
}

#[test]
fn a_duplicate_does_no_harm_without_it_either() {
    assert_eq!(survives(check(2).entries(1).duplicating(1).crashing(1)), 692);
}
