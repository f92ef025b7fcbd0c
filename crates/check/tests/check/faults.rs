//! The fault matrix of the catalogue's section 5.6, for the algorithms that are there: what one
//! fault does to a lock that is not made for it.

use tenure_algorithms::Variants;
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::mutex::{Central, Lamport, RicartAgrawala, TokenRing, central};
use tenure_check::{Check, Judgement, Report};
use tenure_core::Mutex;
use tenure_core::monitors::MutualExclusion;

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

fn lamport(entries: [u32; 2]) -> Check<Lamport> {
    Check::<Lamport>::of(2).entries(entries)
}

fn ricart_agrawala(entries: [u32; 2]) -> Check<RicartAgrawala> {
    Check::<RicartAgrawala>::of(2).entries(entries)
}

#[test]
fn a_lost_message_blocks_every_one_of_them() {
    assert_eq!(cell(central([0, 1, 1]).losing(1)), Blocked);
    assert_eq!(cell(ring().losing(1)), Blocked);
    assert_eq!(cell(lamport([1, 1]).fifo().losing(1)), Blocked);
    assert_eq!(cell(ricart_agrawala([1, 1]).losing(1)), Blocked);
}

#[test]
fn reordering_hurts_only_lamport() {
    assert_eq!(cell(central([0, 1, 1])), Fine);
    assert_eq!(cell(ring()), Fine);
    assert_eq!(cell(lamport([1, 1])), Unsafe);
    assert_eq!(cell(ricart_agrawala([2, 2])), Fine);
}

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
