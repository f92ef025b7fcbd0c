//! A lock service with its clients: never two inside while clocks keep time, whatever becomes of
//! messages, processes and leaders, and everybody is served; and what it costs to leave out one of
//! its rules.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::Leased;
use tenure_algorithms::mutex::leased::{Config, Switch};
use tenure_check::{Check, Judgement};
use tenure_core::monitors::{Fencing, MutualExclusion};
use tenure_core::{ProcessId, TICKS_PER_UNIT};

/// Two, of whom the first is the service, where time passes for all alike.
fn two(switches: &[Switch]) -> Check<Leased> {
    exclusive(switches).always(Fencing::new())
}

/// Of whom nothing is asked but that.
fn exclusive(switches: &[Switch]) -> Check<Leased> {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    let config = Config { rounds: 1, variants, ..Config::plain(TICKS_PER_UNIT) };
    Check::with(2, config).synchronous(0..=1).always(MutualExclusion::new())
}

const P2: [ProcessId; 1] = [ProcessId(1)];

#[test]
fn while_clocks_keep_time_two_are_never_inside_and_both_are_served() {
    two(&[]).progress().run().assert_holds();
    two(&[]).partitioning(P2).run().assert_holds();
}

#[test]
fn who_crashes_inside_is_ended_by_its_lease_however_often_leaders_change() {
    two(&[]).crashing_at(P2).crashing(1).progress().run().assert_holds();
    let full = two(&[Switch::TtlJumpsBack]).crashing_at(P2).crashing(1).progress().run();
    assert_eq!(full.of("progress"), Judgement::Violated, "{full}");
}

/// The negative controls: each rule is needed.
#[test]
fn without_one_of_its_rules_two_are_inside_or_somebody_is_never_served() {
    use Switch::{DeadlineFromAnswer, DeposedRenews, ExpiryDisregardsRenewal};
    let broken = [
        exclusive(&[DeadlineFromAnswer]).partitioning(P2).run(),
        exclusive(&[DeposedRenews]).run(),
        exclusive(&[ExpiryDisregardsRenewal]).run(),
    ];
    for report in broken {
        assert_eq!(report.of("mutual-exclusion"), Judgement::Violated, "{report}");
    }
    let unserved = two(&[Switch::WatchFromWrongRevision]).progress().run();
    assert_eq!(unserved.of("progress"), Judgement::Violated, "{unserved}");
}

#[test]
#[ignore = "half a minute"]
fn a_grant_to_a_session_that_is_over_lets_two_in() {
    let check = exclusive(&[Switch::GrantToDeadSession]).entries([2, 1]).losing(3).in_flight(2);
    let report = check.run();
    assert_eq!(report.of("mutual-exclusion"), Judgement::Violated, "{report}");
}

#[test]
#[ignore = "a minute"]
fn nor_are_they_where_a_message_is_lost_or_there_are_three() {
    two(&[]).entries(2).in_flight(2).progress().run().assert_holds();
    two(&[]).losing(1).in_flight(2).progress().run().assert_holds();
}
