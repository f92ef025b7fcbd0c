//! Tests of Raft's election. Each term has at most one leader under all faults. If clocks are
//! accurate, there is at most one leader at a time. There are three negative controls. In the
//! first, a process forgets its vote. In the second, a process has promised a leader not to vote
//! for another process, and forgets this promise. In the third, a leader does not check whether a
//! majority responds.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use std::ops::RangeInclusive;

use tenure_algorithms::election::raft::VariantId;
use tenure_algorithms::election::{RaftElection, raft};
use tenure_check::{CheckReport, Judgement};
use tenure_core::monitors::{LeaderAgreement, LeaderScope, OneLeader};
use tenure_core::{Delay, ProcessId, TICKS_PER_TIME_UNIT};

use crate::by_service::{ServiceCheck, variants, with};
use crate::catalogue::violated;

fn config(size: u32, switches: &[VariantId]) -> raft::Config {
    let plain = raft::Config::with_defaults(size, TICKS_PER_TIME_UNIT);
    raft::Config { heartbeat_modulus: 1, variants: variants(switches), ..plain }
}

/// Returns a check in which timers fire at any time and delays have no bound. The search prunes
/// states with a term above `terms`, or with more than two messages on a link.
fn raft(size: u32, terms: u64, switches: &[VariantId]) -> ServiceCheck<RaftElection> {
    let check = with::<RaftElection>(size, config(size, switches));
    check.max_term(terms).in_flight_per_link(2).initiators([])
}

fn one_leader_per_term(check: ServiceCheck<RaftElection>) -> CheckReport {
    check.always(OneLeader::new(LeaderScope::PerTerm)).run()
}

fn one_leader_at_a_time(check: ServiceCheck<RaftElection>) -> CheckReport {
    check.always(OneLeader::new(LeaderScope::Overall)).run()
}

/// Returns a check in synchronous time. A timer may fire at any unit within the range of its delay.
/// The range models clocks that differ. As in [`raft::Config::with_defaults`], the election timeout
/// is longer than the heartbeat interval and the lease together.
fn timed(switches: &[VariantId], latency: RangeInclusive<u32>) -> ServiceCheck<RaftElection> {
    // A heartbeat interval is longer than the latencies of a message and its answer together.
    let heartbeat = 2 * u64::from(*latency.end()) + 1;
    let config = raft::Config {
        election_timeout: Delay::between_time_units(heartbeat + 2, heartbeat + 3),
        heartbeat_interval: Delay::time_units(heartbeat),
        lease_duration: Delay::time_units(1),
        ..config(3, switches)
    };
    let check = with::<RaftElection>(3, config).max_term(2).in_flight_per_link(2).initiators([]);
    check.synchronous(latency).partitioning([ProcessId(0)])
}

#[test]
fn two_elect_one_leader_per_term_under_faults() {
    one_leader_per_term(raft(2, 2, &[]).max_crashes(1).max_recoveries(1)).assert_holds();
    one_leader_per_term(raft(2, 2, &[]).max_losses(1).max_duplicates(1)).assert_holds();
    one_leader_per_term(raft(2, 1, &[VariantId::PreVote]).max_crashes(1).max_recoveries(1))
        .assert_holds();
}

#[test]
fn three_elect_one_leader_per_term_under_faults() {
    let raft = |terms| raft(3, terms, &[]).in_flight_per_link(1);
    one_leader_per_term(raft(1)).assert_holds();
    // The check permits losses. A link that already holds one message therefore drops further
    // messages.
    one_leader_per_term(raft(1).max_losses(1).max_crashes(1).max_recoveries(1)).assert_holds();
}

/// In the variant `ForgottenVote`, a process forgets its vote. If messages may be lost, a search
/// with at most one message per link finds this mistake. If no message may be lost, the bound on
/// messages hides the mistake.
#[test]
fn bounds_suffice_to_find_forgotten_vote() {
    let forgetful = || {
        raft(3, 1, &[VariantId::ForgottenVote])
            .in_flight_per_link(1)
            .max_crashes(1)
            .max_recoveries(1)
    };
    violated(&one_leader_per_term(forgetful().max_losses(1)), "one-leader-per-term", 8);
    one_leader_per_term(forgetful()).assert_holds();
}

/// Three processes elect at most one leader in each of two terms. Each search allows one kind of
/// fault. A search with all kinds needs more than 6 GB of memory.
#[test]
#[ignore = "takes half a minute on one core when optimised"]
fn three_elect_one_leader_in_each_of_two_terms() {
    let raft = || raft(3, 2, &[]).in_flight_per_link(1);
    one_leader_per_term(raft().max_losses(1)).assert_holds();
    one_leader_per_term(raft().max_duplicates(1)).assert_holds();
    one_leader_per_term(raft().max_crashes(1).max_recoveries(1)).assert_holds();
}

/// A voter crashes and recovers without its vote. It then votes a second time in the same term, and
/// this term has two leaders (checklist 2.12).
#[test]
fn forgotten_vote_makes_two_leaders_of_one_term() {
    let forgetful = || raft(3, 1, &[VariantId::ForgottenVote]);
    let report = one_leader_per_term(forgetful().max_crashes(1).max_recoveries(1));
    violated(&report, "one-leader-per-term", 8);
    // Without recovery, no vote is lost.
    one_leader_per_term(forgetful().max_crashes(1)).assert_holds();
    // With a saved vote, no vote is lost.
    one_leader_per_term(raft(3, 1, &[]).max_crashes(1).max_recoveries(1)).assert_holds();
}

/// Three processes agree in synchronous time although one crashes and recovers. The command `tenure
/// check raft -n 3 --crash 1 --recover 1 --timing synchronous --latency 1 --initiators 1` runs the
/// same check.
///
/// In synchronous time every message arrives after one unit, so the search ends without a bound on
/// messages per link. Only terms are bounded.
#[test]
#[ignore = "takes ten seconds on two cores"]
fn three_agree_in_synchronous_time_with_recovery() {
    let check = |switches: &[VariantId]| {
        let check = with::<RaftElection>(3, config(3, switches)).max_term(2);
        check.initiators([ProcessId(0)]).synchronous(1..=1).max_crashes(1).max_recoveries(1)
    };
    let overall = OneLeader::new(LeaderScope::Overall);
    let report =
        check(&[]).always_and_at_end(LeaderAgreement::new()).check_progress().always(overall).run();
    report.assert_holds();
    assert_eq!((report.states, report.bounds.in_flight), (1_168_460, None));
    // Negative control: without its saved vote, a recovered process votes twice in synchronous
    // time, too.
    let forgetful = one_leader_per_term(check(&[VariantId::ForgottenVote]));
    violated(&forgetful, "one-leader-per-term", 10);
}

/// If timers fire at any time, an old leader continues until it learns of the new term. Terms make
/// this harmless.
#[test]
fn two_terms_may_have_concurrent_leaders() {
    let anytime = raft(3, 2, &[]).max_states(2_000_000);
    assert_eq!(
        one_leader_at_a_time(anytime).judgement_of("one-leader-at-a-time"),
        Judgement::Violated
    );
}

/// With a leader lease (as in the thesis on Raft) and accurate timers, a partitioned leader steps
/// down before the other processes elect a leader. The partition may occur at any moment.
#[test]
fn partition_has_one_leader_with_accurate_clocks() {
    one_leader_at_a_time(timed(&[], 0..=0)).assert_holds();
}

#[test]
#[ignore = "takes a minute on two cores"]
fn partition_has_one_leader_with_pre_vote_or_latency() {
    one_leader_at_a_time(timed(&[VariantId::PreVote], 0..=0)).assert_holds();
    one_leader_at_a_time(timed(&[], 0..=1)).assert_holds();
}

#[test]
fn missing_check_quorum_or_long_lease_makes_two_leaders() {
    for (switch, length) in [(VariantId::NoCheckQuorum, 14), (VariantId::LongLease, 12)] {
        let report = one_leader_at_a_time(timed(&[switch], 0..=0));
        violated(&report, "one-leader-at-a-time", length);
    }
}

/// Within the explored terms, all processes agree under reordering, loss, duplication, wrong
/// timeouts and restarts (column of Raft in section 5.7 of the checklist).
#[test]
fn all_agree_within_explored_terms() {
    let agreed = |check: ServiceCheck<RaftElection>| {
        check.always_and_at_end(LeaderAgreement::new()).check_progress().run().assert_holds();
    };
    agreed(raft(2, 2, &[]).initiators([ProcessId(0)]));
    agreed(raft(2, 2, &[]).max_losses(1).max_duplicates(1));
    agreed(raft(2, 2, &[]).max_crashes(1).max_recoveries(1));
    agreed(raft(3, 1, &[]).in_flight_per_link(1));
    agreed(raft(2, 1, &[VariantId::PreVote]).initiators([ProcessId(0)]).in_flight_per_link(1));
}
