//! Tests of Chang–Roberts on a ring that repairs itself, in every schedule and with every crash.
//! Also tests of the election fault matrix (checklist 5.7) with repair.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use tenure_algorithms::Variants;
use tenure_algorithms::compose::{CoordinatedLock, MutexOnly};
use tenure_algorithms::election::{
    ChangRoberts, FaultTolerantChangRoberts, chang_roberts, repaired_chang_roberts,
};
use tenure_check::Check;
use tenure_core::monitors::{Fencing, LeaderScope, MutualExclusion, OneLeader};
use tenure_core::{ChannelOrder, Election, ProcessId};

use crate::by_service::{ServiceCheck, over_channel, with};
use crate::catalogue::violated;
use crate::elections::{ranks, with_properties};
use crate::verdicts;

type RingCheck = ServiceCheck<FaultTolerantChangRoberts>;

fn config(ids: &[u32]) -> repaired_chang_roberts::Config {
    repaired_chang_roberts::Config::with_ranks(ranks(ids))
}

/// Returns a check of a ring whose ranks are derived from `ids`. The check permits six messages on
/// a link, because a new election may start while messages of the last election are in flight.
fn ring(ids: &[u32]) -> RingCheck {
    with::<FaultTolerantChangRoberts>(ids.len() as u32, config(ids))
        .detecting_failures()
        .in_flight_per_link(6)
}

/// Returns the number of states. Asserts one leader per term, and that all processes eventually
/// follow the largest live rank.
fn states<P: Election>(check: Check<P>, ids: &[u32]) -> u64 {
    verdicts::states(with_properties(check, ids).always(OneLeader::new(LeaderScope::PerTerm)))
}

/// Returns two lists of numbers of states. The first list is for FIFO links, and the second list is
/// for links that reorder messages. Each list has one number for each of three rings: one ring of
/// two processes, and two rings of three processes. `change` modifies each check before the search.
fn on_all(change: impl Fn(RingCheck) -> RingCheck) -> [[u64; 3]; 2] {
    [ChannelOrder::Fifo, ChannelOrder::Reordered].map(|order| {
        [&[1, 2][..], &[1, 2, 3], &[3, 2, 1]]
            .map(|ids| states(change(ring(ids).channel_order(order)), ids))
    })
}

const P1: [ProcessId; 1] = [ProcessId(0)];

#[test]
fn largest_leads_without_crashes() {
    assert_eq!(on_all(|ring| ring), [[32, 235, 252], [47, 849, 965]]);
    let twice = on_all(|ring| ring.max_duplicates(1));
    assert_eq!(twice, [[137, 1_356, 1_467], [319, 11_547, 12_909]]);
}

/// After any crash, before the start or during the election, the largest live rank leads (rows
/// *crash before start* and *crash during*, sections 5.7 and 3.14 of the checklist).
#[test]
fn largest_survivor_leads_after_any_crash() {
    let during = on_all(|ring| ring.max_crashes(1));
    assert_eq!(during, [[121, 6_959, 7_489], [152, 30_442, 35_043]]);
    let ids = [1, 2, 3];
    let before = [ChannelOrder::Fifo, ChannelOrder::Reordered]
        .map(|order| states(ring(&ids).channel_order(order).initially_down([ProcessId(1)]), &ids));
    assert_eq!(before, [76, 106]);
}

#[test]
fn third_leads_after_two_crashes() {
    let two = |order| {
        let ids = [1, 2, 3];
        states(ring(&ids).channel_order(order).max_crashes(2), &ids)
    };
    assert_eq!([ChannelOrder::Fifo, ChannelOrder::Reordered].map(two), [15_636, 51_399]);
}

/// If the largest process crashes and recovers, it leads in the end (section 5.7 of the checklist,
/// row *restart within election*). The search prunes terms above the third.
#[test]
fn recovered_largest_process_leads() {
    let back = |ring: ServiceCheck<FaultTolerantChangRoberts>| {
        ring.max_crashes(1).max_recoveries(1).initiators(P1).max_term(3)
    };
    let order = ChannelOrder::Fifo;
    let of = |ids: &[u32]| states(back(ring(ids).channel_order(order)), ids);
    assert_eq!([of(&[1, 2]), of(&[1, 2, 3]), of(&[3, 2, 1])], [271, 60_869, 40_712]);
    let ids = [2, 1];
    assert_eq!(states(back(ring(&ids)), &ids), 1_576);
}

#[test]
#[ignore = "takes some seconds each"]
fn recovered_largest_process_leads_with_reordering() {
    let found = [[1, 2, 3], [3, 2, 1]].map(|ids| {
        states(ring(&ids).max_crashes(1).max_recoveries(1).initiators(P1).max_term(3), &ids)
    });
    assert_eq!(found, [2_189_219, 1_273_302]);
}

/// Wrong suspicions cause additional elections and nothing else (row *wrong timeouts*, section 5.7
/// of the checklist).
#[test]
fn false_suspicion_costs_only_elections() {
    let wrong =
        |ring: ServiceCheck<FaultTolerantChangRoberts>| ring.max_false_suspicions(1).initiators(P1);
    assert_eq!(on_all(|ring| wrong(ring).max_term(4)), [[64, 642, 417], [91, 1_382, 1_026]]);
    let beside = on_all(|ring| wrong(ring).max_crashes(1).max_term(3));
    assert_eq!(beside, [[186, 10_022, 6_482], [249, 26_454, 20_018]]);
}

/// Without repair, Chang–Roberts fails after a crash, although each process has a failure detector
/// (row *crash during*, section 5.7 of the checklist).
#[test]
fn crash_breaks_election_without_repair() {
    let ids = [3, 2, 1];
    let config = chang_roberts::Config::with_ranks(ranks(&ids), Variants::none());
    let check = with::<ChangRoberts>(3, config).fifo().detecting_failures().max_crashes(1);
    let report = with_properties(check, &ids).run();
    violated(&report, "progress", 2);
    violated(&report, "validity", 6);
}

/// Without a failure detector, the ring does not repair itself, so a crash blocks the election.
#[test]
fn crash_blocks_without_detector() {
    let ids = [3, 2, 1];
    let check = with::<FaultTolerantChangRoberts>(3, config(&ids)).fifo().max_crashes(1);
    violated(&with_properties(check, &ids).run(), "progress", 2);
}

/// A lost message blocks the election, so the algorithm requires channels without loss (Q-28 of the
/// checklist). Over the reliable channel, the election tolerates a loss and a duplicate.
#[test]
fn lost_message_blocks_unless_channel_is_reliable() {
    let ids = [2, 1];
    violated(&with_properties(ring(&ids).max_losses(1), &ids).run(), "progress", 2);
    let over = || {
        over_channel::<FaultTolerantChangRoberts>(config(&ids)).initiators(P1).detecting_failures()
    };
    let faulty = || over().max_losses(1).max_duplicates(1);
    assert_eq!(states(faulty(), &ids), 19_460);
    assert_eq!(states(faulty().max_crashes(1), &ids), 21_612);
}

/// A lock at an elected leader stays safe and live if a leader crashes and recovers. The recovered
/// leader must not reuse the fences of its term, and a request to the crashed leader must be
/// repeated.
#[test]
fn lock_at_leader_survives_recovery() {
    let lock = || {
        let check = with::<MutexOnly<CoordinatedLock<FaultTolerantChangRoberts>>>(
            2,
            config(&[1, 2]).into(),
        );
        let check = check.fifo().detecting_failures().in_flight_per_link(8).check_progress();
        check.always(MutualExclusion::new()).always(Fencing::new())
    };
    let recovering = lock().max_crashes(1).max_recoveries(1).max_term(4);
    let all = [lock(), lock().max_crashes(1), recovering].map(verdicts::states);
    assert_eq!(all, [50, 223, 6_852]);
}
