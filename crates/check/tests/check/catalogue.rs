//! The verdicts of the catalogue's section 7, by their ids, each with the length of its shortest
//! counterexample: that no shorter one is found shows that the checker takes no step that the
//! algorithm does not have.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use std::sync::Arc;

use tenure_algorithms::mutex::{
    Central, Lamport, Maekawa, RicartAgrawala, TokenRing, central, lamport, maekawa,
    ricart_agrawala,
};
use tenure_algorithms::{Switch, Variants};
use tenure_check::{Check, Judgement, Manner, Report};
use tenure_claims::claims;
use tenure_core::monitors::{MutualExclusion, Order};
use tenure_core::quorum::{Kind, Quorums};
use tenure_core::{Mutex, Order as channel};

use crate::among::{Among, of, with};

pub(crate) fn safe_and_live<P: Mutex>(check: Check<P>) -> Check<P> {
    check.always(MutualExclusion::new()).starvation_free()
}

/// Asserts that a property is violated after so many steps and no fewer, and tells how.
pub(crate) fn violated(report: &Report, property: &str, steps: usize) -> Manner {
    let found = report.counterexample(property).unwrap_or_else(|| panic!("{report}"));
    assert_eq!(found.length(), steps, "{found}");
    found.manner
}

pub(crate) fn holds(report: &Report, property: &str) {
    assert_eq!(report.of(property), Judgement::Holds, "{report}");
}

fn central_with(size: u32) -> Among<Central> {
    with::<Central>(size, central::Config::default())
}

#[claims("7-C1")]
#[test]
fn c1_central_is_safe_and_live_in_any_order() {
    safe_and_live(central_with(3).entries([0, 2, 2])).run().assert_holds();
}

#[claims("7-C2")]
#[test]
fn c2_central_breaks_the_order_of_requests_that_applications_told_each_other_of() {
    let told = central_with(3).entries([0, 1, 1]).application_messages(1).always(Order::new());
    assert_eq!(violated(&told.run(), "order", 6), Manner::Step);
    let alone = central_with(3).entries([0, 2, 2]).always(Order::new());
    alone.run().assert_holds();
    let ignored = central_with(3).entries([0, 1, 1]).application_messages(1);
    ignored.ignoring_application_causality().always(Order::new()).run().assert_holds();
}

#[claims("7-C3")]
#[test]
fn c3_a_duplicate_lets_two_into_central_where_grants_are_not_tagged() {
    let variants = Variants::none().with(central::Switch::UntaggedGrant);
    let config = central::Config { variants, ..central::Config::default() };
    let check = with::<Central>(3, config).entries([0, 2, 2]).duplicating(1);
    violated(&safe_and_live(check).run(), "mutual-exclusion", 11);
    // Where requests are numbered and grants name theirs, duplicates do no harm (2.1).
    let tagged = central_with(3).entries([0, 2, 2]).duplicating(1);
    safe_and_live(tagged).run().assert_holds();
}

#[claims("7-T1")]
#[test]
fn t1_the_ring_breaks_the_order_of_requests_that_applications_told_each_other_of() {
    let check = of::<TokenRing>(2).application_messages(1).always(Order::new());
    violated(&check.run(), "order", 4);
    let ring = of::<TokenRing>(3).entries(2);
    safe_and_live(ring).run().assert_holds();
}

#[claims("7-T2")]
#[test]
fn t2_a_duplicated_token_lets_two_in() {
    let check = safe_and_live(of::<TokenRing>(2).duplicating(1)).run();
    violated(&check, "mutual-exclusion", 8);
}

fn lamport_with(size: u32, switches: &[lamport::Switch]) -> Check<Lamport> {
    Check::with(size, lamport::Config { variants: all(switches) })
}

fn all<S: Switch>(switches: &[S]) -> Variants<S> {
    switches.iter().fold(Variants::none(), |variants, switch| variants.with(*switch))
}

#[claims("7-L1")]
#[test]
fn l1_lamport_with_ids_as_stamps_is_unsafe() {
    let check = lamport_with(2, &[lamport::Switch::IdsAsStamps]).fifo();
    violated(&safe_and_live(check).run(), "mutual-exclusion", 6);
}

#[claims("7-L2")]
#[test]
fn l2_lamport_without_a_tie_break_and_its_own_first_is_unsafe() {
    let check = lamport_with(2, &[lamport::Switch::ClockOnlyOwnFirst]).fifo();
    violated(&safe_and_live(check).run(), "mutual-exclusion", 6);
}

#[claims("7-L3")]
#[test]
fn l3_lamport_without_a_tie_break_and_the_others_first_deadlocks() {
    let check = lamport_with(2, &[lamport::Switch::ClockOnlyOtherFirst]).fifo();
    let report = safe_and_live(check).run();
    assert_eq!(violated(&report, "starvation-freedom", 2), Manner::Deadlock);
    holds(&report, "mutual-exclusion");
}

#[claims("7-L4")]
#[test]
fn l4_lamport_needs_first_in_first_out() {
    let any = safe_and_live(lamport_with(2, &[lamport::Switch::AnyMessage])).run();
    violated(&any, "mutual-exclusion", 4);
    violated(&safe_and_live(lamport_with(2, &[])).run(), "mutual-exclusion", 6);
}

#[claims("7-L5", "7-L6")]
#[test]
fn l5_and_l6_either_condition_alone_is_unsafe() {
    for (switch, steps) in
        [(lamport::Switch::OwnRequestOnTop, 2), (lamport::Switch::ReplyFromAll, 6)]
    {
        let check = lamport_with(2, &[switch]).fifo();
        violated(&safe_and_live(check).run(), "mutual-exclusion", steps);
    }
}

#[claims("7-L7")]
#[test]
fn l7_lamport_is_safe_live_and_in_order_on_fifo_links() {
    for switches in [&[][..], &[lamport::Switch::AnyMessage], &[lamport::Switch::SuppressedReplies]]
    {
        let check = lamport_with(3, switches).entries([2, 1, 0]).fifo();
        safe_and_live(check).run().assert_holds();
        let check = lamport_with(3, switches).fifo();
        safe_and_live(check).always(Order::new()).run().assert_holds();
    }
    let told = lamport_with(2, &[]).fifo().application_messages(2).stamping_application_messages();
    safe_and_live(told).always(Order::new()).run().assert_holds();
}

/// With as many messages as lose the order where they are not stamped.
#[claims("7-L7")]
#[test]
fn l7_lamport_keeps_the_order_of_three_whose_applications_stamp_their_messages() {
    let told = lamport_with(3, &[]).entries([1, 1, 0]).fifo().application_messages(2);
    let report = told.stamping_application_messages().always(Order::new()).run();
    report.assert_holds();
}

#[claims("7-L8")]
#[test]
fn l8_lamport_with_unstamped_application_messages_loses_the_order_and_stays_safe() {
    let check = lamport_with(3, &[]).entries([1, 1, 0]).fifo().application_messages(2);
    let report = check.always(MutualExclusion::new()).always(Order::new()).run();
    violated(&report, "order", 9);
    holds(&report, "mutual-exclusion");
}

fn ricart_agrawala_with(size: u32, switches: &[ricart_agrawala::Switch]) -> Among<RicartAgrawala> {
    with::<RicartAgrawala>(size, ricart_agrawala::Config { variants: all(switches) })
}

#[claims("7-R1")]
#[test]
fn r1_ids_as_stamps_are_safe_by_accident_for_two_with_fifo_links() {
    let ids = [ricart_agrawala::Switch::IdsAsStamps];
    let fifo = ricart_agrawala_with(2, &ids).entries(2).fifo();
    safe_and_live(fifo).run().assert_holds();
    let reordered = safe_and_live(ricart_agrawala_with(2, &ids)).run();
    violated(&reordered, "mutual-exclusion", 6);
}

#[claims("7-R2")]
#[test]
fn r2_ids_as_stamps_are_unsafe_for_three() {
    let check = ricart_agrawala_with(3, &[ricart_agrawala::Switch::IdsAsStamps]).fifo();
    violated(&safe_and_live(check).run(), "mutual-exclusion", 10);
}

#[claims("7-R3", "7-R4")]
#[test]
fn r3_and_r4_without_a_tie_break_both_reply_or_both_defer() {
    let strict = ricart_agrawala_with(2, &[ricart_agrawala::Switch::ClockOnlyStrict]);
    violated(&safe_and_live(strict).run(), "mutual-exclusion", 6);
    let defer = ricart_agrawala_with(2, &[ricart_agrawala::Switch::ClockOnlyDefer]);
    assert_eq!(violated(&safe_and_live(defer).run(), "starvation-freedom", 2), Manner::Deadlock);
}

#[claims("7-R5")]
#[test]
fn r5_a_clock_that_ignores_requests_is_unsafe() {
    // The reply must not advance the clock either, as it did not in 1981.
    let switches =
        [ricart_agrawala::Switch::NoClockOnRequest, ricart_agrawala::Switch::UnstampedReply];
    let two = ricart_agrawala_with(2, &switches).entries(2);
    violated(&safe_and_live(two).run(), "mutual-exclusion", 6);
    let two = ricart_agrawala_with(2, &switches).entries(2).fifo();
    holds(&safe_and_live(two).run(), "mutual-exclusion");
    let three = ricart_agrawala_with(3, &switches).entries([2, 1, 1]).fifo();
    violated(&safe_and_live(three).run(), "mutual-exclusion", 10);
}

#[claims("7-R6")]
#[test]
fn r6_an_unstamped_reply_loses_the_order_and_a_stamped_one_keeps_it() {
    let unstamped = ricart_agrawala_with(3, &[ricart_agrawala::Switch::UnstampedReply]);
    let unstamped = unstamped.entries([2, 1, 1]).fifo();
    let report = safe_and_live(unstamped).always(Order::new()).run();
    violated(&report, "order", 14);
    holds(&report, "mutual-exclusion");
    holds(&report, "starvation-freedom");
    for (entries, order) in
        [([2, 1, 1], channel::Fifo), ([2, 2, 1], channel::Fifo), ([2, 1, 1], channel::Reordered)]
    {
        let stamped = ricart_agrawala_with(3, &[]).entries(entries).channel(order);
        stamped.always(Order::new()).run().assert_holds();
    }
}

/// Unless messages of the application carry the clock as well, they can tell of a request that
/// comes later by its stamp.
#[claims("7-R6")]
#[test]
fn r6_a_stamped_reply_does_not_stamp_what_applications_say() {
    for (size, steps) in [(2, 7), (3, 9)] {
        let check = ricart_agrawala_with(size, &[]).fifo().application_messages(1);
        violated(&check.always(Order::new()).run(), "order", steps);
    }
}

#[claims("7-R7")]
#[test]
fn r7_a_bare_counter_counts_a_duplicated_reply() {
    let bare = [ricart_agrawala::Switch::BareCounter];
    let two = ricart_agrawala_with(2, &bare).entries(2).duplicating(1).fifo();
    violated(&safe_and_live(two).run(), "mutual-exclusion", 10);
    let three = ricart_agrawala_with(3, &bare).duplicating(1).fifo();
    violated(&safe_and_live(three).run(), "mutual-exclusion", 10);
}

#[claims("7-R8")]
#[test]
fn r8_an_untagged_reply_serves_the_next_request() {
    let untagged = ricart_agrawala_with(2, &[ricart_agrawala::Switch::UntaggedReply]);
    let report = safe_and_live(untagged.entries(2).duplicating(1)).run();
    violated(&report, "mutual-exclusion", 10);
    let tagged = ricart_agrawala_with(2, &[]).entries(2).duplicating(2);
    safe_and_live(tagged).run().assert_holds();
}

fn maekawa_with(kind: Kind, size: u32, switches: &[maekawa::Switch]) -> Among<Maekawa> {
    let quorums = Arc::new(Quorums::of(kind, size).expect("there are such quorums"));
    with::<Maekawa>(size, maekawa::Config { quorums, variants: all(switches) }).fifo()
}

#[claims("7-M1")]
#[test]
fn m1_basic_maekawa_deadlocks_as_soon_as_three_have_asked() {
    let check = maekawa_with(Kind::Pairs, 3, &[maekawa::Switch::Basic]);
    assert_eq!(violated(&safe_and_live(check).run(), "starvation-freedom", 3), Manner::Deadlock);
}

#[claims("7-M2")]
#[test]
fn m2_maekawa_as_of_1985_is_live_in_pairs() {
    let check = maekawa_with(Kind::Pairs, 3, &[maekawa::Switch::Original1985]);
    safe_and_live(check).run().assert_holds();
}

/// P2, P3 and P4 have asked, and three requests have arrived: each has the vote that another lacks.
#[claims("7-M3")]
#[test]
fn m3_maekawa_as_of_1985_deadlocks_on_the_grid() {
    let check = maekawa_with(Kind::Grid, 4, &[maekawa::Switch::Original1985]);
    assert_eq!(violated(&safe_and_live(check).run(), "starvation-freedom", 6), Manner::Deadlock);
    let corrected = safe_and_live(maekawa_with(Kind::Grid, 4, &[])).run();
    corrected.assert_holds();
    assert_eq!(corrected.states, 311_498);
}

#[claims("7-M4", "A-MAE")]
#[test]
fn m4_maekawa_corrected_is_safe_and_live_in_pairs_and_loses_the_order() {
    let check = maekawa_with(Kind::Pairs, 3, &[]);
    safe_and_live(check).run().assert_holds();
    let check = maekawa_with(Kind::Pairs, 3, &[]).entries([2, 1, 1]);
    violated(&check.always(Order::new()).run(), "order", 16);
}
