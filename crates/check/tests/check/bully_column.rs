//! The bully algorithm's column of the election fault matrix (section 5.7 of the checklist). P1,
//! the lowest process, starts the election. Timeouts are perfect unless a row states otherwise. The
//! tests of restarts in groups of three are in the module `bullies`.

use tenure_algorithms::election::Bully;
use tenure_algorithms::election::bully::VariantId;
use tenure_check::{Check, Judgement};
use tenure_core::ProcessId;
use tenure_core::monitors::{LeaderScope, OneLeader};

use crate::by_service::ServiceCheck;
use crate::elections::{bully, with_properties};
use crate::rings::Outcome::{self, Fine, Stuck, Unsafe};
use crate::rings::classified;

/// Variants of the algorithm. The first two have no terms. They differ in the reaction of a process
/// to an announcement by a process of lower rank. With the first variant, the process starts an
/// election. With the second variant, the process accepts the process of lower rank as its leader.
/// The third variant is the default, with terms.
const RULES: [&[VariantId]; 3] =
    [&[VariantId::NoTerms], &[VariantId::NoTerms, VariantId::AcceptLower], &[]];

type Fault = fn(ServiceCheck<Bully>) -> ServiceCheck<Bully>;

/// Returns two results for each variant in `RULES`: the outcome of an election, and whether two
/// processes can lead at the same time. `ids` contains the rank of each process, or 0 for a process
/// that is down.
fn cells(ids: &[u32], fault: Fault) -> [(Outcome, bool); 3] {
    RULES.map(|switches| {
        // Timeouts assume that messages take at most one unit of time.
        let timed = || bully(ids.len() as u32, switches).synchronous(0..=1);
        let check = || fault(timed().initiators([ProcessId(0)]));
        let one = check().always(OneLeader::new(LeaderScope::Overall)).run();
        let two_lead = one.judgement_of("one-leader-at-a-time") == Judgement::Violated;
        (classified(with_properties(check(), ids)), two_lead)
    })
}

const TWO: [u32; 2] = [1, 2];
const THREE: [u32; 3] = [1, 2, 3];
const ALL_FINE: [(Outcome, bool); 3] = [(Fine, false); 3];

#[test]
fn highest_leads_alone_without_faults() {
    assert_eq!(cells(&TWO, Check::fifo), ALL_FINE);
    assert_eq!(cells(&THREE, Check::fifo), ALL_FINE);
}

#[test]
fn tolerates_reordering() {
    assert_eq!(cells(&TWO, |check| check), ALL_FINE);
    assert_eq!(cells(&THREE, |check| check), ALL_FINE);
}

/// In a group of two, a lost message lets the process of lower rank lead. With the second variant
/// in `RULES`, the process of higher rank accepts this leader and follows it forever. With the
/// first and the third variant, both processes lead for a while.
#[test]
fn lost_message_makes_lower_process_lead() {
    let expected = [(Fine, true), (Unsafe, false), (Fine, true)];
    assert_eq!(cells(&TWO, |check| check.max_losses(1)), expected);
    // With three processes and without terms, a process of lower rank leads forever.
    let expected = [(Unsafe, true), (Unsafe, true), (Fine, false)];
    assert_eq!(cells(&THREE, |check| check.max_losses(1)), expected);
}

#[test]
fn tolerates_duplication() {
    assert_eq!(cells(&TWO, |check| check.max_duplicates(1)), ALL_FINE);
    assert_eq!(cells(&THREE, |check| check.max_duplicates(1)), ALL_FINE);
}

/// The election tolerates a process that is down from the start. P3 is down, so its rank does not
/// count.
#[test]
fn tolerates_crash_before_start() {
    assert_eq!(cells(&[1, 2, 0], |check| check.initially_down([ProcessId(2)])), ALL_FINE);
}

#[test]
fn tolerates_crash_at_any_moment() {
    assert_eq!(cells(&TWO, |check| check.max_crashes(1)), ALL_FINE);
    assert_eq!(cells(&THREE, |check| check.max_crashes(1)), ALL_FINE);
}

/// If the highest process restarts during the election, two processes lead at the same time. With
/// the first variant of `RULES`, the initiator may wait forever: if the same leader is elected
/// again, the user of the initiator receives no event. With the second variant, two processes may
/// lead forever. With the third variant, all processes agree in the end.
#[test]
fn restart_during_election_makes_two_leaders() {
    let expected = [(Stuck, true), (Unsafe, true), (Fine, true)];
    assert_eq!(cells(&TWO, |check| check.max_crashes(1).max_recoveries(1).max_term(4)), expected);
}

/// If messages are slower than the timeouts allow, two processes lead at the same time. With the
/// second variant of `RULES`, both lead forever, because a process accepts a leader of lower rank.
/// With the other variants, the processes agree in the end.
#[test]
#[ignore = "long: 6 s"]
fn slow_messages_make_two_leaders() {
    let expected = [(Fine, true), (Unsafe, true), (Fine, true)];
    assert_eq!(cells(&TWO, |check| check.synchronous(0..=5).max_term(4)), expected);
}

#[test]
fn false_suspicion_costs_only_an_election() {
    let alarm: Fault = |check| check.max_false_suspicions(1).max_term(4);
    assert_eq!(cells(&TWO, alarm), ALL_FINE);
}
