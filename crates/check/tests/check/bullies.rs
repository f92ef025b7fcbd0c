//! The bully's switches, and what a restart does where there are no terms.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use tenure_algorithms::Variants;
use tenure_algorithms::election::bully::Switch;
use tenure_algorithms::election::{Bully, bully};
use tenure_check::{Judgement, Report};
use tenure_claims::claims;
use tenure_core::monitors::{Agreement, OneLeader, Scope};
use tenure_core::{ProcessId, TICKS_PER_UNIT};

use crate::among::{Among, with};
use crate::catalogue::violated;
use crate::elections::judged;

/// P1 starts, and one process may crash and come back.
fn restarted(size: u32, switches: &[Switch]) -> Among<Bully> {
    let plain = bully::Config::plain(size, TICKS_PER_UNIT);
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    let check = with::<Bully>(size, bully::Config { variants, ..plain }).detecting();
    check.initiators([ProcessId(0)]).crashing(1).recovering(1)
}

/// Three of them with perfect timeouts and no terms, of whom the highest crashes and comes back, as
/// far as is enough to disagree.
fn race(rule: &[Switch]) -> Report {
    let switches: Vec<Switch> = rule.iter().copied().chain([Switch::NoTerms]).collect();
    let check =
        restarted(3, &switches).crashing_at([ProcessId(2)]).synchronous(0..=1).max_states(600_000);
    check.in_the_end(Agreement::new()).run()
}

/// The announcement of P2 arrives after the later one of P3, which has come back.
#[claims("7-B4")]
#[test]
fn b4_a_third_is_not_helped_by_an_election_at_a_lower_announcement_or_by_its_absence() {
    violated(&race(&[]), "agreement", 11);
    violated(&race(&[Switch::IgnoreLower]), "agreement", 10);
    violated(&race(&[Switch::AnnounceLower]), "agreement", 10);
    // Where there is no third, it is.
    let two = restarted(2, &[Switch::NoTerms]).synchronous(0..=1);
    let report = two.in_the_end(Agreement::new()).run();
    report.assert_holds();
    assert_eq!(report.states, 892);
}

/// Crash, timeout, recovery.
#[claims("7-B5")]
#[test]
fn b5_whoever_comes_back_leads_beside_the_one_that_took_its_place() {
    let check = restarted(2, &[]).synchronous(0..=1);
    violated(&check.always(OneLeader::new(Scope::Overall)).run(), "one-leader-at-a-time", 5);
}

/// The control of 7-B4: the same crash and return, with terms. The leader of the second term is the
/// one that came back.
#[test]
fn with_terms_three_agree_in_the_end_when_the_highest_crashes_and_comes_back() {
    let check = restarted(3, &[]).crashing_at([ProcessId(2)]).synchronous(0..=1).term_max(2);
    judged(check, &[1, 2, 3]).run().assert_holds();
}

/// `tenure check bully -n 3 --crash 1 --recover 1 --initiators 1`.
#[test]
#[ignore = "ten seconds of two cores"]
fn with_terms_three_agree_in_the_end_whoever_crashes_and_comes_back() {
    let check = restarted(3, &[]).synchronous(0..=1).term_max(2);
    let report = judged(check, &[1, 2, 3]).run();
    report.assert_holds();
    assert_eq!(report.states, 1_383_456);
}

#[test]
fn switches_that_are_declared_sound_keep_agreement_whatever_the_timeouts() {
    let states = |switch| {
        let check = restarted(2, &[switch]).term_max(3).in_the_end(Agreement::new());
        let report = check.run();
        report.assert_holds();
        report.states
    };
    assert_eq!(states(Switch::TellAll), 67_881);
    assert_eq!(states(Switch::LiteralRestart), 65_034);
    assert_eq!(states(Switch::Greet), 103_137);
}

/// As nodes meet somebody who has come back, whether or not they had missed it.
#[test]
fn with_terms_two_agree_in_the_end_where_a_new_session_says_who_was_away() {
    let check = || judged(restarted(2, &[]).synchronous(0..=1).term_max(3), &[1, 2]);
    let (met, unmet) = (check().meeting_new_sessions().run(), check().run());
    met.assert_holds();
    unmet.assert_holds();
    assert!(met.states > unmet.states, "to be met is a step: {met}");
}

/// As long as its detector suspects the one that is back, a process that hears of it starts again.
#[test]
fn with_terms_a_recovery_has_an_end_only_within_a_bound_on_them_and_the_report_says_so() {
    let check = || restarted(2, &[]).synchronous(0..=1).in_the_end(Agreement::new());
    let endless = check().max_states(20_000).run();
    assert_eq!(endless.judgement(), Judgement::Incomplete);
    assert!(endless.depth > 100, "{endless}");
    assert!(endless.to_string().contains("no step violates anything"), "{endless}");
    let bounded = check().term_max(3).run();
    bounded.assert_holds();
    assert_eq!(bounded.bounds.term_max, Some(3));
}

#[test]
fn to_believe_a_lower_one_lets_it_lead_beside_a_higher() {
    let report = judged(restarted(2, &[Switch::AcceptLower]).term_max(3), &[1, 2]).run();
    violated(&report, "validity", 7);
}

/// The catalogue calls these wrong where there are no terms; with terms two of them agree.
#[test]
fn with_terms_two_agree_even_if_a_lower_announcement_is_ignored_or_not_sent() {
    let states = |switch| {
        let report = judged(restarted(2, &[switch]).term_max(3), &[1, 2]).run();
        report.assert_holds();
        report.states
    };
    assert_eq!(states(Switch::IgnoreLower), 74_901);
    assert_eq!(states(Switch::AnnounceLower), 5_300);
}
