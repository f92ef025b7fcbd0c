//! Tests of the Byzantine generals, with every behaviour of the liars. The results equal those of
//! the independent model in `tests/independent/generals.rs`.

use tenure_algorithms::Variants;
use tenure_algorithms::byzantine::OralMessagesGeneral;
use tenure_algorithms::byzantine::oral_messages::{Config, VariantId};
use tenure_check::{
    ByzantineGeneralsConfig, CheckLimits, CheckReport, Judgement, StopReason,
    check_byzantine_generals,
};

use crate::independent::searches::generals::{Rule, Verdicts, messages, verdicts};

fn check(size: u32, liars: u32, variant: Option<VariantId>) -> CheckReport {
    let variants = variant.into_iter().fold(Variants::none(), Variants::with);
    let config = ByzantineGeneralsConfig::new("byzantine-generals", size, liars);
    check_byzantine_generals::<OralMessagesGeneral>(
        &config,
        &Config { tolerated_liars: liars, variants },
    )
}

fn judged(report: &CheckReport) -> Verdicts {
    let holds = |property| report.judgement_of(property) == Judgement::Holds;
    Verdicts { agreement: holds("agreement"), validity: holds("validity") }
}

#[test]
fn judgements_agree_with_the_independent_model() {
    for (size, liars) in [(3, 0), (3, 1), (4, 0), (4, 1), (5, 1)] {
        let theirs = verdicts(size as usize, liars as usize, Rule::Majority);
        assert_eq!(judged(&check(size, liars, None)), theirs, "{size} generals, {liars} liars");
    }
    for (variant, rule) in
        [(VariantId::ObeysDirectly, Rule::Direct), (VariantId::LeavesItselfOut, Rule::Reports)]
    {
        let ours = judged(&check(4, 1, Some(variant)));
        assert_eq!(ours, verdicts(4, 1, rule), "{variant:?}");
        // Negative control: without the variant, the verdicts differ.
        assert_ne!(ours, judged(&check(4, 1, None)), "{variant:?}");
    }
}

#[test]
fn more_than_three_generals_for_each_liar_are_needed() {
    let both = Verdicts { agreement: true, validity: true };
    // The model computes sets of outcomes, because two liars send too many combinations to
    // enumerate.
    let by_sets = |n, m| verdicts(n, m, Rule::Majority) == both;
    assert_eq!([3, 4].map(|n| by_sets(n, 1)), [false, true]);
    assert_eq!([5, 6, 7].map(|n| by_sets(n, 2)), [false, false, true]);
}

#[test]
fn one_lie_of_three_generals_misleads_the_loyal_lieutenant() {
    let report = check(3, 1, None);
    let found = report.counterexample("validity").expect("IC2 is violated");
    assert_eq!(
        found.step_inputs(),
        [
            "P1 proposes 1",
            "P2 receives attack from P1",
            "P3 receives attack from P1",
            "P3 receives false-retreat from P2",
            "P2 receives attack from P3",
        ]
    );
    assert_eq!(
        found.explanation,
        "IC2, the loyal commander orders attack (1): P3 obeys retreat (0) after one lie of P2"
    );
    let drawn = found.diagram();
    assert!(drawn.contains("false-retreat") && drawn.contains("is a liar"), "{drawn}");
}

#[test]
fn lying_commander_divides_lieutenants_that_obey_directly() {
    let report = check(4, 1, Some(VariantId::ObeysDirectly));
    let found = report.counterexample("agreement").expect("IC1 is violated");
    assert_eq!(found.step_inputs()[..2], ["P1 proposes 0", "P1 proposes 1"], "it orders both");
    let expected = "IC1: P4 obeys attack (1), P2 obeys retreat (0), P3 obeys attack (1) after one \
                    lie of P1";
    assert_eq!(found.explanation, expected);
}

#[test]
fn runs_have_as_many_messages_as_the_card_states() {
    for (size, liars) in [(3, 0), (3, 1), (4, 1), (5, 1), (7, 2), (10, 3)] {
        let card = OralMessagesGeneral::card(size, liars);
        assert_eq!(card.message_count, messages(size.into(), liars.into()), "{size}, {liars}");
    }
    // A run has one step for each message, and one for the order of the commander.
    assert_eq!(
        u64::from(check(4, 1, None).depth),
        OralMessagesGeneral::card(4, 1).message_count + 1
    );
}

#[test]
fn searches_stop_at_their_limits() {
    let mut config = ByzantineGeneralsConfig::new("byzantine-generals", 4, 1);
    config.limits = CheckLimits { states: Some(20), ..config.limits };
    let right = Config { tolerated_liars: 1, variants: Variants::none() };
    let report = check_byzantine_generals::<OralMessagesGeneral>(&config, &right);
    assert_eq!(report.judgement_of("agreement"), Judgement::Incomplete);
    assert_eq!((report.states, report.reached_limit), (20, Some(StopReason::States)));
}

/// The search is depth-first. If it stops early, there is no depth up to which it has judged all
/// runs.
#[test]
fn limited_search_claims_no_depth() {
    let generals = Config { tolerated_liars: 1, variants: Variants::none() };
    let limited = |states| {
        let mut config = ByzantineGeneralsConfig::new("byzantine-generals", 3, 1);
        config.limits = CheckLimits { states: Some(states), ..config.limits };
        check_byzantine_generals::<OralMessagesGeneral>(&config, &generals)
    };
    let reports = (1..=check(3, 1, None).states).map(limited);
    let undecided: Vec<CheckReport> = reports.filter(|it| it.counterexamples.is_empty()).collect();
    assert!(undecided.len() > 5, "{} reports without a violation", undecided.len());
    for report in undecided {
        let text = report.to_string();
        assert!(text.contains("stopped: limit on states reached"), "{text}");
        assert!(!text.contains("within depth"), "{text}");
    }
}
