//! The token ring that mends itself: every schedule, every crash.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use tenure_algorithms::mutex::RepairedRing;
use tenure_check::Judgement;
use tenure_core::monitors::MutualExclusion;

use crate::among::{Among, of};
use crate::catalogue::violated;
use crate::survival::{DifferentFences, judged};

fn check(size: u32) -> Among<RepairedRing> {
    of::<RepairedRing>(size).detecting()
}

#[test]
fn without_a_crash_it_is_the_token_ring() {
    for (size, entries, states) in [(2, 2, 100), (3, 1, 162)] {
        let report = judged(check(size).entries(entries));
        report.assert_holds();
        assert_eq!(report.states, states, "n = {size}");
    }
}

#[test]
fn one_crash_of_two_and_of_three_is_survived_wherever_it_hits() {
    judged(check(2).entries(2).crashing(1)).assert_holds();
    let report = judged(check(3).entries([1, 1, 1]).crashing(1));
    report.assert_holds();
}

#[test]
fn two_crashes_of_three_are_survived() {
    judged(check(3).entries([0, 1, 1]).crashing(2)).assert_holds();
}

#[test]
fn without_a_detector_a_crash_blocks() {
    let report = judged(of::<RepairedRing>(3).crashing(1));
    assert_eq!(report.of("mutual-exclusion"), Judgement::Holds, "{report}");
    assert_eq!(report.of("starvation-freedom"), Judgement::Violated, "{report}");
}

/// 3.6: with a detector that can be wrong, safety is by the fence alone.
#[test]
fn a_suspicion_in_vain_lets_two_in_and_their_fences_differ() {
    let wrong = || check(2).entries(1).suspecting_falsely(1);
    let report = wrong().always(MutualExclusion::new()).run();
    violated(&report, "mutual-exclusion", 3);
    let named = wrong().always(DifferentFences::default());
    named.starvation_free().run().assert_holds();
    let three = check(3).entries([1, 1, 0]).suspecting_falsely(1);
    three.always(DifferentFences::default()).run().assert_holds();
}
