//! The fault matrix of the catalogue's section 5.6, for the algorithms that are there: what one
//! fault does to a lock that is not made for it.

use tenure_algorithms::Variants;
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::mutex::{
    Central, Lamport, Maekawa, RicartAgrawala, TokenRing, central, maekawa,
};
use tenure_check::{Check, Judgement, Report};
use tenure_claims::claims;
use tenure_core::Mutex;
use tenure_core::monitors::MutualExclusion;
use tenure_core::quorum::Kind;

/// What the matrix says of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Fine,
    Blocked,
    Unsafe,
}

use Cell::{Blocked, Fine, Unsafe};

pub(crate) fn cell<P: Mutex>(check: Check<P>) -> Cell {
    let report = check.always(MutualExclusion::new()).progress().run();
    match (report.of("mutual-exclusion"), report.of("progress")) {
        (Judgement::Violated, _) => Unsafe,
        (Judgement::Holds, Judgement::Violated) => Blocked,
        (Judgement::Holds, Judgement::Holds) => Fine,
        _ => panic!("nothing limits this check: {report}"),
    }
}

fn central(entries: [u32; 3]) -> Check<Central> {
    Check::<Central>::of(3).entries(entries)
}

fn untagged_central(entries: [u32; 3]) -> Check<Central> {
    let variants = Variants::none().with(central::Switch::UntaggedGrant);
    let config = central::Config { variants, ..central::Config::default() };
    Check::with(3, config).entries(entries)
}

fn ring() -> Check<TokenRing> {
    Check::<TokenRing>::of(2)
}

fn maekawa(size: u32, entries: [u32; 3]) -> Check<Maekawa> {
    let config = maekawa::Config::of(Kind::Pairs, size).expect("there are pairs");
    Check::with(size, config).entries(entries)
}

fn lamport(entries: [u32; 2]) -> Check<Lamport> {
    Check::<Lamport>::of(2).entries(entries)
}

fn ricart_agrawala(entries: [u32; 2]) -> Check<RicartAgrawala> {
    Check::<RicartAgrawala>::of(2).entries(entries)
}

#[claims("5.6-loss")]
#[test]
fn a_lost_message_blocks_every_one_of_them() {
    assert_eq!(cell(central([0, 1, 1]).losing(1)), Blocked);
    assert_eq!(cell(ring().losing(1)), Blocked);
    assert_eq!(cell(lamport([1, 1]).fifo().losing(1)), Blocked);
    assert_eq!(cell(ricart_agrawala([1, 1]).losing(1)), Blocked);
}

#[claims("5.6-reorder")]
#[test]
fn reordering_hurts_only_lamport() {
    assert_eq!(cell(central([0, 1, 1])), Fine);
    assert_eq!(cell(ring()), Fine);
    assert_eq!(cell(lamport([1, 1])), Unsafe);
    assert_eq!(cell(ricart_agrawala([2, 2])), Fine);
}

#[claims("5.6-duplicate")]
#[test]
fn a_duplicated_message_lets_two_in_where_messages_do_not_name_their_request() {
    assert_eq!(cell(untagged_central([0, 2, 2]).duplicating(1)), Unsafe);
    assert_eq!(cell(central([0, 2, 2]).duplicating(1)), Fine);
    assert_eq!(cell(ring().duplicating(1)), Unsafe);
    assert_eq!(cell(lamport([1, 1]).fifo().duplicating(1)), Fine);
    assert_eq!(cell(lamport([1, 1]).duplicating(1)), Unsafe);
    assert_eq!(cell(ricart_agrawala([2, 2]).duplicating(2)), Fine);
}

#[test]
fn a_crash_blocks_whoever_needs_the_crashed() {
    assert_eq!(cell(central([0, 1, 1]).crashing(1)), Blocked);
    assert_eq!(cell(ring().crashing(1)), Blocked);
    assert_eq!(cell(lamport([1, 1]).fifo().crashing(1)), Blocked);
    assert_eq!(cell(ricart_agrawala([1, 1]).crashing(1)), Blocked);
}

#[test]
fn central_tolerates_an_idle_client_that_is_down_and_the_others_do_not() {
    let down = [tenure_core::ProcessId(1)];
    assert_eq!(cell(central([1, 0, 1]).down(down)), Fine);
    assert_eq!(cell(ring().down(down)), Blocked);
    assert_eq!(cell(lamport([1, 0]).fifo().down(down)), Blocked);
    assert_eq!(cell(ricart_agrawala([1, 0]).down(down)), Blocked);
}

#[test]
fn recovery_without_a_memory_is_unsafe() {
    let coordinator_forgets = central([0, 1, 1]).crashing(1).recovering(1);
    assert_eq!(cell(coordinator_forgets), Unsafe);
    let forgets_its_request = ricart_agrawala([1, 1]).crashing(1).recovering(1);
    assert_eq!(cell(forgets_its_request), Unsafe);
}

#[test]
fn whoever_crashes_inside_or_waiting_blocks_all_who_wait() {
    // One asks, may crash at any moment, and only then the other asks: see who is blocked.
    for (blocked, check) in [
        (Blocked, cell(central([0, 1, 1]).crashing(1))),
        (Blocked, cell(Check::<Lamport>::of(3).entries([1, 1, 0]).fifo().crashing(1))),
        (Blocked, cell(Check::<RicartAgrawala>::of(3).entries([1, 1, 0]).crashing(1))),
        (Blocked, cell(maekawa(3, [1, 1, 0]).crashing(1))),
    ] {
        assert_eq!(check, blocked);
    }
}

#[test]
fn a_coordinator_that_is_down_serves_nobody_and_a_quorum_that_is_up_serves_its_members() {
    let down = |place| [tenure_core::ProcessId(place)];
    assert_eq!(cell(central([0, 1, 1]).down(down(0))), Blocked);
    // P1's quorum is P1 and P2, P2's is P2 and P3, P3's is P3 and P1.
    assert_eq!(cell(maekawa(3, [1, 0, 0]).down(down(2))), Fine);
    assert_eq!(cell(maekawa(3, [1, 0, 0]).down(down(1))), Blocked);
    assert_eq!(cell(maekawa(3, [0, 1, 0]).down(down(0))), Fine);
}

#[claims("5.6-partition")]
#[test]
fn a_partition_blocks_all_but_the_side_that_has_what_it_needs() {
    let cut = |place| [tenure_core::ProcessId(place)];
    // The last one is cut off; only the first two ask.
    assert_eq!(cell(central([0, 1, 0]).partitioning(cut(2))), Fine);
    assert_eq!(cell(central([0, 1, 1]).partitioning(cut(2))), Blocked);
    let ring = Check::<TokenRing>::of(3).entries([1, 1, 0]);
    assert_eq!(cell(ring.partitioning(cut(2))), Blocked);
    let lamport = Check::<Lamport>::of(3).entries([1, 1, 0]).fifo();
    assert_eq!(cell(lamport.partitioning(cut(2))), Blocked);
    let ricart_agrawala = Check::<RicartAgrawala>::of(3).entries([1, 1, 0]);
    assert_eq!(cell(ricart_agrawala.partitioning(cut(2))), Blocked);
    // P1's quorum is P1 and P2: it is on one side as a whole. P2's is not.
    assert_eq!(cell(maekawa(3, [1, 0, 0]).partitioning(cut(2))), Fine);
    assert_eq!(cell(maekawa(3, [0, 1, 0]).partitioning(cut(2))), Blocked);
}

#[test]
fn the_column_of_maekawa() {
    assert_eq!(cell(maekawa(3, [1, 1, 1]).fifo()), Fine);
    assert_eq!(cell(maekawa(3, [1, 1, 1])), Fine);
    assert_eq!(cell(maekawa(3, [1, 1, 0]).fifo().losing(1)), Blocked);
    assert_eq!(cell(maekawa(3, [1, 0, 0]).fifo().losing(1)), Blocked);
    // Requests have numbers, and whatever is about an old one is known to be: neither a duplicate
    // locks a vote for a ghost, nor do two requests of one process get mixed up by the order.
    assert_eq!(cell(maekawa(3, [2, 1, 1])), Fine);
    assert_eq!(cell(maekawa(3, [1, 1, 1]).fifo().duplicating(1)), Fine);
    assert_eq!(cell(maekawa(3, [1, 1, 1]).duplicating(1)), Fine);
}

#[test]
fn a_token_that_crashed_with_its_process_is_not_made_anew() {
    assert_eq!(cell(ring().crashing(1).recovering(1)), Blocked);
    assert_eq!(cell(Check::<TokenRing>::of(3).crashing(1).recovering(1)), Blocked);
}

#[claims("5.6-recovery")]
#[test]
fn recovery_without_a_memory_makes_every_lock_of_permissions_unsafe() {
    let lamport = lamport([1, 1]).fifo().crashing(1).recovering(1);
    assert_eq!(cell(lamport), Unsafe);
    let maekawa = maekawa(3, [1, 1, 0]).fifo().crashing(1).recovering(1);
    assert_eq!(cell(maekawa), Unsafe);
}

fn over_fifo(entries: [u32; 2]) -> Check<Fifo<RicartAgrawala>> {
    let inner = tenure_algorithms::mutex::ricart_agrawala::Config::default();
    Check::with(2, fifo::Config { window: 2, ..fifo::Config::around(inner) })
        .entries(entries)
        .in_flight(2)
}

#[test]
fn over_the_reliable_channel_loss_and_duplication_do_no_harm() {
    let report = |check: Check<Fifo<RicartAgrawala>>| -> Report {
        check.always(MutualExclusion::new()).progress().run()
    };
    let lossy = report(over_fifo([1, 1]).fifo().losing(1));
    lossy.assert_holds();
    assert_eq!(lossy.bounds.in_flight, Some(2), "the bound on links is part of the verdict");
    let duplicating = report(over_fifo([1, 0]).losing(1).duplicating(1));
    duplicating.assert_holds();
}
