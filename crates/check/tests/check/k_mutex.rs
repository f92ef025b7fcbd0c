//! Raymond's k-mutex: at most k inside, in every schedule.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use std::num::NonZeroU32;

use tenure_algorithms::Variants;
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::mutex::{KMutex, k_mutex};
use tenure_check::{Judgement, Report};
use tenure_core::monitors::MutualExclusion;

use crate::among::{Among, with};

fn config(most: u32) -> k_mutex::Config {
    k_mutex::Config::at_most(NonZeroU32::new(most).unwrap())
}

fn check(size: u32, most: u32) -> Among<KMutex> {
    with::<KMutex>(size, config(most))
}

fn judged(check: Among<KMutex>, most: u32) -> Report {
    check.always(MutualExclusion::at_most(most)).starvation_free().run()
}

#[test]
fn at_most_k_are_inside_and_everybody_is_served_in_any_order() {
    for (size, most, entries, states) in [(2, 1, 2, 150), (2, 2, 2, 2519), (3, 2, 1, 11_434)] {
        let report = judged(check(size, most).entries(entries), most);
        report.assert_holds();
        assert_eq!(report.states, states, "n = {size}, k = {most}");
    }
}

#[test]
fn two_duplicates_do_no_harm() {
    judged(check(2, 1).entries([2, 2]).duplicating(2), 1).assert_holds();
    judged(check(3, 2).entries([1, 1, 1]).duplicating(1).fifo(), 2).assert_holds();
}

#[test]
fn mutual_exclusion_does_not_hold_and_two_requests_with_their_replies_show_it() {
    let report = check(3, 2).always(MutualExclusion::new()).run();
    let found = report.counterexample("mutual-exclusion").unwrap_or_else(|| panic!("{report}"));
    assert_eq!(found.length(), 6, "{found}");
}

#[test]
fn a_surplus_reply_that_serves_the_next_request_lets_three_in() {
    let variants = Variants::none().with(k_mutex::Switch::UntaggedReply);
    let wrong = with::<KMutex>(3, k_mutex::Config { variants, ..config(2) });
    let report = judged(wrong.entries([2, 1, 1]).fifo(), 2);
    assert_eq!(report.of("at-most-k"), Judgement::Violated, "{report}");
}

/// The cells of a fault matrix: a lost message or a crash takes one place, and blocks where there
/// is no other.
#[test]
fn one_crash_leaves_k_minus_one_places() {
    judged(check(3, 2).entries([1, 1, 0]).fifo().crashing(1), 2).assert_holds();
    let only_one = judged(check(2, 1).crashing(1), 1);
    assert_eq!(only_one.of("at-most-k"), Judgement::Holds, "{only_one}");
    assert_eq!(only_one.of("starvation-freedom"), Judgement::Violated, "{only_one}");
    judged(check(3, 2).losing(1).fifo(), 2).assert_holds();
    let lost = judged(check(3, 2).losing(2).fifo(), 2);
    assert_eq!(lost.of("at-most-k"), Judgement::Holds, "{lost}");
    assert_eq!(lost.of("starvation-freedom"), Judgement::Violated, "{lost}");
}

#[test]
fn over_the_reliable_channel_a_loss_and_a_duplicate_do_no_harm() {
    let config = fifo::Config { window: 2, ..fifo::Config::around(config(1)) };
    let check = with::<Fifo<KMutex>>(2, config).entries([1, 0]).in_flight(2);
    let check = check.losing(1).duplicating(1);
    check.always(MutualExclusion::new()).starvation_free().run().assert_holds();
}
