//! Tests of Dijkstra's ring after the ring has converged. Without crashes, the ring is a correct
//! lock in every schedule, even if messages are lost.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use tenure_algorithms::mutex::KStateTokenRing;
use tenure_algorithms::mutex::dijkstra_ring::{Config, State};
use tenure_check::CheckReport;
use tenure_core::monitors::Bypass;

use crate::by_service::{ServiceCheck, of, with};
use crate::catalogue::{holds, safe_and_live, violates};
use crate::verdicts::states;

fn with_properties(check: ServiceCheck<KStateTokenRing>) -> CheckReport {
    safe_and_live(check).run()
}

fn check(size: u32) -> ServiceCheck<KStateTokenRing> {
    of::<KStateTokenRing>(size).fifo().in_flight_per_link(1)
}

#[test]
fn converged_ring_is_safe_live_and_bypassed_once() {
    for (size, entries, known) in [(2, 2, 1952), (3, 1, 10_152)] {
        let check = check(size).request_limits(entries).always(Bypass::at_most(1));
        assert_eq!(states(safe_and_live(check)), known, "n = {size}");
    }
}

#[test]
fn tolerates_loss_and_duplication() {
    with_properties(check(2).max_losses(1)).assert_holds();
    with_properties(of::<KStateTokenRing>(2).fifo().in_flight_per_link(2).max_duplicates(1))
        .assert_holds();
}

#[test]
fn crash_breaks_ring_and_recovery_restores_it() {
    let crash = with_properties(check(2).max_crashes(1));
    holds(&crash, "mutual-exclusion");
    violates(&crash, "starvation-freedom");
    violates(&with_properties(check(2).max_crashes(1).max_recoveries(1)), "mutual-exclusion");
}

#[test]
fn unconverged_start_is_unsafe_but_live() {
    let start = [State { own: 0, left: 0 }, State { own: 1, left: 0 }];
    let config = Config { initial_states: start.into(), ..Config::default() };
    let report = with_properties(with::<KStateTokenRing>(2, config).fifo().in_flight_per_link(1));
    violates(&report, "mutual-exclusion");
    holds(&report, "starvation-freedom");
}
