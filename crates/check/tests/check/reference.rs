//! Tests of the textbook's version of Ricart–Agrawala. The checker counts as many states as
//! independent tools, one of which is `tests/independent`.

use crate::by_service::with;
use crate::textbook::{Mistake, Textbook};
use crate::verdicts::counts;
use tenure_algorithms::Variants;
use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_check::{Check, RequestLimit};
use tenure_core::ChannelOrder;
use tenure_core::monitors::MutualExclusion;

fn check(size: u32, entries: u32, order: ChannelOrder) -> Check<Textbook> {
    Check::new(size).request_limits(entries).channel_order(order).always(MutualExclusion::new())
}

/// The built-in algorithm with the variant `Reference` has as many states and steps as the
/// algorithm of the textbook. The literature reports these numbers.
#[test]
fn shipped_algorithm_of_1981_matches_state_counts() {
    let variants = Variants::none().with(ricart_agrawala::VariantId::Reference);
    for (entries, known) in [(1, (2_049, 5_489)), (2, (25_674, 71_373))] {
        let check = with::<RicartAgrawala>(3, variants).request_limits(entries).fifo();
        assert_eq!(counts(check.always(MutualExclusion::new())), known);
    }
}

#[test]
fn three_with_fifo_match_state_counts() {
    assert_eq!(counts(check(3, 1, ChannelOrder::Fifo)), (2_049, 5_489));
    assert_eq!(counts(check(3, 2, ChannelOrder::Fifo)), (25_674, 71_373));
    assert_eq!(counts(check(3, 3, ChannelOrder::Fifo)), (122_015, 343_670));
}

#[test]
fn three_with_reordering_match_state_counts() {
    assert_eq!(counts(check(3, 1, ChannelOrder::Reordered)), (2_822, 9_006));
    assert_eq!(counts(check(3, 2, ChannelOrder::Reordered)), (37_229, 125_213));
}

#[test]
#[ignore = "takes 1.5 seconds on two cores when optimised"]
fn four_with_fifo_match_state_count() {
    assert_eq!(counts(check(4, 1, ChannelOrder::Fifo)), (1_402_298, 7_398_199));
}

#[test]
#[ignore = "takes three seconds on two cores when optimised"]
fn four_with_reordering_match_state_count() {
    assert_eq!(counts(check(4, 1, ChannelOrder::Reordered)), (2_070_348, 13_381_842));
}

#[test]
fn rebasing_makes_endless_requests_finite() {
    let check = Check::<Textbook>::new(3)
        .request_limits(RequestLimit::Unbounded)
        .fifo()
        .reducing_by_timestamp_shifts();
    let endless = check.always(MutualExclusion::new()).check_starvation_freedom();
    assert_eq!(counts(endless), (1_833, 5_297 + 1));
}

#[test]
fn reply_while_inside_is_found_in_ten_steps() {
    let wrong = || {
        Check::<Textbook>::with_protocol_config(3, Mistake::ReplyWhileInside)
            .request_limits(2)
            .fifo()
    };
    let alone = wrong().always(MutualExclusion::new()).run();
    let both = wrong().always(MutualExclusion::new()).check_starvation_freedom().run();
    for report in [alone, both] {
        let found =
            report.counterexample("mutual-exclusion").expect("mutual exclusion is violated");
        assert_eq!(found.step_count(), 10, "{found}");
    }
}
