//! Tests of causal broadcast. The numbers of states in all schedules of two and three processes
//! equal those of the independent model in `tests/independent`. Variants with a known mistake
//! violate a property.

use tenure_check::CheckReport;
use tenure_core::{ChannelOrder, Property};

use crate::agreement_case::AgreementCase;
use crate::independent::searches::causal_broadcast::sites;
use crate::independent::searches::search::Delivery::Unordered;
use crate::independent::searches::search::{count, extremes};

fn case<'a>(times: &'a [u32], variants: &'a [&'a str]) -> AgreementCase<'a> {
    let order = ChannelOrder::Reordered;
    AgreementCase { name: "causal-broadcast", times, variants, order, duplicates: 0 }
}

fn with_duplicate(times: &[u32]) -> CheckReport {
    AgreementCase { duplicates: 1, ..case(times, &[]) }.judged()
}

#[test]
fn states_match_independent_model() {
    for items in [&[1, 1][..], &[2, 2], &[1, 1, 1], &[2, 1, 0]] {
        assert_eq!(case(items, &[]).states(), count(sites(items), Unordered), "{items:?}");
    }
}

#[test]
fn message_extremes_match_independent_model() {
    for items in [&[2, 2][..], &[1, 1, 1]] {
        let sent = u64::from(items.iter().sum::<u32>()) * (items.len() as u64 - 1);
        let found = case(items, &[]).messages();
        assert_eq!((found, found), ((sent, sent), extremes(sites(items), Unordered)), "{items:?}");
    }
}

#[test]
fn all_deliver_in_causal_order_despite_duplicates() {
    with_duplicate(&[2, 2]).assert_holds();
    with_duplicate(&[1, 1, 0]).assert_holds();
    case(&[1, 1, 1], &[]).judged().assert_holds();
}

#[test]
fn mistakes_violate_causal_order_or_agreement() {
    for (variant, items, property, steps) in [
        ("no-wait", &[1, 1, 0][..], Property::CausalOrder, 4),
        ("fifo-only", &[1, 1, 0], Property::CausalOrder, 4),
        ("counts-deliveries", &[1, 1], Property::Agreement, 3),
        ("merges-on-arrival", &[1, 0], Property::Agreement, 1),
    ] {
        assert_eq!(case(items, &[variant]).steps_to_violation(property), steps, "{variant}");
    }
}

/// In a group of two, a broadcast is causal if it keeps the order of the items of each sender. The
/// reason is that items of different senders cannot be out of order.
#[test]
fn order_of_each_sender_is_sufficient_for_two() {
    case(&[2, 2], &["fifo-only"]).judged().assert_holds();
}
