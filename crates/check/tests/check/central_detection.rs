//! Tests of central deadlock detection. The numbers of states in all schedules of two and three
//! processes equal those of the independent model in `tests/independent`. Other tests check which
//! protocols report deadlocks that do not exist (phantoms).

use tenure_core::{ChannelOrder, Property};

use crate::agreement_case::AgreementCase;
use crate::catalogue::{holds, violates};
use crate::independent::searches::central_detection::sites;
use crate::independent::searches::search::Delivery::Fifo;
use crate::independent::searches::search::{count, extremes};

fn case<'a>(times: &'a [u32], variants: &'a [&'a str]) -> AgreementCase<'a> {
    AgreementCase {
        name: "central-detection",
        times,
        variants,
        order: ChannelOrder::Fifo,
        duplicates: 0,
    }
}

fn compare(rounds: &[u32]) {
    assert_eq!(case(rounds, &[]).states(), count(sites(rounds), Fifo), "{rounds:?}");
}

#[test]
fn states_match_independent_model() {
    compare(&[1, 1]);
    compare(&[2, 1]);
    compare(&[1, 0, 1]);
}

/// Compares the numbers of states and steps with those of the model in `tests/independent` in two
/// cases. In the first case, two of three processes perform one round each. In the second case,
/// both of two processes perform two rounds each. Takes some seconds: `cargo test -p
/// tenure-check-tests -- --ignored two_of_three`.
#[test]
#[ignore = "takes some seconds"]
fn states_of_two_of_three_match_independent_model() {
    compare(&[1, 1, 0]);
    compare(&[2, 2]);
}

#[test]
fn message_extremes_match_independent_model() {
    for rounds in [&[1, 1][..], &[2, 1]] {
        assert_eq!(case(rounds, &[]).messages(), extremes(sites(rounds), Fifo), "{rounds:?}");
    }
}

#[test]
fn numbered_tables_show_no_phantom() {
    for variants in [&[][..], &["double-collection"]] {
        case(&[2, 1], variants).judged().assert_holds();
    }
    case(&[1, 1, 0], &[]).judged().assert_holds();
}

/// If reports arrive late, the coordinator detects a deadlock that does not exist (a phantom). The
/// shortest such run has 17 steps.
#[test]
fn late_reports_show_a_phantom() {
    let reports = case(&[1, 1, 0], &["reports"]);
    assert_eq!(reports.steps_to_violation(Property::NoPhantomDeadlock), 17);
}

#[test]
fn deadlock_persists_without_detection() {
    let report = case(&[1, 1], &["no-detection"]).judged();
    violates(&report, "progress");
    holds(&report, "no-phantom");
}

#[test]
fn duplicates_are_harmless() {
    AgreementCase { duplicates: 1, ..case(&[1, 1], &[]) }.judged().assert_holds();
}
