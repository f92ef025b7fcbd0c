//! Votes of those who are up: every schedule, every crash.

use tenure_algorithms::mutex::Majority;
use tenure_algorithms::mutex::majority::Config;
use tenure_check::{Check, Judgement, Report};
use tenure_core::monitors::{Fencing, MutualExclusion};
use tenure_core::quorum::Kind;

use crate::repaired_ring::DifferentFences;

fn check(kind: Kind, size: u32) -> Check<Majority> {
    Check::with(size, Config::of(kind, size).unwrap()).fifo().detecting()
}

fn judged(check: Check<Majority>) -> Report {
    check.always(MutualExclusion::new()).always(Fencing::new()).progress().run()
}

fn states(kind: Kind, size: u32, entries: u32) -> u64 {
    let report = judged(check(kind, size).entries(entries));
    report.assert_holds();
    report.states
}

#[test]
fn without_a_crash_two_and_three_are_safe_and_live_with_the_known_numbers_of_states() {
    let counts = |kind| [(2, 1), (2, 2), (3, 1)].map(|(size, entries)| states(kind, size, entries));
    assert_eq!([Kind::Majority, Kind::Tree].map(counts), [[49, 269, 0], [49, 269, 0]]);
}

#[test]
fn one_crash_of_three_is_survived_wherever_it_hits() {
    for kind in [Kind::Majority, Kind::Tree] {
        for entries in [[1, 1, 0], [1, 0, 1], [0, 1, 1]] {
            judged(check(kind, 3).entries(entries).crashing(1)).assert_holds();
        }
    }
}

/// 3.6: ⌊(N−1)/2⌋ is 1.
#[test]
fn two_crashes_of_three_block_and_nothing_worse() {
    let report = judged(check(Kind::Majority, 3).entries([1, 1, 0]).crashing(2));
    assert_eq!(report.of("mutual-exclusion"), Judgement::Holds, "{report}");
    assert_eq!(report.of("fencing"), Judgement::Holds, "{report}");
    assert_eq!(report.of("progress"), Judgement::Violated, "{report}");
}

#[test]
fn without_a_detector_one_crash_blocks() {
    let config = Config::of(Kind::Majority, 3).unwrap();
    let report = judged(Check::<Majority>::with(3, config).fifo().crashing(1).entries([1, 0, 0]));
    assert_eq!(report.of("progress"), Judgement::Violated, "{report}");
}

/// 3.6: with a detector that can be wrong, safety is by the fence alone.
#[test]
fn a_suspicion_in_vain_lets_two_in_and_their_fences_differ() {
    let wrong = |size| {
        let config = Config::of(Kind::Majority, size).unwrap();
        Check::<Majority>::with(size, config).fifo().suspecting_falsely(1)
    };
    let report = wrong(3).entries([1, 1, 0]).always(MutualExclusion::new()).run();
    report.counterexample("mutual-exclusion").unwrap_or_else(|| panic!("{report}"));
    let different = |check: Check<Majority>| {
        check.always_named("different-fences", DifferentFences::default()).progress().run()
    };
    different(wrong(2).entries(1)).assert_holds();
    different(wrong(3).entries([1, 1, 0])).assert_holds();
}
