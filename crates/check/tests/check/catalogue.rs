//! Tests of the judgements in section 7 of the checklist. The name of a test begins with the id of
//! its judgement. If a property is violated, the test also asserts the length of a shortest
//! counterexample. A different length shows that the algorithm takes other steps than the checklist
//! assumes.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::{
    Central, Lamport, Maekawa, RicartAgrawala, TokenRing, central, lamport, maekawa,
    ricart_agrawala,
};
use tenure_check::{Check, CheckReport, Judgement, ViolationKind};
use tenure_core::monitors::{MutualExclusion, RequestOrder};
use tenure_core::quorum::{QuorumKind, QuorumSystem};
use tenure_core::{ChannelOrder as channel, Mutex};

use crate::by_service::{ServiceCheck, of, variants, with};
use crate::verdicts::states;

pub(crate) fn safe_and_live<P: Mutex>(check: Check<P>) -> Check<P> {
    check.always(MutualExclusion::new()).check_starvation_freedom()
}

/// Asserts that a lock is safe and live in every schedule.
pub(crate) fn assert_sound<P: Mutex>(check: Check<P>) {
    safe_and_live(check).run().assert_holds();
}

/// Asserts that the shortest run to a violation of mutual exclusion has `steps` steps.
pub(crate) fn assert_unsafe<P: Mutex>(check: Check<P>, steps: usize) {
    violated(&safe_and_live(check).run(), "mutual-exclusion", steps);
}

fn assert_deadlock<P: Mutex>(check: Check<P>, steps: usize) {
    let kind = violated(&safe_and_live(check).run(), "starvation-freedom", steps);
    assert_eq!(kind, ViolationKind::Deadlock);
}

/// Asserts that the shortest counterexample to a property has `steps` steps. Returns the kind of
/// the violation.
pub(crate) fn violated(report: &CheckReport, property: &str, steps: usize) -> ViolationKind {
    let found = report.counterexample(property).unwrap_or_else(|| panic!("{report}"));
    assert_eq!(found.step_count(), steps, "{found}");
    found.kind
}

pub(crate) fn violates(report: &CheckReport, property: &str) {
    assert_eq!(report.judgement_of(property), Judgement::Violated, "{property}: {report}");
}

pub(crate) fn holds(report: &CheckReport, property: &str) {
    assert_eq!(report.judgement_of(property), Judgement::Holds, "{report}");
}

fn central_with(size: u32) -> ServiceCheck<Central> {
    with::<Central>(size, central::Config::default())
}

#[test]
fn c1_central_is_safe_and_live_in_any_order() {
    assert_sound(central_with(3).request_limits([0, 2, 2]));
}

#[test]
fn c2_central_breaks_causal_order_of_requests() {
    let context = central_with(3)
        .request_limits([0, 1, 1])
        .max_application_messages(1)
        .always(RequestOrder::new());
    assert_eq!(violated(&context.run(), "order", 6), ViolationKind::Step);
    let alone = central_with(3).request_limits([0, 2, 2]).always(RequestOrder::new());
    alone.run().assert_holds();
    let ignored = central_with(3).request_limits([0, 1, 1]).max_application_messages(1);
    let ignored = ignored.configure(|config| config.model.has_application_causality = false);
    ignored.always(RequestOrder::new()).run().assert_holds();
}

#[test]
fn c3_untagged_central_is_unsafe_with_duplicates() {
    let variants = Variants::none().with(central::VariantId::UntaggedGrant);
    let config = central::Config { variants, ..central::Config::default() };
    assert_unsafe(with::<Central>(3, config).request_limits([0, 2, 2]).max_duplicates(1), 11);
    // Numbered requests with matching grants tolerate duplicates (checklist 2.1).
    assert_sound(central_with(3).request_limits([0, 2, 2]).max_duplicates(1));
}

#[test]
fn central_keeps_order_of_requests_with_duplicates() {
    for check in
        [central_with(2).request_limits(2).max_duplicates(2), central_with(3).max_duplicates(1)]
    {
        check.always(RequestOrder::new()).run().assert_holds();
    }
}

#[test]
fn t1_ring_breaks_causal_order_of_requests() {
    let check = of::<TokenRing>(2).max_application_messages(1).always(RequestOrder::new());
    violated(&check.run(), "order", 4);
    assert_sound(of::<TokenRing>(3).request_limits(2));
}

#[test]
fn t2_duplicated_token_is_unsafe() {
    assert_unsafe(of::<TokenRing>(2).max_duplicates(1), 8);
}

fn lamport_with(size: u32, switches: &[lamport::VariantId]) -> Check<Lamport> {
    Check::with_protocol_config(size, variants(switches))
}

#[test]
fn l1_lamport_with_ids_as_stamps_is_unsafe() {
    assert_unsafe(lamport_with(2, &[lamport::VariantId::IdsAsStamps]).fifo(), 6);
}

#[test]
fn l2_lamport_without_tie_break_own_first_is_unsafe() {
    assert_unsafe(lamport_with(2, &[lamport::VariantId::ClockOnlyOwnFirst]).fifo(), 6);
}

#[test]
fn l3_lamport_without_tie_break_others_first_deadlocks() {
    let check = lamport_with(2, &[lamport::VariantId::ClockOnlyOtherFirst]).fifo();
    let report = safe_and_live(check).run();
    assert_eq!(violated(&report, "starvation-freedom", 2), ViolationKind::Deadlock);
    holds(&report, "mutual-exclusion");
}

#[test]
fn l4_lamport_needs_fifo_links() {
    assert_unsafe(lamport_with(2, &[lamport::VariantId::AnyMessage]), 4);
    assert_unsafe(lamport_with(2, &[]), 6);
}

#[test]
fn l5_and_l6_either_condition_alone_is_unsafe() {
    for (switch, steps) in
        [(lamport::VariantId::OwnRequestOnTop, 2), (lamport::VariantId::ReplyFromAll, 6)]
    {
        assert_unsafe(lamport_with(2, &[switch]).fifo(), steps);
    }
}

#[test]
#[ignore = "long: 8 s"]
fn l7_lamport_is_safe_live_and_in_order_on_fifo_links() {
    for switches in
        [&[][..], &[lamport::VariantId::AnyMessage], &[lamport::VariantId::SuppressedReplies]]
    {
        assert_sound(lamport_with(3, switches).request_limits([2, 1, 0]).fifo());
        let check = lamport_with(3, switches).fifo();
        safe_and_live(check).always(RequestOrder::new()).run().assert_holds();
    }
    let context =
        lamport_with(2, &[]).fifo().max_application_messages(2).timestamping_application_messages();
    safe_and_live(context).always(RequestOrder::new()).run().assert_holds();
}

/// Lamport's lock keeps the order of requests if the messages of the application carry the lock's
/// clock. The next test checks that messages without a clock violate the order.
#[test]
#[ignore = "long: 5 s"]
fn l7_lamport_keeps_order_with_stamped_application_messages() {
    let context = lamport_with(3, &[]).request_limits([1, 1, 0]).fifo().max_application_messages(2);
    let report = context.timestamping_application_messages().always(RequestOrder::new()).run();
    report.assert_holds();
}

#[test]
fn l8_lamport_loses_order_with_unstamped_application_messages() {
    let check = lamport_with(3, &[]).request_limits([1, 1, 0]).fifo().max_application_messages(2);
    let report = check.always(MutualExclusion::new()).always(RequestOrder::new()).run();
    violated(&report, "order", 9);
    holds(&report, "mutual-exclusion");
}

fn ricart_agrawala_with(
    size: u32,
    switches: &[ricart_agrawala::VariantId],
) -> ServiceCheck<RicartAgrawala> {
    with::<RicartAgrawala>(size, variants(switches))
}

#[test]
fn r1_ids_as_stamps_are_safe_for_two_with_fifo() {
    let ids = [ricart_agrawala::VariantId::IdsAsStamps];
    assert_sound(ricart_agrawala_with(2, &ids).request_limits(2).fifo());
    assert_unsafe(ricart_agrawala_with(2, &ids), 6);
}

#[test]
fn r2_ids_as_stamps_are_unsafe_for_three() {
    assert_unsafe(ricart_agrawala_with(3, &[ricart_agrawala::VariantId::IdsAsStamps]).fifo(), 10);
}

#[test]
fn r3_and_r4_missing_tie_break_is_unsafe_or_deadlocks() {
    assert_unsafe(ricart_agrawala_with(2, &[ricart_agrawala::VariantId::ClockOnlyStrict]), 6);
    assert_deadlock(ricart_agrawala_with(2, &[ricart_agrawala::VariantId::ClockOnlyDefer]), 2);
}

#[test]
fn r5_a_clock_that_ignores_requests_is_unsafe() {
    // As in the paper of 1981, a reply carries no timestamp, so a reply does not advance the clock
    // of its receiver.
    let switches =
        [ricart_agrawala::VariantId::NoClockOnRequest, ricart_agrawala::VariantId::UnstampedReply];
    assert_unsafe(ricart_agrawala_with(2, &switches).request_limits(2), 6);
    let two = ricart_agrawala_with(2, &switches).request_limits(2).fifo();
    holds(&safe_and_live(two).run(), "mutual-exclusion");
    assert_unsafe(ricart_agrawala_with(3, &switches).request_limits([2, 1, 1]).fifo(), 10);
}

#[test]
fn r6_stamped_reply_keeps_order_and_unstamped_loses_it() {
    let unstamped = ricart_agrawala_with(3, &[ricart_agrawala::VariantId::UnstampedReply]);
    let unstamped = unstamped.request_limits([2, 1, 1]).fifo();
    let report = safe_and_live(unstamped).always(RequestOrder::new()).run();
    violated(&report, "order", 14);
    holds(&report, "mutual-exclusion");
    holds(&report, "starvation-freedom");
    for (entries, order) in
        [([2, 1, 1], channel::Fifo), ([2, 2, 1], channel::Fifo), ([2, 1, 1], channel::Reordered)]
    {
        let stamped = ricart_agrawala_with(3, &[]).request_limits(entries).channel_order(order);
        stamped.always(RequestOrder::new()).run().assert_holds();
    }
}

/// If application messages carry no clock, the lock violates the order of requests, although its
/// replies carry a clock. The reason is that an application message can tell a process of an
/// earlier request. This process may then request with a smaller timestamp.
#[test]
fn r6_stamped_reply_does_not_stamp_application_messages() {
    for (size, steps) in [(2, 7), (3, 9)] {
        let check = ricart_agrawala_with(size, &[]).fifo().max_application_messages(1);
        violated(&check.always(RequestOrder::new()).run(), "order", steps);
    }
}

#[test]
fn r7_a_bare_counter_counts_a_duplicated_reply() {
    let bare = [ricart_agrawala::VariantId::BareCounter];
    assert_unsafe(ricart_agrawala_with(2, &bare).request_limits(2).max_duplicates(1).fifo(), 10);
    assert_unsafe(ricart_agrawala_with(3, &bare).max_duplicates(1).fifo(), 10);
}

#[test]
fn r8_an_untagged_reply_serves_the_next_request() {
    let untagged = ricart_agrawala_with(2, &[ricart_agrawala::VariantId::UntaggedReply]);
    assert_unsafe(untagged.request_limits(2).max_duplicates(1), 10);
    assert_sound(ricart_agrawala_with(2, &[]).request_limits(2).max_duplicates(2));
}

fn maekawa_with(
    kind: QuorumKind,
    size: u32,
    switches: &[maekawa::VariantId],
) -> ServiceCheck<Maekawa> {
    let quorums = Arc::new(QuorumSystem::from_kind(kind, size).expect("such quorums exist"));
    with::<Maekawa>(size, maekawa::Config { quorums, variants: variants(switches) }).fifo()
}

#[test]
fn m1_basic_maekawa_deadlocks_with_three_requests() {
    assert_deadlock(maekawa_with(QuorumKind::Pairs, 3, &[maekawa::VariantId::Basic]), 3);
}

#[test]
fn m2_maekawa_as_of_1985_is_live_in_pairs() {
    assert_sound(maekawa_with(QuorumKind::Pairs, 3, &[maekawa::VariantId::Original1985]));
}

/// Maekawa's algorithm of 1985 deadlocks on a grid of four processes. In the shortest run, P2, P3
/// and P4 request, and three of their requests arrive. Then each of the three processes has a vote
/// that another one of them needs.
#[test]
#[ignore = "long: 5 s"]
fn m3_maekawa_as_of_1985_deadlocks_on_the_grid() {
    assert_deadlock(maekawa_with(QuorumKind::Grid, 4, &[maekawa::VariantId::Original1985]), 6);
    assert_eq!(states(safe_and_live(maekawa_with(QuorumKind::Grid, 4, &[]))), 311_498);
}

#[test]
fn m4_corrected_maekawa_is_live_but_loses_order() {
    assert_sound(maekawa_with(QuorumKind::Pairs, 3, &[]));
    let check = maekawa_with(QuorumKind::Pairs, 3, &[]).request_limits([2, 1, 1]);
    violated(&check.always(RequestOrder::new()).run(), "order", 16);
}
