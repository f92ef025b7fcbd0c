//! Tests of the fault matrix in section 5.6 of the checklist. Each entry of the matrix is the
//! effect of one fault on one lock that does not tolerate this fault.

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::SumTypeMember;
use tenure_algorithms::channel::{FifoChannel, fifo};
use tenure_algorithms::mutex::{
    CarvalhoRoucairol, Central, Lamport, Maekawa, NaimiTrehel, Raymond, RicartAgrawala,
    SuzukiKasami, TokenRing, central, lamport, maekawa, raymond, ricart_agrawala,
};
use tenure_check::{Check, Judgement};
use tenure_core::monitors::MutualExclusion;
use tenure_core::quorum::QuorumKind;
use tenure_core::tree::TreeShape;
use tenure_core::{Mutex, ProcessId};

use crate::by_service::{ServiceCheck, of, over_channel, with};
use crate::catalogue::{assert_sound, safe_and_live};
use crate::symmetry::{Manner, QueueCoordinator};

/// Entry of the fault matrix: how one fault affects the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Fine,
    Blocked,
    Unsafe,
}

use Outcome::{Blocked, Fine, Unsafe};

pub(crate) fn cell<P: Mutex>(check: Check<P>) -> Outcome {
    let report = safe_and_live(check).run();
    match (report.judgement_of("mutual-exclusion"), report.judgement_of("starvation-freedom")) {
        (Judgement::Violated, _) => Unsafe,
        (Judgement::Holds, Judgement::Violated) => Blocked,
        (Judgement::Holds, Judgement::Holds) => Fine,
        _ => panic!("unexpected limit: {report}"),
    }
}

fn central(entries: [u32; 3]) -> ServiceCheck<Central> {
    of::<Central>(3).request_limits(entries)
}

fn untagged_central(entries: [u32; 3]) -> ServiceCheck<Central> {
    let variants = Variants::none().with(central::VariantId::UntaggedGrant);
    let config = central::Config { variants, ..central::Config::default() };
    with::<Central>(3, config).request_limits(entries)
}

fn ring() -> ServiceCheck<TokenRing> {
    of::<TokenRing>(2)
}

fn maekawa(size: u32, entries: [u32; 3]) -> ServiceCheck<Maekawa> {
    let config = maekawa::Config::with_quorum_kind(QuorumKind::Pairs, size).expect("pairs exist");
    with::<Maekawa>(size, config).request_limits(entries)
}

fn lamport(entries: [u32; 2]) -> ServiceCheck<Lamport> {
    of::<Lamport>(2).request_limits(entries)
}

fn ricart_agrawala(entries: [u32; 2]) -> ServiceCheck<RicartAgrawala> {
    of::<RicartAgrawala>(2).request_limits(entries)
}

#[test]
fn lost_message_blocks_every_lock() {
    assert_eq!(cell(central([0, 1, 1]).max_losses(1)), Blocked);
    assert_eq!(cell(ring().max_losses(1)), Blocked);
    assert_eq!(cell(lamport([1, 1]).fifo().max_losses(1)), Blocked);
    assert_eq!(cell(ricart_agrawala([1, 1]).max_losses(1)), Blocked);
}

#[test]
fn reordering_breaks_only_lamport() {
    assert_eq!(cell(central([0, 1, 1])), Fine);
    assert_eq!(cell(ring()), Fine);
    assert_eq!(cell(lamport([1, 1])), Unsafe);
    assert_eq!(cell(ricart_agrawala([2, 2])), Fine);
}

#[test]
fn duplicates_are_unsafe_without_request_numbers() {
    assert_eq!(cell(untagged_central([0, 2, 2]).max_duplicates(1)), Unsafe);
    assert_eq!(cell(central([0, 2, 2]).max_duplicates(1)), Fine);
    assert_eq!(cell(ring().max_duplicates(1)), Unsafe);
    assert_eq!(cell(lamport([1, 1]).fifo().max_duplicates(1)), Fine);
    assert_eq!(cell(lamport([1, 1]).max_duplicates(1)), Unsafe);
    assert_eq!(cell(ricart_agrawala([2, 2]).max_duplicates(2)), Fine);
    let three = of::<RicartAgrawala>(3).request_limits([2, 1, 1]).fifo();
    assert_eq!(cell(three.max_duplicates(1)), Fine);
}

/// If a link holds at most one message, a token on the link cannot be duplicated, because the link
/// is already full. The search is then incomplete, so the report must list the bound on messages
/// per link.
#[test]
fn blocked_duplicate_is_reported_as_bound() {
    let within =
        |max| ring().max_duplicates(1).in_flight_per_link(max).always(MutualExclusion::new()).run();
    let one = within(1);
    assert_eq!(one.bounds.in_flight, Some(1), "{one}");
    assert_eq!(within(2).judgement_of("mutual-exclusion"), Judgement::Violated);
    let none = ring().in_flight_per_link(1).always(MutualExclusion::new()).run();
    assert_eq!(none.bounds.in_flight, None, "the link is never full without duplicates: {none}");
}

#[test]
fn duplicates_break_coordinator_without_request_numbers() {
    let coordinator = |entries: &[u32]| {
        let size = entries.len() as u32;
        Check::<QueueCoordinator>::with_protocol_config(size, Manner::Fair)
            .request_limits(entries)
            .max_duplicates(1)
    };
    assert_eq!(cell(coordinator(&[0, 1, 1])), Blocked);
    assert_eq!(cell(coordinator(&[0, 2, 2])), Unsafe);
    assert_eq!(cell(coordinator(&[0, 1, 1, 1])), Unsafe);
}

/// Fault matrix of Ricart–Agrawala with a counter of replies. It differs from the matrix of the
/// default variant only in the row of duplicates.
#[test]
fn bare_counter_matches_fault_matrix() {
    let variants = Variants::none().with(ricart_agrawala::VariantId::BareCounter);
    let check = |entries: &[u32]| {
        let size = entries.len() as u32;
        with::<RicartAgrawala>(size, variants).request_limits(entries)
    };
    assert_eq!(cell(check(&[1, 1, 1]).fifo()), Fine);
    assert_eq!(cell(check(&[1, 1, 1])), Fine);
    assert_eq!(cell(check(&[1, 1]).max_losses(1)), Blocked);
    assert_eq!(cell(check(&[1, 1, 1]).fifo().max_duplicates(1)), Unsafe);
    for asking in [[1, 1, 0], [1, 1, 1]] {
        assert_eq!(cell(check(&asking).max_crashes(1).crashing_only([ProcessId(2)])), Blocked);
    }
    assert_eq!(cell(check(&[1, 1, 0]).partitioning([ProcessId(2)])), Blocked);
    assert_eq!(cell(check(&[1, 1]).max_crashes(1).max_recoveries(1)), Unsafe);
}

#[test]
fn crash_blocks_dependent_processes() {
    assert_eq!(cell(central([0, 1, 1]).max_crashes(1)), Blocked);
    assert_eq!(cell(ring().max_crashes(1)), Blocked);
    assert_eq!(cell(lamport([1, 1]).fifo().max_crashes(1)), Blocked);
    assert_eq!(cell(ricart_agrawala([1, 1]).max_crashes(1)), Blocked);
}

#[test]
fn only_central_tolerates_crashed_idle_client() {
    let down = [tenure_core::ProcessId(1)];
    assert_eq!(cell(central([1, 0, 1]).initially_down(down)), Fine);
    assert_eq!(cell(ring().initially_down(down)), Blocked);
    assert_eq!(cell(lamport([1, 0]).fifo().initially_down(down)), Blocked);
    assert_eq!(cell(ricart_agrawala([1, 0]).initially_down(down)), Blocked);
}

#[test]
fn crash_of_holder_or_waiter_blocks_all_waiters() {
    // Two processes request, and one process may crash at any moment.
    assert_eq!(cell(central([0, 1, 1]).max_crashes(1)), Blocked);
    assert_eq!(cell(of::<Lamport>(3).request_limits([1, 1, 0]).fifo().max_crashes(1)), Blocked);
    assert_eq!(cell(of::<RicartAgrawala>(3).request_limits([1, 1, 0]).max_crashes(1)), Blocked);
    assert_eq!(cell(maekawa(3, [1, 1, 0]).max_crashes(1)), Blocked);
}

#[test]
fn live_quorum_serves_and_crashed_coordinator_does_not() {
    let down = |place| [tenure_core::ProcessId(place)];
    assert_eq!(cell(central([0, 1, 1]).initially_down(down(0))), Blocked);
    // The quorums are {P1, P2} for P1, {P2, P3} for P2, and {P3, P1} for P3.
    assert_eq!(cell(maekawa(3, [1, 0, 0]).initially_down(down(2))), Fine);
    assert_eq!(cell(maekawa(3, [1, 0, 0]).initially_down(down(1))), Blocked);
    assert_eq!(cell(maekawa(3, [0, 1, 0]).initially_down(down(0))), Fine);
}

#[test]
fn partition_blocks_sides_lacking_permissions() {
    let cut = |place| [tenure_core::ProcessId(place)];
    // The last process is partitioned; only the first two request.
    assert_eq!(cell(central([0, 1, 0]).partitioning(cut(2))), Fine);
    assert_eq!(cell(central([0, 1, 1]).partitioning(cut(2))), Blocked);
    let ring = of::<TokenRing>(3).request_limits([1, 1, 0]);
    assert_eq!(cell(ring.partitioning(cut(2))), Blocked);
    let lamport = of::<Lamport>(3).request_limits([1, 1, 0]).fifo();
    assert_eq!(cell(lamport.partitioning(cut(2))), Blocked);
    let ricart_agrawala = of::<RicartAgrawala>(3).request_limits([1, 1, 0]);
    assert_eq!(cell(ricart_agrawala.partitioning(cut(2))), Blocked);
    // P1's quorum, {P1, P2}, is on one side of the partition. P2's quorum is not.
    assert_eq!(cell(maekawa(3, [1, 0, 0]).partitioning(cut(2))), Fine);
    assert_eq!(cell(maekawa(3, [0, 1, 0]).partitioning(cut(2))), Blocked);
}

/// In a partition, the token stays on one side, and processes on the other side wait. There are
/// three cases. In the first, P1 and P2 request, and the partition separates P3. In the other two,
/// the partition separates P1, which has the token: either only P1 requests, or only P2 and P3
/// request.
#[test]
fn partition_keeps_token_on_its_side() {
    fn cut<P: Mutex>(check: impl Fn() -> Check<P>) -> [Outcome; 3] {
        let cut = |entries: [u32; 3], place| {
            cell(check().request_limits(entries).partitioning([ProcessId(place)]))
        };
        [cut([1, 1, 0], 2), cut([1, 0, 0], 0), cut([0, 1, 1], 0)]
    }
    assert_eq!(cut(|| of::<SuzukiKasami>(3)), [Fine, Fine, Blocked]);
    assert_eq!(cut(|| of::<NaimiTrehel>(3)), [Fine, Fine, Blocked]);
    let raymond = |shape| move || with::<Raymond>(3, raymond::Config::with_tree_shape(shape, 3));
    assert_eq!(cut(raymond(TreeShape::Star)), [Fine, Fine, Blocked]);
    assert_eq!(cut(raymond(TreeShape::Path)), [Fine, Fine, Blocked]);
    // Permissions are on both sides. A process never gets a permission from the other side.
    assert_eq!(cut(|| of::<CarvalhoRoucairol>(3)), [Fine, Fine, Blocked]);
}

#[test]
fn maekawa_matches_fault_matrix() {
    assert_eq!(cell(maekawa(3, [1, 1, 1]).fifo()), Fine);
    assert_eq!(cell(maekawa(3, [1, 1, 1])), Fine);
    assert_eq!(cell(maekawa(3, [1, 1, 0]).fifo().max_losses(1)), Blocked);
    assert_eq!(cell(maekawa(3, [1, 0, 0]).fifo().max_losses(1)), Blocked);
    // Requests are numbered, so a process recognises messages about old requests. A duplicate
    // cannot assign a vote to a finished request, and reordering cannot mix two requests of one
    // process.
    assert_eq!(cell(maekawa(3, [2, 1, 1])), Fine);
    assert_eq!(cell(maekawa(3, [1, 1, 1]).fifo().max_duplicates(1)), Fine);
    assert_eq!(cell(maekawa(3, [1, 1, 1]).max_duplicates(1)), Fine);
}

#[test]
fn reliable_channel_hides_loss_and_duplication() {
    let over = || over_channel::<RicartAgrawala>(ricart_agrawala::Config::default());
    let lossy = safe_and_live(over().request_limits([1, 1]).fifo().max_losses(1)).run();
    lossy.assert_holds();
    assert_eq!(lossy.bounds.in_flight, Some(2), "the bound on links is part of the verdict");
    assert_sound(over().request_limits([1, 0]).max_losses(1).max_duplicates(1));
}

/// The links lose, duplicate and reorder messages, and a full link loses every further message. The
/// reliable channel hides these faults from the locks. The test contains no token lock, because a
/// token circulates for ever, and the sequence numbers of the channel would grow without end.
#[test]
fn reliable_channel_fixes_order_loss_and_duplication_rows() {
    fn over<P: Mutex>(inner: P::Config) -> [Outcome; 2]
    where
        FifoChannel<P>: SumTypeMember<Config = fifo::Config<P::Config>> + Mutex,
    {
        [([0, 1], 2), ([1, 1], 1)].map(|(entries, room)| {
            let config =
                fifo::Config { window: 1, ..fifo::Config::with_inner_config(inner.clone()) };
            let check =
                with::<FifoChannel<P>>(2, config).request_limits(entries).in_flight_per_link(room);
            cell(check.max_losses(1).max_duplicates(1))
        })
    }
    assert_eq!(over::<Central>(central::Config::default()), [Fine; 2]);
    assert_eq!(over::<Lamport>(lamport::Config::default()), [Fine; 2]);
    let both =
        maekawa::Config::with_quorum_kind(QuorumKind::Majority, 2).expect("both are a majority");
    assert_eq!(over::<Maekawa>(both), [Fine; 2]);
}
