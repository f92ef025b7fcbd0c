//! Judgements of section 7 of the checklist, by their ids, each with the length of its shortest
//! counterexample. A wrong length would show that the checker takes a step that the algorithm
//! lacks.
//!
//! The expected numbers of states were computed by this checker, and detect changes. They have no
//! independent confirmation.

use std::sync::Arc;

use tenure_algorithms::mutex::{
    Central, Lamport, Maekawa, RicartAgrawala, TokenRing, central, lamport, maekawa,
    ricart_agrawala,
};
use tenure_algorithms::{Switch, Variants};
use tenure_check::{Check, Judgement, Report, ViolationKind};
use tenure_core::monitors::{MutualExclusion, Order};
use tenure_core::quorum::{Kind, Quorums};
use tenure_core::{Mutex, Order as channel};

use crate::by_service::{ServiceCheck, of, with};

pub(crate) fn safe_and_live<P: Mutex>(check: Check<P>) -> Check<P> {
    check.always(MutualExclusion::new()).starvation_free()
}

/// Asserts that the shortest counterexample to a property has `steps` steps. Returns the kind of
/// the violation.
pub(crate) fn violated(report: &Report, property: &str, steps: usize) -> ViolationKind {
    let found = report.counterexample(property).unwrap_or_else(|| panic!("{report}"));
    assert_eq!(found.length(), steps, "{found}");
    found.kind
}

pub(crate) fn holds(report: &Report, property: &str) {
    assert_eq!(report.of(property), Judgement::Holds, "{report}");
}

fn central_with(size: u32) -> ServiceCheck<Central> {
    with::<Central>(size, central::Config::default())
}

#[test]
fn c1_central_is_safe_and_live_in_any_order() {
    safe_and_live(central_with(3).entries([0, 2, 2])).run().assert_holds();
}

#[test]
fn c2_central_breaks_causal_order_of_requests() {
    let context = central_with(3).entries([0, 1, 1]).application_messages(1).always(Order::new());
    assert_eq!(violated(&context.run(), "order", 6), ViolationKind::Step);
    let alone = central_with(3).entries([0, 2, 2]).always(Order::new());
    alone.run().assert_holds();
    let ignored = central_with(3).entries([0, 1, 1]).application_messages(1);
    let ignored = ignored.configure(|config| config.model.application_causality = false);
    ignored.always(Order::new()).run().assert_holds();
}

#[test]
fn c3_untagged_central_is_unsafe_with_duplicates() {
    let variants = Variants::none().with(central::Switch::UntaggedGrant);
    let config = central::Config { variants, ..central::Config::default() };
    let check = with::<Central>(3, config).entries([0, 2, 2]).duplicating(1);
    violated(&safe_and_live(check).run(), "mutual-exclusion", 11);
    // Numbered requests with matching grants tolerate duplicates (2.1).
    let tagged = central_with(3).entries([0, 2, 2]).duplicating(1);
    safe_and_live(tagged).run().assert_holds();
}

#[test]
fn t1_ring_breaks_causal_order_of_requests() {
    let check = of::<TokenRing>(2).application_messages(1).always(Order::new());
    violated(&check.run(), "order", 4);
    let ring = of::<TokenRing>(3).entries(2);
    safe_and_live(ring).run().assert_holds();
}

#[test]
fn t2_duplicated_token_is_unsafe() {
    let check = safe_and_live(of::<TokenRing>(2).duplicating(1)).run();
    violated(&check, "mutual-exclusion", 8);
}

fn lamport_with(size: u32, switches: &[lamport::Switch]) -> Check<Lamport> {
    Check::with(size, lamport::Config { variants: all(switches) })
}

fn all<S: Switch>(switches: &[S]) -> Variants<S> {
    switches.iter().fold(Variants::none(), |variants, switch| variants.with(*switch))
}

#[test]
fn l1_lamport_with_ids_as_stamps_is_unsafe() {
    let check = lamport_with(2, &[lamport::Switch::IdsAsStamps]).fifo();
    violated(&safe_and_live(check).run(), "mutual-exclusion", 6);
}

#[test]
fn l2_lamport_without_tie_break_own_first_is_unsafe() {
    let check = lamport_with(2, &[lamport::Switch::ClockOnlyOwnFirst]).fifo();
    violated(&safe_and_live(check).run(), "mutual-exclusion", 6);
}

#[test]
fn l3_lamport_without_tie_break_others_first_deadlocks() {
    let check = lamport_with(2, &[lamport::Switch::ClockOnlyOtherFirst]).fifo();
    let report = safe_and_live(check).run();
    assert_eq!(violated(&report, "starvation-freedom", 2), ViolationKind::Deadlock);
    holds(&report, "mutual-exclusion");
}

#[test]
fn l4_lamport_needs_fifo_links() {
    let any = safe_and_live(lamport_with(2, &[lamport::Switch::AnyMessage])).run();
    violated(&any, "mutual-exclusion", 4);
    violated(&safe_and_live(lamport_with(2, &[])).run(), "mutual-exclusion", 6);
}

#[test]
fn l5_and_l6_either_condition_alone_is_unsafe() {
    for (switch, steps) in
        [(lamport::Switch::OwnRequestOnTop, 2), (lamport::Switch::ReplyFromAll, 6)]
    {
        let check = lamport_with(2, &[switch]).fifo();
        violated(&safe_and_live(check).run(), "mutual-exclusion", steps);
    }
}

#[test]
fn l7_lamport_is_safe_live_and_in_order_on_fifo_links() {
    for switches in [&[][..], &[lamport::Switch::AnyMessage], &[lamport::Switch::SuppressedReplies]]
    {
        let check = lamport_with(3, switches).entries([2, 1, 0]).fifo();
        safe_and_live(check).run().assert_holds();
        let check = lamport_with(3, switches).fifo();
        safe_and_live(check).always(Order::new()).run().assert_holds();
    }
    let context =
        lamport_with(2, &[]).fifo().application_messages(2).stamping_application_messages();
    safe_and_live(context).always(Order::new()).run().assert_holds();
}

/// The same number of application messages breaks the order if they carry no clock.
#[test]
fn l7_lamport_keeps_order_with_stamped_application_messages() {
    let context = lamport_with(3, &[]).entries([1, 1, 0]).fifo().application_messages(2);
    let report = context.stamping_application_messages().always(Order::new()).run();
    report.assert_holds();
}

#[test]
fn l8_lamport_loses_order_with_unstamped_application_messages() {
    let check = lamport_with(3, &[]).entries([1, 1, 0]).fifo().application_messages(2);
    let report = check.always(MutualExclusion::new()).always(Order::new()).run();
    violated(&report, "order", 9);
    holds(&report, "mutual-exclusion");
}

fn ricart_agrawala_with(
    size: u32,
    switches: &[ricart_agrawala::Switch],
) -> ServiceCheck<RicartAgrawala> {
    with::<RicartAgrawala>(size, ricart_agrawala::Config { variants: all(switches) })
}

#[test]
fn r1_ids_as_stamps_are_safe_for_two_with_fifo() {
    let ids = [ricart_agrawala::Switch::IdsAsStamps];
    let fifo = ricart_agrawala_with(2, &ids).entries(2).fifo();
    safe_and_live(fifo).run().assert_holds();
    let reordered = safe_and_live(ricart_agrawala_with(2, &ids)).run();
    violated(&reordered, "mutual-exclusion", 6);
}

#[test]
fn r2_ids_as_stamps_are_unsafe_for_three() {
    let check = ricart_agrawala_with(3, &[ricart_agrawala::Switch::IdsAsStamps]).fifo();
    violated(&safe_and_live(check).run(), "mutual-exclusion", 10);
}

#[test]
fn r3_and_r4_missing_tie_break_is_unsafe_or_deadlocks() {
    let strict = ricart_agrawala_with(2, &[ricart_agrawala::Switch::ClockOnlyStrict]);
    violated(&safe_and_live(strict).run(), "mutual-exclusion", 6);
    let defer = ricart_agrawala_with(2, &[ricart_agrawala::Switch::ClockOnlyDefer]);
    assert_eq!(
        violated(&safe_and_live(defer).run(), "starvation-freedom", 2),
        ViolationKind::Deadlock
    );
}

#[test]
fn r5_a_clock_that_ignores_requests_is_unsafe() {
    // The reply must not advance the clock either, as in 1981.
    let switches =
        [ricart_agrawala::Switch::NoClockOnRequest, ricart_agrawala::Switch::UnstampedReply];
    let two = ricart_agrawala_with(2, &switches).entries(2);
    violated(&safe_and_live(two).run(), "mutual-exclusion", 6);
    let two = ricart_agrawala_with(2, &switches).entries(2).fifo();
    holds(&safe_and_live(two).run(), "mutual-exclusion");
    let three = ricart_agrawala_with(3, &switches).entries([2, 1, 1]).fifo();
    violated(&safe_and_live(three).run(), "mutual-exclusion", 10);
}

#[test]
fn r6_stamped_reply_keeps_order_and_unstamped_loses_it() {
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

/// An application message without a clock can tell a process of a request. That process may then
/// request with a smaller timestamp.
#[test]
fn r6_stamped_reply_does_not_stamp_application_messages() {
    for (size, steps) in [(2, 7), (3, 9)] {
        let check = ricart_agrawala_with(size, &[]).fifo().application_messages(1);
        violated(&check.always(Order::new()).run(), "order", steps);
    }
}

#[test]
fn r7_a_bare_counter_counts_a_duplicated_reply() {
    let bare = [ricart_agrawala::Switch::BareCounter];
    let two = ricart_agrawala_with(2, &bare).entries(2).duplicating(1).fifo();
    violated(&safe_and_live(two).run(), "mutual-exclusion", 10);
    let three = ricart_agrawala_with(3, &bare).duplicating(1).fifo();
    violated(&safe_and_live(three).run(), "mutual-exclusion", 10);
}

#[test]
fn r8_an_untagged_reply_serves_the_next_request() {
    let untagged = ricart_agrawala_with(2, &[ricart_agrawala::Switch::UntaggedReply]);
    let report = safe_and_live(untagged.entries(2).duplicating(1)).run();
    violated(&report, "mutual-exclusion", 10);
    let tagged = ricart_agrawala_with(2, &[]).entries(2).duplicating(2);
    safe_and_live(tagged).run().assert_holds();
}

fn maekawa_with(kind: Kind, size: u32, switches: &[maekawa::Switch]) -> ServiceCheck<Maekawa> {
    let quorums = Arc::new(Quorums::of(kind, size).expect("such quorums exist"));
    with::<Maekawa>(size, maekawa::Config { quorums, variants: all(switches) }).fifo()
}

#[test]
fn m1_basic_maekawa_deadlocks_with_three_requests() {
    let check = maekawa_with(Kind::Pairs, 3, &[maekawa::Switch::Basic]);
    assert_eq!(
        violated(&safe_and_live(check).run(), "starvation-freedom", 3),
        ViolationKind::Deadlock
    );
}

#[test]
fn m2_maekawa_as_of_1985_is_live_in_pairs() {
    let check = maekawa_with(Kind::Pairs, 3, &[maekawa::Switch::Original1985]);
    safe_and_live(check).run().assert_holds();
}

/// P2, P3 and P4 have requested, and three requests have arrived. Each process has a vote that
/// another one needs.
#[test]
fn m3_maekawa_as_of_1985_deadlocks_on_the_grid() {
    let check = maekawa_with(Kind::Grid, 4, &[maekawa::Switch::Original1985]);
    assert_eq!(
        violated(&safe_and_live(check).run(), "starvation-freedom", 6),
        ViolationKind::Deadlock
    );
    let corrected = safe_and_live(maekawa_with(Kind::Grid, 4, &[])).run();
    corrected.assert_holds();
    assert_eq!(corrected.states, 311_498);
}

#[test]
fn m4_corrected_maekawa_is_live_but_loses_order() {
    let check = maekawa_with(Kind::Pairs, 3, &[]);
    safe_and_live(check).run().assert_holds();
    let check = maekawa_with(Kind::Pairs, 3, &[]).entries([2, 1, 1]);
    violated(&check.always(Order::new()).run(), "order", 16);
}
