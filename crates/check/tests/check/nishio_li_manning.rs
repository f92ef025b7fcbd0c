//! Tests of the variant of Suzuki–Kasami that replaces a lost token (checklist 3.5), in every
//! schedule and with every crash.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use tenure_algorithms::mutex::{NishioLiManning, SuzukiKasami};
use tenure_check::UserPhase;
use tenure_core::ProcessId;
use tenure_core::monitors::MutualExclusion;

use crate::by_service::{ServiceCheck, of, over_channel};
use crate::catalogue::violated;
use crate::faults::Outcome::{Blocked, Fine};
use crate::faults::cell;
use crate::survival::{DifferentFences, survives, with_properties};

fn check(size: u32) -> ServiceCheck<NishioLiManning> {
    of::<NishioLiManning>(size).detecting_failures()
}

#[test]
fn matches_plain_algorithm_without_crashes() {
    for (size, entries, states) in [(2, 2, 83), (3, 1, 725)] {
        assert_eq!(survives(check(size).request_limits(entries)), states);
        let plain = of::<SuzukiKasami>(size).request_limits(entries);
        assert_eq!(survives(plain), states);
    }
}

#[test]
fn survives_one_crash() {
    assert_eq!(survives(check(2).request_limits(2).max_crashes(1)), 491);
    assert_eq!(survives(check(3).request_limits(1).max_crashes(1)), 40_313);
}

#[test]
fn survives_two_crashes_of_three() {
    assert_eq!(survives(check(3).request_limits([0, 1, 1]).max_crashes(2)), 10_372);
}

/// Explores runs in which a process replaces the token and then receives an inquiry from a crashed
/// process. The process then gives up its new token, and the lock stays safe and live.
#[test]
fn survives_two_crashes_with_two_entries() {
    assert_eq!(survives(check(3).request_limits([1, 2, 0]).max_crashes(2)), 13_115);
}

/// The test crashes a process in each phase of its user. The crash blocks the plain lock of Suzuki
/// and Kasami, but not this lock (checklist 5.6).
#[test]
fn survives_crashes_that_block_plain_algorithm() {
    for phase in [UserPhase::Idle, UserPhase::Waiting, UserPhase::Inside] {
        let tolerant = check(3).request_limits([1, 1, 0]).max_crashes(1).crashing_only_in(phase);
        assert_eq!(cell(tolerant), Fine, "{phase:?}");
        let plain = of::<SuzukiKasami>(3).request_limits([1, 1, 0]).detecting_failures();
        assert_eq!(cell(plain.max_crashes(1).crashing_only_in(phase)), Blocked, "{phase:?}");
    }
}

#[test]
fn replaces_token_of_initially_crashed_holder() {
    let down = [ProcessId(0)];
    assert_eq!(cell(check(3).request_limits([0, 1, 1]).initially_down(down)), Fine);
    let plain = of::<SuzukiKasami>(3).request_limits([0, 1, 1]).detecting_failures();
    assert_eq!(cell(plain.initially_down(down)), Blocked);
}

#[test]
fn crash_blocks_without_detector() {
    assert_eq!(cell(of::<NishioLiManning>(2).max_crashes(1)), Blocked);
}

/// After a wrong suspicion, two processes may be inside the critical section, but their fences
/// differ. With an unreliable detector, only the fencing token guarantees safety (checklist 3.6).
#[test]
fn false_suspicion_admits_two_with_different_fences() {
    let wrong = || check(2).request_limits(2).max_false_suspicions(1);
    let report = wrong().always(MutualExclusion::new()).run();
    violated(&report, "mutual-exclusion", 3);
    for wrong in [wrong(), check(3).request_limits([1, 1, 0]).max_false_suspicions(1)] {
        let named = wrong.always(DifferentFences::default());
        named.check_starvation_freedom().run().assert_holds();
    }
}

/// P2 crashes and recovers while the token is in flight to it, and P1 makes a new token. P2 accepts
/// the old token, because it cannot know of the new one. The algorithm promises nothing in this
/// case (checklist 5.6).
#[test]
fn recovered_process_accepts_old_token() {
    let report = with_properties(check(2).request_limits(2).max_crashes(1).max_recoveries(1));
    violated(&report, "mutual-exclusion", 8);
    violated(&report, "starvation-freedom", 3);
}

#[test]
fn reliable_channel_hides_loss_and_duplication() {
    let over = || over_channel::<NishioLiManning>(()).detecting_failures();
    assert_eq!(survives(over().request_limits([0, 1]).max_losses(1).max_duplicates(1)), 3_131);
    assert_eq!(survives(over().request_limits([0, 1]).max_losses(1).max_crashes(1)), 1_660);
}
