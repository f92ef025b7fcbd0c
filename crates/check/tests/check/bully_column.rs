//! The column of the bully in the catalogue's election fault matrix, 5.7. P1, the lowest, starts,
//! and timeouts are perfect unless the row says otherwise. `bullies` has restarts of three.

use tenure_algorithms::Variants;
use tenure_algorithms::election::bully::Switch;
use tenure_algorithms::election::{Bully, bully};
use tenure_check::{Check, Judgement};
use tenure_claims::claims;
use tenure_core::monitors::{OneLeader, Scope};
use tenure_core::{ProcessId, TICKS_PER_UNIT};

use crate::among::{Among, with};
use crate::elections::judged;
use crate::rings::Cell::{self, Fine, Stuck, Unsafe};
use crate::rings::classified;

/// Without terms, and where a lower one starts an election; without terms, and where it is
/// believed; and as it ships.
const RULES: [&[Switch]; 3] = [&[Switch::NoTerms], &[Switch::NoTerms, Switch::AcceptLower], &[]];

/// Ranks are in the order of the names; messages should take at most a unit of time.
fn bully(size: u32, switches: &[Switch]) -> Among<Bully> {
    let plain = bully::Config::plain(size, TICKS_PER_UNIT);
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    let check = with::<Bully>(size, bully::Config { variants, ..plain }).detecting();
    check.synchronous(0..=1).initiators([ProcessId(0)])
}

type Fault = fn(Among<Bully>) -> Among<Bully>;

/// What becomes of an election under each of the rules, and whether two lead at once on the way.
/// The ids are those of the live.
fn cells(ids: &[u32], fault: Fault) -> [(Cell, bool); 3] {
    RULES.map(|switches| {
        let check = || fault(bully(ids.len() as u32, switches));
        let one = check().always(OneLeader::new(Scope::Overall)).run();
        let two_lead = one.of("one-leader-at-a-time") == Judgement::Violated;
        (classified(judged(check(), ids)), two_lead)
    })
}

const TWO: [u32; 2] = [1, 2];
const THREE: [u32; 3] = [1, 2, 3];
const ALL_FINE: [(Cell, bool); 3] = [(Fine, false); 3];

#[claims("5.7-none")]
#[test]
fn without_a_fault_the_highest_leads_alone() {
    assert_eq!(cells(&TWO, Check::fifo), ALL_FINE);
    assert_eq!(cells(&THREE, Check::fifo), ALL_FINE);
}

#[claims("5.7-reorder")]
#[test]
fn reordering_does_no_harm() {
    assert_eq!(cells(&TWO, |check| check), ALL_FINE);
    assert_eq!(cells(&THREE, |check| check), ALL_FINE);
}

/// Of two: where a lower one is believed, the higher follows it for good. Elsewhere it leads for a
/// while beside the higher, which starts an election at its announcement.
#[claims("5.7-loss")]
#[test]
fn a_lost_message_makes_a_lower_one_lead() {
    let expected = [(Fine, true), (Unsafe, false), (Fine, true)];
    assert_eq!(cells(&TWO, |check| check.losing(1)), expected);
    // Of three, a lower one leads for good wherever there are no terms.
    let expected = [(Unsafe, true), (Unsafe, true), (Fine, false)];
    assert_eq!(cells(&THREE, |check| check.losing(1)), expected);
}

#[claims("5.7-duplicate")]
#[test]
fn a_duplicated_message_does_no_harm() {
    assert_eq!(cells(&TWO, |check| check.duplicating(1)), ALL_FINE);
    assert_eq!(cells(&THREE, |check| check.duplicating(1)), ALL_FINE);
}

/// The rank of P3 counts for nothing, for P3 is down.
#[claims("5.7-crash-before")]
#[test]
fn a_crash_before_the_start_does_no_harm() {
    assert_eq!(cells(&[1, 2, 0], |check| check.down([ProcessId(2)])), ALL_FINE);
}

#[claims("5.7-crash-during")]
#[test]
fn a_crash_at_any_moment_does_no_harm() {
    assert_eq!(cells(&TWO, |check| check.crashing(1)), ALL_FINE);
    assert_eq!(cells(&THREE, |check| check.crashing(1)), ALL_FINE);
}

/// Whoever comes back leads beside the one that took its place.
/// Where a lower one is believed, that lasts. Without terms a leader that is elected again is no
/// news: whoever asked for the election is not told.
#[claims("5.7-restart")]
#[test]
fn a_restart_within_an_election_makes_two_leaders() {
    let expected = [(Stuck, true), (Unsafe, true), (Fine, true)];
    assert_eq!(cells(&TWO, |check| check.crashing(1).recovering(1).term_max(4)), expected);
}

/// Two lead for a while in any case. Where a lower one is believed, that lasts.
#[claims("5.7-timeouts")]
#[test]
fn messages_that_are_slower_than_timeouts_allow_for_make_two_leaders() {
    let expected = [(Fine, true), (Unsafe, true), (Fine, true)];
    assert_eq!(cells(&TWO, |check| check.synchronous(0..=5).term_max(4)), expected);
}

#[test]
fn a_false_alarm_of_the_detector_costs_an_election_and_no_more() {
    let alarm: Fault = |check| check.suspecting_falsely(1).term_max(4);
    assert_eq!(cells(&TWO, alarm), ALL_FINE);
}
