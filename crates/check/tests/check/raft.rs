//! Raft's election: never two leaders in one term, whatever happens; never two at a time, while
//! clocks keep time; and what it costs to forget a vote, a promise, or to look at the majority.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use std::ops::RangeInclusive;

use tenure_algorithms::Variants;
use tenure_algorithms::election::raft::Switch;
use tenure_algorithms::election::{Raft, raft};
use tenure_check::{Judgement, Report};
use tenure_claims::claims;
use tenure_core::monitors::{Agreement, OneLeader, Scope};
use tenure_core::{Delay, ProcessId, TICKS_PER_UNIT};

use crate::among::{Among, with};
use crate::catalogue::violated;

fn config(size: u32, switches: &[Switch]) -> raft::Config {
    let plain = raft::Config::plain(size, TICKS_PER_UNIT);
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    raft::Config { rounds: 1, variants, ..plain }
}

/// Timers fire at any time: nothing is known of delays. Terms beyond `terms` are cut off, and
/// worlds with more than two messages on a link.
fn raft(size: u32, terms: u64, switches: &[Switch]) -> Among<Raft> {
    let check = with::<Raft>(size, config(size, switches));
    check.term_max(terms).in_flight(2).initiators([])
}

fn per_term(check: Among<Raft>) -> Report {
    check.always(OneLeader::new(Scope::PerTerm)).run()
}

fn at_a_time(check: Among<Raft>) -> Report {
    check.always(OneLeader::new(Scope::Overall)).run()
}

/// Time passes for all alike; clocks differ by what is between the least and the most of a delay.
/// As in [`raft::Config::plain`], heartbeat and lease together are shorter than the timeout.
fn timed(switches: &[Switch], latency: RangeInclusive<u32>) -> Among<Raft> {
    // Heartbeats are longer than a message and its answer take.
    let heartbeat = 2 * u64::from(*latency.end()) + 1;
    let config = raft::Config {
        election: Delay::between_units(heartbeat + 2, heartbeat + 3),
        heartbeat: Delay::units(heartbeat),
        lease: Delay::units(1),
        ..config(3, switches)
    };
    let check = with::<Raft>(3, config).term_max(2).in_flight(2).initiators([]);
    check.synchronous(latency).partitioning([ProcessId(0)])
}

#[claims("A-RAFT")]
#[test]
fn two_never_elect_two_in_one_term_whatever_is_lost_or_repeated_or_crashes() {
    per_term(raft(2, 2, &[]).crashing(1).recovering(1)).assert_holds();
    per_term(raft(2, 2, &[]).losing(1).duplicating(1)).assert_holds();
    per_term(raft(2, 1, &[Switch::PreVote]).crashing(1).recovering(1)).assert_holds();
}

#[claims("A-RAFT", "5.7-restart")]
#[test]
fn three_never_elect_two_in_one_term_whatever_is_lost_or_repeated_or_crashes() {
    let raft = |terms| raft(3, terms, &[]).in_flight(1);
    per_term(raft(1)).assert_holds();
    // What is sent beyond one message on a link is lost as well.
    per_term(raft(1).losing(1).crashing(1).recovering(1)).assert_holds();
}

/// The control of the searches above: their bounds are wide enough for a vote that is forgotten.
/// Where what finds a link full is not lost, one message on a link is too few for it.
#[test]
fn a_forgotten_vote_is_found_within_the_bounds_within_which_a_saved_one_holds() {
    let forgetful = || raft(3, 1, &[Switch::ForgottenVote]).in_flight(1).crashing(1).recovering(1);
    violated(&per_term(forgetful().losing(1)), "one-leader-per-term", 8);
    per_term(forgetful()).assert_holds();
}

/// One fault at a time: with all of them there is no end within 6 GB.
#[test]
#[ignore = "half a minute of a core when optimised"]
fn three_never_elect_two_in_one_of_two_terms() {
    let raft = || raft(3, 2, &[]).in_flight(1);
    per_term(raft().losing(1)).assert_holds();
    per_term(raft().duplicating(1)).assert_holds();
    per_term(raft().crashing(1).recovering(1)).assert_holds();
}

/// 2.12: a voter comes back without its vote, and gives it again.
#[test]
fn a_forgotten_vote_makes_two_leaders_of_one_term() {
    let forgetful = || raft(3, 1, &[Switch::ForgottenVote]);
    let report = per_term(forgetful().crashing(1).recovering(1));
    violated(&report, "one-leader-per-term", 8);
    // Where nobody comes back, nothing is forgotten.
    per_term(forgetful().crashing(1)).assert_holds();
    // And where the vote is saved, nothing is.
    per_term(raft(3, 1, &[]).crashing(1).recovering(1)).assert_holds();
}

/// `tenure check raft -n 3 --crash 1 --recover 1 --timing synchronous --latency 1 --initiators 1`:
/// where time passes for all alike the search ends with any number of messages on a link, for
/// whatever is sent is there after one unit; terms alone are bounded.
#[test]
#[ignore = "ten seconds of two cores"]
fn in_time_three_agree_and_are_told_whoever_crashes_and_comes_back() {
    let check = |switches: &[Switch]| {
        let check = with::<Raft>(3, config(3, switches)).term_max(2);
        check.initiators([ProcessId(0)]).synchronous(1..=1).crashing(1).recovering(1)
    };
    let overall = OneLeader::new(Scope::Overall);
    let report = check(&[]).in_the_end(Agreement::new()).progress().always(overall).run();
    report.assert_holds();
    assert_eq!((report.states, report.bounds.in_flight), (1_168_460, None));
    // The control: who forgets its vote gives it twice, here as well.
    let forgetful = per_term(check(&[Switch::ForgottenVote]));
    violated(&forgetful, "one-leader-per-term", 10);
}

/// Where timers fire at any time, an earlier leader goes on until it hears of the later one:
/// hence terms.
#[test]
fn two_terms_may_have_a_leader_each_at_the_same_time() {
    let anytime = raft(3, 2, &[]).max_states(2_000_000);
    assert_eq!(at_a_time(anytime).of("one-leader-at-a-time"), Judgement::Violated);
}

/// The lease of the thesis, with timers that keep time: whoever is cut off has left its office
/// before the others elect, whenever the cut comes.
#[claims("A-RAFT")]
#[test]
fn while_clocks_keep_time_a_partition_never_has_two_leaders() {
    at_a_time(timed(&[], 0..=0)).assert_holds();
}

#[test]
#[ignore = "a minute of two cores"]
fn nor_has_it_with_pre_vote_or_where_messages_take_time() {
    at_a_time(timed(&[Switch::PreVote], 0..=0)).assert_holds();
    at_a_time(timed(&[], 0..=1)).assert_holds();
}

/// The negative controls.
#[test]
fn without_check_quorum_or_with_too_long_a_lease_a_partition_has_two_leaders() {
    for (switch, length) in [(Switch::NoCheckQuorum, 14), (Switch::LongLease, 12)] {
        let report = at_a_time(timed(&[switch], 0..=0));
        violated(&report, "one-leader-at-a-time", length);
    }
}

/// 5.7, the column of Raft: reordering, loss, duplication, wrong timeouts and restarts.
#[test]
fn within_the_terms_that_are_explored_all_agree_and_are_told() {
    let agreed = |check: Among<Raft>| {
        check.in_the_end(Agreement::new()).progress().run().assert_holds();
    };
    agreed(raft(2, 2, &[]).initiators([ProcessId(0)]));
    agreed(raft(2, 2, &[]).losing(1).duplicating(1));
    agreed(raft(2, 2, &[]).crashing(1).recovering(1));
    agreed(raft(3, 1, &[]).in_flight(1));
    agreed(raft(2, 1, &[Switch::PreVote]).initiators([ProcessId(0)]).in_flight(1));
}
