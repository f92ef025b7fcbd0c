//! Votes of those who are up: every schedule, every crash.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use tenure_algorithms::Variants;
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::mutex::Majority;
use tenure_algorithms::mutex::majority::{Config, Switch};
use tenure_check::{Judgement, Report};
use tenure_core::monitors::{Fencing, MutualExclusion};
use tenure_core::quorum::Kind;

use crate::among::{Among, with};
use crate::catalogue::violated;
use crate::survival::{DifferentFences, judged, survives};

const KINDS: [Kind; 2] = [Kind::Majority, Kind::Tree];

fn reordered(kind: Kind, size: u32) -> Among<Majority> {
    with::<Majority>(size, Config::of(kind, size).unwrap()).detecting()
}

fn check(kind: Kind, size: u32) -> Among<Majority> {
    reordered(kind, size).fifo()
}

#[test]
fn without_a_crash_two_and_three_are_safe_and_live_with_the_known_numbers_of_states() {
    let count = |kind, (size, entries)| survives(check(kind, size).entries(entries));
    let counts = |kind| [(2, 1), (2, 2), (3, 1)].map(|scope| count(kind, scope));
    assert_eq!(KINDS.map(counts), [[49, 269, 457], [49, 269, 404]]);
}

/// As with Maekawa's: while nobody is suspected, nobody withdraws.
#[test]
fn without_a_crash_channels_may_reorder() {
    assert_eq!(KINDS.map(|kind| survives(reordered(kind, 3))), [549, 622]);
}

#[test]
fn one_crash_of_three_is_survived_wherever_it_hits() {
    for kind in KINDS {
        for entries in [[1, 1, 0], [1, 0, 1], [0, 1, 1], [2, 1, 0]] {
            survives(check(kind, 3).entries(entries).crashing(1));
        }
    }
    assert_eq!(KINDS.map(|kind| survives(check(kind, 3).crashing(1))), [24_628, 17_207]);
}

/// Why the card asks for channels in order.
#[test]
fn where_channels_reorder_a_withdrawal_can_take_the_next_request_with_it() {
    let report = judged(reordered(Kind::Majority, 3).entries([1, 1, 0]).crashing(1));
    assert_eq!(report.of("mutual-exclusion"), Judgement::Holds, "{report}");
    assert_eq!(report.of("fencing"), Judgement::Holds, "{report}");
    violated(&report, "starvation-freedom", 8);
}

/// 3.6: ⌊(N−1)/2⌋ is 1.
#[test]
fn two_crashes_of_three_block_and_nothing_worse() {
    for kind in KINDS {
        let report = judged(check(kind, 3).crashing(2));
        assert_eq!(report.of("mutual-exclusion"), Judgement::Holds, "{report}");
        assert_eq!(report.of("fencing"), Judgement::Holds, "{report}");
        assert_eq!(report.of("starvation-freedom"), Judgement::Violated, "{report}");
    }
}

#[test]
fn without_a_detector_one_crash_blocks() {
    let config = Config::of(Kind::Majority, 3).unwrap();
    let report = judged(with::<Majority>(3, config).fifo().crashing(1).entries([1, 0, 0]));
    assert_eq!(report.of("starvation-freedom"), Judgement::Violated, "{report}");
}

/// 3.6: with a detector that can be wrong, safety is by the fence alone.
#[test]
fn a_suspicion_in_vain_lets_two_in_and_their_fences_differ() {
    let wrong = |size, times| check(Kind::Majority, size).suspecting_falsely(times);
    let report = wrong(3, 1).entries([1, 1, 0]).always(MutualExclusion::new()).run();
    violated(&report, "mutual-exclusion", 7);
    let different =
        |check: Among<Majority>| check.always(DifferentFences::default()).starvation_free().run();
    different(wrong(2, 2).entries([2, 1])).assert_holds();
    different(wrong(3, 1)).assert_holds();
    // Twice: that a process which gives its own vote back does not give it to whom it suspects.
    different(wrong(3, 2).entries([1, 1, 0])).assert_holds();
}

fn switched(kind: Kind, switch: Switch) -> Report {
    let variants = Variants::none().with(switch);
    let config = Config { variants, ..Config::of(kind, 3).unwrap() };
    judged(with::<Majority>(3, config).fifo().detecting().crashing(1))
}

/// Negative controls: what the two rules are for.
#[test]
fn quorums_that_need_not_meet_let_two_in_and_without_generations_a_fence_comes_twice() {
    let report = switched(Kind::Tree, Switch::LeftOut);
    violated(&report, "mutual-exclusion", 5);
    for kind in KINDS {
        let report = switched(kind, Switch::OneGeneration);
        assert_eq!(report.of("mutual-exclusion"), Judgement::Holds, "{report}");
        assert_eq!(report.of("starvation-freedom"), Judgement::Holds, "{report}");
        violated(&report, "fencing", 8);
    }
}

/// 3.1: over the reliable channel a loss and a duplicate do no harm.
#[test]
fn over_the_reliable_channel_a_loss_and_a_duplicate_do_no_harm() {
    let inner = Config::of(Kind::Majority, 2).unwrap();
    let config = fifo::Config { window: 2, ..fifo::Config::around(inner) };
    let check = with::<Fifo<Majority>>(2, config).in_flight(2).fifo();
    let check = check.losing(1).duplicating(1).always(MutualExclusion::new());
    check.always(Fencing::new()).starvation_free().run().assert_holds();
}
