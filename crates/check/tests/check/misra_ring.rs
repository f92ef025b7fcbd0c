//! Misra's two tokens: in every schedule, one lost of two comes back.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::{MisraRing, misra_ring};
use tenure_check::Judgement;
use tenure_core::monitors::{Bypass, MutualExclusion, Order};

use crate::among::{Among, of, with};
use crate::survival::judged;

fn check(size: u32) -> Among<MisraRing> {
    of::<MisraRing>(size).fifo()
}

#[test]
fn it_is_safe_and_live_and_nobody_is_passed_twice() {
    for (size, entries, states) in [(2, 2, 24_322), (3, 1, 206_118)] {
        let check = check(size).entries(entries).always(Bypass::at_most(1));
        let report = judged(check);
        report.assert_holds();
        assert_eq!(report.states, states, "n = {size}");
    }
}

#[test]
fn one_lost_of_two_comes_back_in_every_schedule_and_both_lost_do_not() {
    judged(check(2).entries(2).losing(1)).assert_holds();
    judged(check(3).entries(1).losing(1)).assert_holds();
    let both = judged(check(2).losing(2));
    assert_eq!(both.of("mutual-exclusion"), Judgement::Holds, "{both}");
    assert_eq!(both.of("fencing"), Judgement::Holds, "{both}");
    assert_eq!(both.of("starvation-freedom"), Judgement::Violated, "{both}");
}

/// As many numbers as processes and one more are enough, and one fewer is not: the bound of the
/// file is exact for two and three.
#[test]
fn n_plus_one_numbers_are_the_fewest() {
    let variants = Variants::none().with(misra_ring::Switch::FewNumbers);
    let few = || misra_ring::Config { variants, ..misra_ring::Config::default() };
    for size in 2..=3 {
        let wrong = with::<MisraRing>(size, few()).fifo();
        let report = wrong.always(MutualExclusion::new()).run();
        assert_eq!(report.of("mutual-exclusion"), Judgement::Violated, "n = {size}: {report}");
    }
}

#[test]
fn without_first_in_first_out_the_tokens_pass_each_other_unseen() {
    let report = of::<MisraRing>(2).entries(2).always(MutualExclusion::new()).run();
    assert_eq!(report.of("mutual-exclusion"), Judgement::Violated, "{report}");
}

/// The cells of a fault matrix that are not its own.
#[test]
fn a_duplicate_is_unsafe_and_a_crash_blocks() {
    let twice = check(2).duplicating(1).always(MutualExclusion::new()).run();
    assert_eq!(twice.of("mutual-exclusion"), Judgement::Violated, "{twice}");
    let crash = judged(check(2).crashing(1));
    assert_eq!(crash.of("mutual-exclusion"), Judgement::Holds, "{crash}");
    assert_eq!(crash.of("starvation-freedom"), Judgement::Violated, "{crash}");
}

/// Unlike on the ring of one token: a pong can carry the news of a request past the ping.
#[test]
fn the_order_of_requests_is_not_kept() {
    let report = check(3).always(Order::new()).run();
    assert_eq!(report.of("order"), Judgement::Violated, "{report}");
}
