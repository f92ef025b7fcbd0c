//! Suzuki–Kasami with a token that is made anew (3.5): every schedule, every crash.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::mutex::{NishioLiManning, SuzukiKasami};
use tenure_check::Moment;
use tenure_core::ProcessId;
use tenure_core::monitors::MutualExclusion;

use crate::among::{Among, of, with};
use crate::catalogue::violated;
use crate::faults::Cell::{Blocked, Fine};
use crate::faults::cell;
use crate::survival::{DifferentFences, judged, survives};

fn check(size: u32) -> Among<NishioLiManning> {
    of::<NishioLiManning>(size).detecting()
}

#[test]
fn without_a_crash_its_states_are_those_of_the_plain_algorithm() {
    for (size, entries, states) in [(2, 2, 83), (3, 1, 725)] {
        assert_eq!(survives(check(size).entries(entries)), states);
        let plain = of::<SuzukiKasami>(size).entries(entries);
        assert_eq!(survives(plain), states);
    }
}

#[test]
fn one_crash_of_two_and_of_three_is_survived_wherever_it_hits() {
    assert_eq!(survives(check(2).entries(2).crashing(1)), 491);
    assert_eq!(survives(check(3).entries(1).crashing(1)), 40_313);
}

#[test]
fn two_crashes_of_three_are_survived() {
    assert_eq!(survives(check(3).entries([0, 1, 1]).crashing(2)), 10_372);
}

/// Who keeps the token and makes the next gives it up when the dead one's question comes late.
#[test]
fn two_crashes_of_three_are_survived_by_who_enters_twice() {
    assert_eq!(survives(check(3).entries([1, 2, 0]).crashing(2)), 13_115);
}

/// 5.6: what blocks the plain algorithm, by who crashes and when.
#[test]
fn whoever_crashes_with_the_token_or_waiting_blocks_the_plain_algorithm_and_not_this_one() {
    for moment in [Moment::Idle, Moment::Waiting, Moment::Inside] {
        let tolerant = check(3).entries([1, 1, 0]).crashing(1).crashing_while(moment);
        assert_eq!(cell(tolerant), Fine, "{moment:?}");
        let plain = of::<SuzukiKasami>(3).entries([1, 1, 0]).detecting();
        assert_eq!(cell(plain.crashing(1).crashing_while(moment)), Blocked, "{moment:?}");
    }
}

#[test]
fn a_holder_that_is_down_from_the_start_is_replaced() {
    let down = [ProcessId(0)];
    assert_eq!(cell(check(3).entries([0, 1, 1]).down(down)), Fine);
    let plain = of::<SuzukiKasami>(3).entries([0, 1, 1]).detecting();
    assert_eq!(cell(plain.down(down)), Blocked);
}

#[test]
fn without_a_detector_a_crash_blocks() {
    assert_eq!(cell(of::<NishioLiManning>(2).crashing(1)), Blocked);
}

/// 3.6: with a detector that can be wrong, safety is by the fence alone.
#[test]
fn a_suspicion_in_vain_lets_two_in_and_their_fences_differ() {
    let wrong = || check(2).entries(2).suspecting_falsely(1);
    let report = wrong().always(MutualExclusion::new()).run();
    violated(&report, "mutual-exclusion", 3);
    for wrong in [wrong(), check(3).entries([1, 1, 0]).suspecting_falsely(1)] {
        let named = wrong.always(DifferentFences::default());
        named.starvation_free().run().assert_holds();
    }
}

/// 5.6: the token that was on its way to P2 when it crashed arrives when it is back, and P2 cannot
/// know that P1 has made another. Its card promises nothing for such a case.
#[test]
fn whoever_comes_back_takes_an_old_token_for_a_new_one() {
    let report = judged(check(2).entries(2).crashing(1).recovering(1));
    violated(&report, "mutual-exclusion", 8);
    violated(&report, "starvation-freedom", 3);
}

#[test]
fn a_loss_and_a_duplicate_do_no_harm_over_the_reliable_channel() {
    let config = fifo::Config { window: 2, ..fifo::Config::around(()) };
    let over = || {
        let check = with::<Fifo<NishioLiManning>>(2, config.clone());
        check.in_flight(2).detecting()
    };
    assert_eq!(survives(over().entries([0, 1]).losing(1).duplicating(1)), 3_131);
    assert_eq!(survives(over().entries([0, 1]).losing(1).crashing(1)), 1_660);
}
