//! Tests of the invitation election in every schedule. Several groups may exist at the same time,
//! and then merge. The numbers of states equal those of the independent model in
//! `tests/independent`.

use tenure_algorithms::election::InvitationElection;
use tenure_algorithms::election::invitation::{Config, VariantId};
use tenure_core::monitors::{
    IncreasingOwnTerms, LeaderAgreement, LeaderScope, OneLeader, OneLeaderPerGroup,
};
use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT};

use crate::by_service::{ServiceCheck, variants, with};
use crate::catalogue::violates;
use crate::independent::searches::invitation::sites;
use crate::independent::searches::search::Delivery::{Fifo, Unordered};
use crate::independent::searches::search::{Delivery, count_within};

fn invitation(size: u32, mistakes: &[VariantId]) -> ServiceCheck<InvitationElection> {
    let plain = Config::with_defaults(size, TICKS_PER_TIME_UNIT);
    with::<InvitationElection>(size, Config { variants: variants(mistakes), ..plain })
        .detecting_failures()
}

fn promised(check: ServiceCheck<InvitationElection>) -> ServiceCheck<InvitationElection> {
    let check = check.always_and_at_end(LeaderAgreement::new()).check_progress();
    check.always_and_at_end(OneLeaderPerGroup::new()).always(IncreasingOwnTerms::new())
}

/// Returns a check of two processes. Only the first process starts an election.
fn two(mistakes: &[VariantId]) -> ServiceCheck<InvitationElection> {
    promised(invitation(2, mistakes).initiators([ProcessId(0)]).in_flight_per_link(1))
}

/// A scope: the size of the group, the number of initiators, the highest number that a group may
/// have, the maximum number of messages on a link, and the order of delivery.
type Case = (u32, usize, u64, usize, Delivery);

fn compare((size, starters, most, in_flight, order): Case) {
    let starters: Vec<usize> = (0..starters).collect();
    let check = invitation(size, &[]).in_flight_per_link(in_flight).max_term(most).check_progress();
    let check = check.initiators(starters.iter().copied().map(ProcessId::from_index));
    let check = check.configure(|config| config.model.has_single_election = true);
    let report = if order == Fifo { check.fifo() } else { check }.run();
    let theirs = count_within(sites(size as usize, &starters, most), order, in_flight);
    let case = format!("{size}, numbers up to {most}, {in_flight} on a link, {order:?}");
    assert_eq!((report.states, report.transitions), theirs, "{case}");
}

#[test]
fn matches_independent_state_counts() {
    for case in [(2, 2, 2, 2, Unordered), (2, 1, 2, 2, Fifo), (3, 1, 1, 1, Unordered)] {
        compare(case);
    }
}

#[test]
#[ignore = "takes a minute: cargo test -p tenure-check-tests -- --ignored invitation"]
fn larger_scopes_match_independent_state_counts() {
    for case in [(2, 2, 3, 2, Unordered), (2, 1, 3, 3, Fifo), (3, 1, 2, 1, Unordered)] {
        compare(case);
    }
}

#[test]
fn groups_merge_in_every_schedule() {
    two(&[]).in_flight_per_link(2).max_term(3).run().assert_holds();
    two(&[]).in_flight_per_link(2).max_term(2).max_losses(1).run().assert_holds();
    two(&[]).in_flight_per_link(2).max_term(2).max_duplicates(1).run().assert_holds();
}

#[test]
fn restarted_leader_is_found_in_every_schedule() {
    two(&[]).max_term(3).max_crashes(1).max_recoveries(1).run().assert_holds();
}

/// A wrong suspicion splits the group, and the parts merge again.
#[test]
fn wrong_suspicion_does_no_harm() {
    two(&[]).max_term(3).max_false_suspicions(1).run().assert_holds();
}

/// Each side of a partition has its own leader forever. The processes therefore do not all agree,
/// but each side has one leader.
#[test]
fn sides_of_a_partition_have_one_leader_each() {
    let check = || invitation(2, &[]).initiators([ProcessId(0)]).in_flight_per_link(2).max_term(2);
    let cut = || check().partitioning([ProcessId(0)]);
    cut().always_and_at_end(OneLeaderPerGroup::new()).run().assert_holds();
    violates(&cut().always_and_at_end(LeaderAgreement::new()).run(), "agreement");
    // Two leaders at the same time are normal: each process first leads a group of its own.
    violates(&check().always(OneLeader::new(LeaderScope::Overall)).run(), "one-leader-at-a-time");
}

#[test]
fn each_mistake_is_found() {
    violates(&two(&[VariantId::NoMerge]).max_term(2).run(), "agreement");
    violates(&two(&[VariantId::FollowsEarly]).max_term(2).run(), "one-leader-per-group");
    violates(&two(&[VariantId::AnyInvitation]).max_term(2).run(), "agreement");
    let restarted = |mistake| two(&[mistake]).max_term(3).max_crashes(1).max_recoveries(1).run();
    violates(&restarted(VariantId::ForgottenNumber), "fresh-terms");
    violates(&restarted(VariantId::StaysBehind), "agreement");
}
