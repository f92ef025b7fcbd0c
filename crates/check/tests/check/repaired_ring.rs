//! Tests of the repaired token ring, in every schedule and with every crash.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use tenure_algorithms::mutex::FaultTolerantTokenRing;
use tenure_core::monitors::MutualExclusion;

use crate::by_service::{ServiceCheck, of};
use crate::catalogue::{holds, violated, violates};
use crate::survival::{DifferentFences, survives, with_properties};

fn check(size: u32) -> ServiceCheck<FaultTolerantTokenRing> {
    of::<FaultTolerantTokenRing>(size).detecting_failures()
}

#[test]
fn matches_token_ring_without_crashes() {
    for (size, entries, states) in [(2, 2, 100), (3, 1, 162)] {
        assert_eq!(survives(check(size).request_limits(entries)), states, "n = {size}");
    }
}

#[test]
fn survives_one_crash() {
    with_properties(check(2).request_limits(2).max_crashes(1)).assert_holds();
    let report = with_properties(check(3).request_limits([1, 1, 1]).max_crashes(1));
    report.assert_holds();
}

#[test]
fn survives_two_crashes_of_three() {
    with_properties(check(3).request_limits([0, 1, 1]).max_crashes(2)).assert_holds();
}

/// Explores runs in which a process makes a token and then receives an inquiry of a crashed maker,
/// which invalidates this token. The process makes another one.
#[test]
#[ignore = "long: 10 s"]
fn survives_three_crashes_of_four() {
    let check = check(4).request_limits([0, 0, 1, 0]).max_crashes(3);
    with_properties(check.max_term(3)).assert_holds();
}

#[test]
fn crash_blocks_without_detector() {
    let report = with_properties(of::<FaultTolerantTokenRing>(3).max_crashes(1));
    holds(&report, "mutual-exclusion");
    violates(&report, "starvation-freedom");
}

/// After a wrong suspicion, two processes may be inside the critical section, but their fences
/// differ. With an unreliable detector, only the fencing token guarantees safety (checklist 3.6).
#[test]
fn false_suspicion_admits_two_with_different_fences() {
    let wrong = || check(2).request_limits(1).max_false_suspicions(1);
    let report = wrong().always(MutualExclusion::new()).run();
    violated(&report, "mutual-exclusion", 3);
    let named = wrong().always(DifferentFences::default());
    named.check_starvation_freedom().run().assert_holds();
    let three = check(3).request_limits([1, 1, 0]).max_false_suspicions(1);
    three.always(DifferentFences::default()).run().assert_holds();
}
