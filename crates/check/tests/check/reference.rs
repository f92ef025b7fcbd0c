//! The figures that independent tools agreed on for the textbook's Ricart–Agrawala. One of them is
//! here, and counts other algorithms too: `tests/independent`.

use crate::among::with;
use crate::textbook::{Mistake, Textbook};
use tenure_algorithms::Variants;
use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_check::{Check, Entries, Report};
use tenure_core::Order;
use tenure_core::monitors::MutualExclusion;

fn explored(size: u32, entries: u32, order: Order) -> Report {
    let check = Check::<Textbook>::of(size).entries(entries).channel(order);
    check.always(MutualExclusion::new()).run()
}

fn counts(report: &Report) -> (u64, u64) {
    assert!(report.holds(), "{report}");
    (report.states, report.transitions)
}

/// What is run over TCP is, but for its switches, what the literature counted.
#[test]
fn the_shipped_algorithm_as_of_1981_has_the_same_numbers_of_states() {
    let variants = Variants::none().with(ricart_agrawala::Switch::Reference);
    for (entries, known) in [(1, (2_049, 5_489)), (2, (25_674, 71_373))] {
        let config = ricart_agrawala::Config { variants };
        let check = with::<RicartAgrawala>(3, config).entries(entries).fifo();
        assert_eq!(counts(&check.always(MutualExclusion::new()).run()), known);
    }
}

#[test]
fn three_processes_with_fifo_links_have_the_known_numbers_of_states() {
    assert_eq!(counts(&explored(3, 1, Order::Fifo)), (2_049, 5_489));
    assert_eq!(counts(&explored(3, 2, Order::Fifo)), (25_674, 71_373));
    assert_eq!(counts(&explored(3, 3, Order::Fifo)), (122_015, 343_670));
}

#[test]
fn three_processes_with_reordering_links_have_the_known_numbers_of_states() {
    assert_eq!(counts(&explored(3, 1, Order::Reordered)), (2_822, 9_006));
    assert_eq!(counts(&explored(3, 2, Order::Reordered)), (37_229, 125_213));
}

#[test]
#[ignore = "a second and a half of two cores when optimised"]
fn four_processes_with_fifo_links_have_the_known_number_of_states() {
    assert_eq!(counts(&explored(4, 1, Order::Fifo)), (1_402_298, 7_398_199));
}

#[test]
#[ignore = "three seconds of two cores when optimised"]
fn four_processes_with_reordering_links_have_the_known_number_of_states() {
    assert_eq!(counts(&explored(4, 1, Order::Reordered)), (2_070_348, 13_381_842));
}

#[test]
fn endless_requests_are_a_finite_graph_of_the_known_size_once_stamps_are_rebased() {
    let check = Check::<Textbook>::of(3).entries(Entries::Unbounded).fifo().rebasing();
    let report = check.always(MutualExclusion::new()).starvation_free().run();
    assert!(report.holds(), "{report}");
    assert_eq!((report.states, report.transitions), (1_833, 5_297 + 1));
}

#[test]
fn replying_while_inside_takes_ten_steps_with_one_property_or_with_two() {
    let wrong = || Check::<Textbook>::with(3, Mistake::ReplyWhileInside).entries(2).fifo();
    let alone = wrong().always(MutualExclusion::new()).run();
    let both = wrong().always(MutualExclusion::new()).starvation_free().run();
    for report in [alone, both] {
        let found = report.counterexample("mutual-exclusion").expect("two are inside");
        assert_eq!(found.length(), 10, "{found}");
    }
}
