//! Tests of Raymond's k-mutex. In every schedule, at most k processes are inside the critical
//! section at the same time.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use std::num::NonZeroU32;

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::{KMutex, k_mutex};
use tenure_check::CheckReport;
use tenure_core::monitors::MutualExclusion;

use crate::by_service::{ServiceCheck, over_channel, with};
use crate::catalogue::{assert_sound, holds, violated, violates};

fn config(max: u32) -> k_mutex::Config {
    k_mutex::Config::with_max_inside(NonZeroU32::new(max).unwrap())
}

fn check(size: u32, max: u32) -> ServiceCheck<KMutex> {
    with::<KMutex>(size, config(max))
}

fn with_properties(check: ServiceCheck<KMutex>, max: u32) -> CheckReport {
    check.always(MutualExclusion::at_most(max)).check_starvation_freedom().run()
}

#[test]
fn admits_at_most_k_and_serves_all() {
    for (size, max, entries, states) in [(2, 1, 2, 150), (2, 2, 2, 2519), (3, 2, 1, 11_434)] {
        let report = with_properties(check(size, max).request_limits(entries), max);
        report.assert_holds();
        assert_eq!(report.states, states, "n = {size}, k = {max}");
    }
}

#[test]
fn tolerates_two_duplicates() {
    with_properties(check(2, 1).request_limits([2, 2]).max_duplicates(2), 1).assert_holds();
    with_properties(check(3, 2).request_limits([1, 1, 1]).max_duplicates(1).fifo(), 2)
        .assert_holds();
}

#[test]
fn admits_more_than_one_process() {
    violated(&check(3, 2).always(MutualExclusion::new()).run(), "mutual-exclusion", 6);
}

#[test]
fn surplus_reply_admits_three_of_two() {
    let variants = Variants::none().with(k_mutex::VariantId::UntaggedReply);
    let wrong = with::<KMutex>(3, k_mutex::Config { variants, ..config(2) });
    violates(&with_properties(wrong.request_limits([2, 1, 1]).fifo(), 2), "at-most-k");
}

/// At most k processes may be inside at the same time. A lost message or a crash occupies one of
/// these k places forever. If all k places are occupied in this way, processes wait forever.
#[test]
fn one_crash_leaves_k_minus_one_places() {
    with_properties(check(3, 2).request_limits([1, 1, 0]).fifo().max_crashes(1), 2).assert_holds();
    let only_one = with_properties(check(2, 1).max_crashes(1), 1);
    holds(&only_one, "at-most-k");
    violates(&only_one, "starvation-freedom");
    with_properties(check(3, 2).max_losses(1).fifo(), 2).assert_holds();
    let lost = with_properties(check(3, 2).max_losses(2).fifo(), 2);
    holds(&lost, "at-most-k");
    violates(&lost, "starvation-freedom");
}

#[test]
fn reliable_channel_hides_loss_and_duplication() {
    assert_sound(
        over_channel::<KMutex>(config(1)).request_limits([1, 0]).max_losses(1).max_duplicates(1),
    );
}
