//! Tests of the variants of the bully algorithm, and of restarts without terms.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use tenure_algorithms::election::Bully;
use tenure_algorithms::election::bully::VariantId;
use tenure_check::{CheckReport, Judgement};
use tenure_core::ProcessId;
use tenure_core::monitors::{LeaderAgreement, LeaderScope, OneLeader};

use crate::by_service::ServiceCheck;
use crate::catalogue::violated;
use crate::elections::{bully, with_properties};
use crate::verdicts::states;

/// Returns a check in which P1 starts the election, and one process may crash and recover, at any
/// moment.
fn restarted(size: u32, switches: &[VariantId]) -> ServiceCheck<Bully> {
    bully(size, switches).initiators([ProcessId(0)]).max_crashes(1).max_recoveries(1)
}

/// Checks three processes with perfect timeouts and without terms. P3, which has the highest
/// number, crashes and recovers. The bounds of the check are just large enough to find runs in
/// which the processes disagree on the leader.
fn race(rule: &[VariantId]) -> CheckReport {
    let switches: Vec<VariantId> = rule.iter().copied().chain([VariantId::NoTerms]).collect();
    let check = restarted(3, &switches)
        .crashing_only([ProcessId(2)])
        .synchronous(0..=1)
        .max_states(600_000);
    check.always_and_at_end(LeaderAgreement::new()).run()
}

/// Without terms, an old announcement makes three processes disagree: P3 recovers and announces
/// itself, and then an announcement arrives that P2 sent earlier.
#[test]
#[ignore = "long: 9 s"]
fn b4_stale_announcement_makes_three_disagree_without_terms() {
    violated(&race(&[]), "agreement", 11);
    violated(&race(&[VariantId::IgnoreLower]), "agreement", 10);
    violated(&race(&[VariantId::AnnounceLower]), "agreement", 10);
    // Two processes agree even without terms.
    let two = restarted(2, &[VariantId::NoTerms]).synchronous(0..=1);
    assert_eq!(states(two.always_and_at_end(LeaderAgreement::new())), 892);
}

/// A leader crashes and recovers, and then leads at the same time as its successor. The run has
/// five steps, which include a crash, a timeout and a recovery.
#[test]
fn b5_recovered_leader_leads_beside_its_successor() {
    let check = restarted(2, &[]).synchronous(0..=1);
    violated(&check.always(OneLeader::new(LeaderScope::Overall)).run(), "one-leader-at-a-time", 5);
}

/// In case 7-B4 of the checklist, the highest process crashes and recovers, and three processes
/// then disagree. With terms, they agree. The recovered process leads the second term.
#[test]
fn terms_let_three_agree_after_highest_recovers() {
    let check = restarted(3, &[]).crashing_only([ProcessId(2)]).synchronous(0..=1).max_term(2);
    with_properties(check, &[1, 2, 3]).run().assert_holds();
}

/// With terms, three processes agree after any recovery. The command `tenure check bully -n 3
/// --crash 1 --recover 1 --initiators 1` runs the same check.
#[test]
#[ignore = "takes ten seconds on two cores"]
fn terms_let_three_agree_after_any_recovery() {
    let check = restarted(3, &[]).synchronous(0..=1).max_term(2);
    assert_eq!(states(with_properties(check, &[1, 2, 3])), 1_383_456);
}

#[test]
fn sound_switches_keep_agreement_with_any_timeouts() {
    for (switch, known) in [
        (VariantId::TellAll, 67_881),
        (VariantId::LiteralRestart, 65_034),
        (VariantId::Greet, 103_137),
    ] {
        let check = restarted(2, &[switch]).max_term(3).always_and_at_end(LeaderAgreement::new());
        assert_eq!(states(check), known, "{switch:?}");
    }
}

/// Live nodes detect the restart of a peer by its session, even if they did not notice the crash.
#[test]
fn terms_and_sessions_let_two_agree_after_recovery() {
    let check = || with_properties(restarted(2, &[]).synchronous(0..=1).max_term(3), &[1, 2]);
    let detecting = check().configure(|config| config.model.detects_restarts = true);
    let (met, unmet) = (detecting.run(), check().run());
    met.assert_holds();
    unmet.assert_holds();
    assert!(met.states > unmet.states, "detection of a session is a step: {met}");
}

/// The highest process crashes, recovers and leads. If a peer still suspects this process and
/// learns that it leads, the peer starts an election with a new term. This cycle can repeat without
/// end, so the search ends only if terms have a bound.
#[test]
fn recovery_with_terms_needs_a_term_bound() {
    let check = || restarted(2, &[]).synchronous(0..=1).always_and_at_end(LeaderAgreement::new());
    let endless = check().max_states(20_000).run();
    assert_eq!(endless.judgement(), Judgement::Incomplete);
    assert!(endless.depth > 100, "{endless}");
    assert!(endless.to_string().contains("no step violates anything"), "{endless}");
    let bounded = check().max_term(3).run();
    bounded.assert_holds();
    assert_eq!(bounded.bounds.term_max, Some(3));
}

#[test]
fn accepting_lower_leader_creates_two_leaders() {
    let report =
        with_properties(restarted(2, &[VariantId::AcceptLower]).max_term(3), &[1, 2]).run();
    violated(&report, "validity", 7);
}

/// With terms, two processes agree under two variants of the algorithm. In the first variant, a
/// process ignores announcements of lower processes. In the second variant, a leader announces
/// itself only to lower processes. Without terms, the checklist rejects both variants.
#[test]
fn terms_tolerate_ignored_or_missing_lower_announcements() {
    for (switch, known) in [(VariantId::IgnoreLower, 74_901), (VariantId::AnnounceLower, 5_300)] {
        let check = with_properties(restarted(2, &[switch]).max_term(3), &[1, 2]);
        assert_eq!(states(check), known, "{switch:?}");
    }
}
