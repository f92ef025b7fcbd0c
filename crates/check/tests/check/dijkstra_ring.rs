//! Dijkstra's ring, converged: a lock in every schedule, whatever is lost.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use tenure_algorithms::mutex::DijkstraRing;
use tenure_algorithms::mutex::dijkstra_ring::{Config, State};
use tenure_check::{Judgement, Report};
use tenure_core::monitors::{Bypass, MutualExclusion};

use crate::among::{Among, of, with};

fn judged(check: Among<DijkstraRing>) -> Report {
    check.always(MutualExclusion::new()).starvation_free().run()
}

fn check(size: u32) -> Among<DijkstraRing> {
    of::<DijkstraRing>(size).fifo().in_flight(1)
}

#[test]
fn a_converged_ring_is_safe_and_live_and_nobody_is_passed_twice() {
    for (size, entries, states) in [(2, 2, 1952), (3, 1, 10_152)] {
        let report = judged(check(size).entries(entries).always(Bypass::at_most(1)));
        report.assert_holds();
        assert_eq!(report.states, states, "n = {size}");
    }
}

#[test]
fn a_lost_and_a_duplicated_message_do_no_harm() {
    judged(check(2).losing(1)).assert_holds();
    judged(of::<DijkstraRing>(2).fifo().in_flight(2).duplicating(1)).assert_holds();
}

#[test]
fn a_crash_breaks_the_ring_and_one_that_comes_back_makes_it_converge_again() {
    let crash = judged(check(2).crashing(1));
    assert_eq!(crash.of("mutual-exclusion"), Judgement::Holds, "{crash}");
    assert_eq!(crash.of("starvation-freedom"), Judgement::Violated, "{crash}");
    let back = judged(check(2).crashing(1).recovering(1));
    assert_eq!(back.of("mutual-exclusion"), Judgement::Violated, "not before: {back}");
}

#[test]
fn a_start_that_is_not_converged_lets_two_in_and_still_serves_everybody() {
    let start = [State { own: 0, left: 0 }, State { own: 1, left: 0 }];
    let config = Config { start: start.into(), ..Config::default() };
    let report = judged(with::<DijkstraRing>(2, config).fifo().in_flight(1));
    assert_eq!(report.of("mutual-exclusion"), Judgement::Violated, "{report}");
    assert_eq!(report.of("starvation-freedom"), Judgement::Holds, "{report}");
}
