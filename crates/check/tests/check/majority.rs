//! Tests of majority voting among live processes, in every schedule and with every crash.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::FaultTolerantMaekawa;
use tenure_algorithms::mutex::majority::{Config, VariantId};
use tenure_check::CheckReport;
use tenure_core::monitors::MutualExclusion;
use tenure_core::quorum::{QuorumKind, QuorumSystem};

use crate::by_service::{ServiceCheck, over_channel, with};
use crate::catalogue::{holds, violated, violates};
use crate::survival::{DifferentFences, survives, with_properties};

const KINDS: [QuorumKind; 2] = [QuorumKind::Majority, QuorumKind::Tree];

fn reordered(kind: QuorumKind, size: u32) -> ServiceCheck<FaultTolerantMaekawa> {
    with::<FaultTolerantMaekawa>(size, Config::with_quorum_kind(kind, size).unwrap())
        .detecting_failures()
}

fn check(kind: QuorumKind, size: u32) -> ServiceCheck<FaultTolerantMaekawa> {
    reordered(kind, size).fifo()
}

#[test]
fn safe_and_live_without_crashes() {
    let count = |kind, (size, entries)| survives(check(kind, size).request_limits(entries));
    let counts = |kind| [(2, 1), (2, 2), (3, 1)].map(|scope| count(kind, scope));
    assert_eq!(KINDS.map(counts), [[49, 269, 457], [49, 269, 404]]);
}

/// Without crashes, no process is suspected, so no process withdraws its request. The lock then
/// tolerates links that reorder messages, as Maekawa's algorithm does.
#[test]
fn tolerates_reordering_without_crashes() {
    assert_eq!(KINDS.map(|kind| survives(reordered(kind, 3))), [549, 622]);
}

#[test]
fn survives_one_crash_of_three() {
    for kind in KINDS {
        for entries in [[1, 1, 0], [1, 0, 1], [0, 1, 1], [2, 1, 0]] {
            survives(check(kind, 3).request_limits(entries).max_crashes(1));
        }
    }
    assert_eq!(KINDS.map(|kind| survives(check(kind, 3).max_crashes(1))), [24_628, 17_207]);
}

/// On links that reorder messages, a withdrawal can cancel the next request of the same process. So
/// the algorithm requires FIFO links.
#[test]
fn reordered_withdrawal_cancels_next_request() {
    let report = with_properties(
        reordered(QuorumKind::Majority, 3).request_limits([1, 1, 0]).max_crashes(1),
    );
    holds(&report, "mutual-exclusion");
    holds(&report, "fencing");
    violated(&report, "starvation-freedom", 8);
}

/// If the quorums are {P1, P2}, {P2, P3} and {P1, P3}, one quorum stays live whichever process
/// crashes. If the quorums are only {P1, P2} and {P2, P3}, the crash of P2 leaves no live quorum.
#[test]
fn listed_quorums_survive_while_one_is_left() {
    let listed = |text: &str| {
        let quorums = Arc::new(text.parse::<QuorumSystem>().unwrap());
        let config = Config { quorums, variants: Variants::none() };
        with::<FaultTolerantMaekawa>(3, config)
            .fifo()
            .detecting_failures()
            .request_limits([1, 1, 0])
            .max_crashes(1)
    };
    survives(listed("1,2/2,3/1,3"));
    let report = with_properties(listed("1,2/2,3"));
    holds(&report, "mutual-exclusion");
    violates(&report, "starvation-freedom");
}

/// If two of three processes crash, the lock stays safe, but the third process may wait forever.
/// Only ⌊(N − 1)/2⌋ processes may crash (checklist 3.6).
#[test]
fn two_crashes_of_three_block_safely() {
    for kind in KINDS {
        let report = with_properties(check(kind, 3).max_crashes(2));
        holds(&report, "mutual-exclusion");
        holds(&report, "fencing");
        violates(&report, "starvation-freedom");
    }
}

#[test]
fn crash_blocks_without_detector() {
    let config = Config::with_quorum_kind(QuorumKind::Majority, 3).unwrap();
    let report = with_properties(
        with::<FaultTolerantMaekawa>(3, config).fifo().max_crashes(1).request_limits([1, 0, 0]),
    );
    violates(&report, "starvation-freedom");
}

/// After a wrong suspicion, two processes may be inside the critical section, but their fences
/// differ. With an unreliable detector, only the fencing token guarantees safety (checklist 3.6).
#[test]
fn false_suspicion_admits_two_with_different_fences() {
    let wrong = |size, times| check(QuorumKind::Majority, size).max_false_suspicions(times);
    let report = wrong(3, 1).request_limits([1, 1, 0]).always(MutualExclusion::new()).run();
    violated(&report, "mutual-exclusion", 7);
    let different = |check: ServiceCheck<FaultTolerantMaekawa>| {
        check.always(DifferentFences::default()).check_starvation_freedom().run()
    };
    different(wrong(2, 2).request_limits([2, 1])).assert_holds();
    different(wrong(3, 1)).assert_holds();
    // With two suspicions, a process that withdraws its own vote must not give the vote to a
    // suspected process.
    different(wrong(3, 2).request_limits([1, 1, 0])).assert_holds();
}

fn switched(kind: QuorumKind, switch: VariantId) -> CheckReport {
    let variants = Variants::none().with(switch);
    let config = Config { variants, ..Config::with_quorum_kind(kind, 3).unwrap() };
    with_properties(
        with::<FaultTolerantMaekawa>(3, config).fifo().detecting_failures().max_crashes(1),
    )
}

#[test]
fn disjoint_quorums_and_missing_generations_are_unsafe() {
    let report = switched(QuorumKind::Tree, VariantId::LeftOut);
    violated(&report, "mutual-exclusion", 5);
    for kind in KINDS {
        let report = switched(kind, VariantId::OneGeneration);
        holds(&report, "mutual-exclusion");
        holds(&report, "starvation-freedom");
        violated(&report, "fencing", 8);
    }
}

/// The reliable channel hides a loss and a duplicate from the lock (checklist 3.1).
#[test]
fn reliable_channel_hides_loss_and_duplication() {
    let check = over_channel::<FaultTolerantMaekawa>(
        Config::with_quorum_kind(QuorumKind::Majority, 2).unwrap(),
    )
    .fifo();
    with_properties(check.max_losses(1).max_duplicates(1)).assert_holds();
}
