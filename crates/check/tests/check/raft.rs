//! Raft's election: never two leaders in one term, whatever happens; and what it costs to forget
//! a vote.

use tenure_algorithms::Variants;
use tenure_algorithms::election::raft::Switch;
use tenure_algorithms::election::{Raft, raft};
use tenure_check::{Check, Report};
use tenure_claims::claims;
use tenure_core::monitors::{Agreement, OneLeader, Scope};
use tenure_core::{ProcessId, TICKS_PER_UNIT};

use crate::elections::violated;

/// Timers fire at any time: nothing is known of delays. Terms beyond `terms` are cut off, and
/// worlds with more than two messages on a link.
fn raft(size: u32, terms: u64, switches: &[Switch]) -> Check<Raft> {
    let plain = raft::Config::plain(size, TICKS_PER_UNIT);
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    let check = Check::with(size, raft::Config { variants, ..plain });
    check.term_max(terms).in_flight(2).initiators([])
}

fn per_term(check: Check<Raft>) -> Report {
    check.always(OneLeader::new(Scope::PerTerm)).run()
}

/// How many states there are, in none of which a term has two leaders.
fn states(check: Check<Raft>) -> u64 {
    let report = per_term(check);
    report.assert_holds();
    report.states
}

#[claims("A-RAFT")]
#[test]
fn two_never_elect_two_in_one_term_whatever_is_lost_or_repeated_or_crashes() {
    assert_eq!(states(raft(2, 2, &[]).crashing(1).recovering(1)), 2543);
    assert_eq!(states(raft(2, 2, &[]).losing(1).duplicating(1)), 4333);
    assert_eq!(states(raft(2, 2, &[Switch::PreVote]).crashing(1).recovering(1)), 117_095);
}

#[claims("A-RAFT", "5.7-restart")]
#[test]
fn three_never_elect_two_in_one_term_whatever_is_lost_or_repeated_or_crashes() {
    assert_eq!(states(raft(3, 1, &[])), 3256);
    assert_eq!(states(raft(3, 1, &[]).crashing(1).recovering(1)), 28_876);
    // What is sent beyond one message on a link is lost as well.
    let lossy = |terms| raft(3, terms, &[]).in_flight(1).losing(1);
    assert_eq!(states(lossy(1).crashing(1).recovering(1)), 24_582);
    assert_eq!(states(lossy(2)), 372_041);
}

#[test]
#[ignore = "some seconds of two cores"]
fn three_never_elect_two_in_one_of_two_terms() {
    let lossy = raft(3, 2, &[]).in_flight(1).losing(1).duplicating(1);
    per_term(lossy.crashing(1).recovering(1)).assert_holds();
}

/// 2.12: a voter comes back without its vote, and gives it again.
#[test]
fn a_forgotten_vote_makes_two_leaders_of_one_term() {
    let forgetful = raft(3, 1, &[Switch::ForgottenVote]);
    let report = per_term(forgetful.crashing(1).recovering(1));
    violated(&report, "one-leader-per-term", 8);
    // Where nobody comes back, nothing is forgotten.
    per_term(raft(3, 1, &[Switch::ForgottenVote]).crashing(1)).assert_holds();
}

/// An earlier leader goes on until it hears of the later one: hence terms.
#[test]
fn two_terms_may_have_a_leader_each_at_the_same_time() {
    let report = raft(3, 2, &[]).always(OneLeader::new(Scope::Overall)).max_states(2_000_000).run();
    violated(&report, "one-leader-at-a-time", 8);
}

/// 5.7, the column of Raft: reordering, loss, duplication, wrong timeouts and restarts.
#[test]
fn within_the_terms_that_are_explored_all_agree_and_are_told() {
    let agreed = |check: Check<Raft>| {
        check.in_the_end(Agreement::new()).progress().run().assert_holds();
    };
    agreed(raft(2, 2, &[]).initiators([ProcessId(0)]));
    agreed(raft(2, 2, &[]).losing(1).duplicating(1));
    agreed(raft(2, 2, &[]).crashing(1).recovering(1));
    agreed(raft(3, 1, &[]));
    agreed(raft(3, 1, &[]).initiators([ProcessId(0)]).fifo());
}
