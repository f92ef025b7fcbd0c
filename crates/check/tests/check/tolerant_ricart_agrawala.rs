//! Tests of Ricart–Agrawala with a failure detector (checklist 3.6), in every schedule and with
//! every crash.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use tenure_algorithms::mutex::{FaultTolerantRicartAgrawala, RicartAgrawala};
use tenure_check::UserPhase;
use tenure_core::ProcessId;
use tenure_core::monitors::{MutualExclusion, RequestOrder};

use crate::by_service::{ServiceCheck, of, over_channel};
use crate::catalogue::{holds, violated};
use crate::faults::Outcome::{Blocked, Fine, Unsafe};
use crate::faults::cell;
use crate::survival::{DifferentFences, survives, with_properties};

fn check(size: u32) -> ServiceCheck<FaultTolerantRicartAgrawala> {
    of::<FaultTolerantRicartAgrawala>(size).detecting_failures()
}

/// The lock is safe and live, and its fences increase. In contrast to the plain algorithm, each
/// process stores its last entry, so there are a few more states.
#[test]
fn safe_and_live_with_increasing_fences() {
    assert_eq!(survives(check(2).request_limits(2)), 221);
    assert_eq!(survives(check(3).request_limits(1)), 4_604);
    assert_eq!(survives(check(3).request_limits(1).fifo()), 2_551);
}

#[test]
fn survives_one_crash() {
    assert_eq!(survives(check(2).request_limits(2).max_crashes(1)), 1_054);
    assert_eq!(survives(check(3).request_limits(1).max_crashes(1)), 45_754);
}

#[test]
fn keeps_request_order_across_crash() {
    for check in [check(2).request_limits(2), check(3).request_limits([1, 1, 0])] {
        check.max_crashes(1).always(RequestOrder::new()).run().assert_holds();
    }
}

#[test]
fn survives_two_crashes_of_three() {
    assert_eq!(survives(check(3).request_limits([0, 1, 1]).max_crashes(2)), 3_571);
}

/// In each phase of a user, a crash blocks the plain algorithm of Ricart and Agrawala but not the
/// tolerant one (checklist 5.6).
#[test]
fn survives_crashes_that_block_plain_algorithm() {
    for phase in [UserPhase::Idle, UserPhase::Waiting, UserPhase::Inside] {
        let tolerant = check(3).request_limits([1, 1, 0]).max_crashes(1).crashing_only_in(phase);
        assert_eq!(cell(tolerant), Fine, "{phase:?}");
        let plain = of::<RicartAgrawala>(3).request_limits([1, 1, 0]).detecting_failures();
        assert_eq!(cell(plain.max_crashes(1).crashing_only_in(phase)), Blocked, "{phase:?}");
    }
}

#[test]
fn crash_blocks_without_detector() {
    let blind = of::<FaultTolerantRicartAgrawala>(2).max_crashes(1);
    assert_eq!(cell(blind), Blocked);
}

/// If a process crashes and recovers, the lock stays safe and live, and its fences increase. In the
/// plain algorithm, a recovery violates safety (sections 3.15 and 5.6 of the checklist).
#[test]
fn recovered_process_enters_with_higher_fence() {
    let plain = of::<RicartAgrawala>(2).detecting_failures().max_crashes(1).max_recoveries(1);
    assert_eq!(cell(plain), Unsafe);
    assert_eq!(survives(check(2).request_limits(2).max_crashes(1).max_recoveries(1)), 61_537);
    for (process, states) in [(0, 13_105), (1, 14_047), (2, 26_047)] {
        let one = check(3)
            .request_limits([1, 1, 0])
            .fifo()
            .max_crashes(1)
            .crashing_only([ProcessId(process)]);
        assert_eq!(survives(one.max_recoveries(1)), states);
    }
}

/// P1 enters while P2 is down, and then P2 enters while P1 is down. P2 cannot know the fence of
/// P1's entry, so its own fence may be lower. Mutual exclusion and starvation freedom still hold.
#[test]
fn alternating_crashes_break_fence_order_only() {
    let report = with_properties(check(2).request_limits(1).max_crashes(2).max_recoveries(2));
    holds(&report, "mutual-exclusion");
    holds(&report, "starvation-freedom");
    violated(&report, "fencing", 7);
}

/// After a wrong suspicion, two processes may be inside the critical section, but their fences
/// differ. With an unreliable detector, only the fencing token guarantees safety (checklist 3.6).
#[test]
fn false_suspicion_admits_two_with_different_fences() {
    let lets_two_in = |wrong: &dyn Fn() -> ServiceCheck<FaultTolerantRicartAgrawala>, length| {
        let report = wrong().always(MutualExclusion::new()).run();
        violated(&report, "mutual-exclusion", length);
        let named = wrong().always(DifferentFences::default());
        named.check_starvation_freedom().run().assert_holds();
    };
    lets_two_in(&|| check(2).request_limits(2).max_false_suspicions(1), 5);
    lets_two_in(&|| check(3).request_limits([1, 1, 0]).max_false_suspicions(1), 9);
}

#[test]
fn reliable_channel_hides_loss_and_duplication() {
    let over = || over_channel::<FaultTolerantRicartAgrawala>(()).detecting_failures();
    assert_eq!(survives(over().request_limits([1, 0]).max_losses(1).max_duplicates(1)), 3_131);
    assert_eq!(survives(over().request_limits([1, 0]).max_losses(1).max_crashes(1)), 1_632);
}

#[test]
fn tolerates_duplication_without_reliable_channel() {
    assert_eq!(survives(check(2).request_limits(1).max_duplicates(1).max_crashes(1)), 692);
}
