//! The fault matrix of the catalogue's section 5.6, for the algorithms that are there: what one
//! fault does to a lock that is not made for it.

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::Member;
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::mutex::{
    CarvalhoRoucairol, Central, Lamport, Maekawa, NaimiTrehel, Raymond, RicartAgrawala,
    SuzukiKasami, TokenRing, central, lamport, maekawa, raymond, ricart_agrawala,
};
use tenure_check::{Check, Entries, Judgement, Report};
use tenure_claims::claims;
use tenure_core::monitors::MutualExclusion;
use tenure_core::quorum::Kind;
use tenure_core::tree::Shape;
use tenure_core::{Mutex, ProcessId};

use crate::among::{Among, of, with};
use crate::symmetry::Desk;

/// What the matrix says of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Fine,
    Blocked,
    Unsafe,
}

use Cell::{Blocked, Fine, Unsafe};

pub(crate) fn cell<P: Mutex>(check: Check<P>) -> Cell {
    let report = check.always(MutualExclusion::new()).starvation_free().run();
    match (report.of("mutual-exclusion"), report.of("starvation-freedom")) {
        (Judgement::Violated, _) => Unsafe,
        (Judgement::Holds, Judgement::Violated) => Blocked,
        (Judgement::Holds, Judgement::Holds) => Fine,
        _ => panic!("nothing limits this check: {report}"),
    }
}

fn central(entries: [u32; 3]) -> Among<Central> {
    of::<Central>(3).entries(entries)
}

fn untagged_central(entries: [u32; 3]) -> Among<Central> {
    let variants = Variants::none().with(central::Switch::UntaggedGrant);
    let config = central::Config { variants, ..central::Config::default() };
    with::<Central>(3, config).entries(entries)
}

fn ring() -> Among<TokenRing> {
    of::<TokenRing>(2)
}

fn maekawa(size: u32, entries: [u32; 3]) -> Among<Maekawa> {
    let config = maekawa::Config::of(Kind::Pairs, size).expect("there are pairs");
    with::<Maekawa>(size, config).entries(entries)
}

fn lamport(entries: [u32; 2]) -> Among<Lamport> {
    of::<Lamport>(2).entries(entries)
}

fn ricart_agrawala(entries: [u32; 2]) -> Among<RicartAgrawala> {
    of::<RicartAgrawala>(2).entries(entries)
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
    let three = of::<RicartAgrawala>(3).entries([2, 1, 1]).fifo();
    assert_eq!(cell(three.duplicating(1)), Fine);
}

/// A coordinator that numbers nothing, as textbooks have it, serves a request that came twice
/// twice, or takes somebody's second release for another's.
#[claims("5.6-duplicate")]
#[test]
fn a_duplicate_that_finds_its_link_full_bounds_what_was_shown() {
    let within = |most| ring().duplicating(1).in_flight(most).always(MutualExclusion::new()).run();
    let one = within(1);
    // The token fills its link, so that there never is a second one: nothing was shown beyond.
    assert_eq!(one.bounds.in_flight, Some(1), "{one}");
    assert_eq!(within(2).of("mutual-exclusion"), Judgement::Violated);
    let none = ring().in_flight(1).always(MutualExclusion::new()).run();
    assert_eq!(none.bounds.in_flight, None, "without duplicates the link is wide enough: {none}");
}

#[claims("5.6-duplicate")]
#[test]
fn a_duplicate_blocks_a_coordinator_without_numbers_or_lets_two_in() {
    let desk = |entries: &[u32]| {
        let size = entries.len() as u32;
        let entries: Vec<Entries> = entries.iter().copied().map(Entries::AtMost).collect();
        Check::<Desk>::with(size, false).entries(entries).duplicating(1)
    };
    assert_eq!(cell(desk(&[0, 1, 1])), Blocked);
    assert_eq!(cell(desk(&[0, 2, 2])), Unsafe);
    assert_eq!(cell(desk(&[0, 1, 1, 1])), Unsafe);
}

/// The column of Ricart and Agrawala with a bare counter; only a duplicate makes a difference.
#[test]
fn the_column_of_a_bare_counter() {
    let variants = Variants::none().with(ricart_agrawala::Switch::BareCounter);
    let check = |entries: &[u32]| {
        let size = entries.len() as u32;
        let entries: Vec<Entries> = entries.iter().copied().map(Entries::AtMost).collect();
        with::<RicartAgrawala>(size, ricart_agrawala::Config { variants }).entries(entries)
    };
    assert_eq!(cell(check(&[1, 1, 1]).fifo()), Fine);
    assert_eq!(cell(check(&[1, 1, 1])), Fine);
    assert_eq!(cell(check(&[1, 1]).losing(1)), Blocked);
    assert_eq!(cell(check(&[1, 1, 1]).fifo().duplicating(1)), Unsafe);
    for asking in [[1, 1, 0], [1, 1, 1]] {
        assert_eq!(cell(check(&asking).crashing(1).crashing_at([ProcessId(2)])), Blocked);
    }
    assert_eq!(cell(check(&[1, 1, 0]).partitioning([ProcessId(2)])), Blocked);
    assert_eq!(cell(check(&[1, 1]).crashing(1).recovering(1)), Unsafe);
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
fn whoever_crashes_inside_or_waiting_blocks_all_who_wait() {
    // One asks, may crash at any moment, and only then the other asks: see who is blocked.
    for (blocked, check) in [
        (Blocked, cell(central([0, 1, 1]).crashing(1))),
        (Blocked, cell(of::<Lamport>(3).entries([1, 1, 0]).fifo().crashing(1))),
        (Blocked, cell(of::<RicartAgrawala>(3).entries([1, 1, 0]).crashing(1))),
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
    let ring = of::<TokenRing>(3).entries([1, 1, 0]);
    assert_eq!(cell(ring.partitioning(cut(2))), Blocked);
    let lamport = of::<Lamport>(3).entries([1, 1, 0]).fifo();
    assert_eq!(cell(lamport.partitioning(cut(2))), Blocked);
    let ricart_agrawala = of::<RicartAgrawala>(3).entries([1, 1, 0]);
    assert_eq!(cell(ricart_agrawala.partitioning(cut(2))), Blocked);
    // P1's quorum is P1 and P2: it is on one side as a whole. P2's is not.
    assert_eq!(cell(maekawa(3, [1, 0, 0]).partitioning(cut(2))), Fine);
    assert_eq!(cell(maekawa(3, [0, 1, 0]).partitioning(cut(2))), Blocked);
}

/// The first two ask, and the third is cut off; then the first is, which has the token.
#[claims("5.6-partition")]
#[test]
fn a_partition_leaves_a_token_to_those_who_are_with_it() {
    fn cut<P: Mutex>(check: impl Fn() -> Check<P>) -> [Cell; 3] {
        let cut = |entries: [u32; 3], place| {
            cell(check().entries(entries).partitioning([ProcessId(place)]))
        };
        [cut([1, 1, 0], 2), cut([1, 0, 0], 0), cut([0, 1, 1], 0)]
    }
    assert_eq!(cut(|| of::<SuzukiKasami>(3)), [Fine, Fine, Blocked]);
    assert_eq!(cut(|| of::<NaimiTrehel>(3)), [Fine, Fine, Blocked]);
    let raymond = |shape| move || with::<Raymond>(3, raymond::Config::of(shape, 3));
    assert_eq!(cut(raymond(Shape::Star)), [Fine, Fine, Blocked]);
    assert_eq!(cut(raymond(Shape::Path)), [Fine, Fine, Blocked]);
    // Permissions are on both sides: whoever lacks one that is beyond never gets it.
    assert_eq!(cut(|| of::<CarvalhoRoucairol>(3)), [Fine, Fine, Blocked]);
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

fn over_fifo(entries: [u32; 2]) -> Among<Fifo<RicartAgrawala>> {
    let inner = tenure_algorithms::mutex::ricart_agrawala::Config::default();
    with::<Fifo<RicartAgrawala>>(2, fifo::Config { window: 2, ..fifo::Config::around(inner) })
        .entries(entries)
        .in_flight(2)
}

#[test]
fn over_the_reliable_channel_loss_and_duplication_do_no_harm() {
    let report = |check: Among<Fifo<RicartAgrawala>>| -> Report {
        check.always(MutualExclusion::new()).starvation_free().run()
    };
    let lossy = report(over_fifo([1, 1]).fifo().losing(1));
    lossy.assert_holds();
    assert_eq!(lossy.bounds.in_flight, Some(2), "the bound on links is part of the verdict");
    let duplicating = report(over_fifo([1, 0]).losing(1).duplicating(1));
    duplicating.assert_holds();
}

/// On links that lose, repeat and reorder; where there is room for one message, more are lost. (A
/// token would go round for ever, under ever higher numbers of the channel.)
#[test]
fn over_the_reliable_channel_the_rows_of_order_loss_and_duplication_are_fine() {
    fn over<P: Mutex>(inner: P::Config) -> [Cell; 2]
    where
        Fifo<P>: Member<Config = fifo::Config<P::Config>> + Mutex,
    {
        [([0, 1], 2), ([1, 1], 1)].map(|(entries, room)| {
            let config = fifo::Config { window: 1, ..fifo::Config::around(inner.clone()) };
            let check = with::<Fifo<P>>(2, config).entries(entries).in_flight(room);
            cell(check.losing(1).duplicating(1))
        })
    }
    assert_eq!(over::<Central>(central::Config::default()), [Fine; 2]);
    assert_eq!(over::<Lamport>(lamport::Config::default()), [Fine; 2]);
    let both = maekawa::Config::of(Kind::Majority, 2).expect("both are a majority");
    assert_eq!(over::<Maekawa>(both), [Fine; 2]);
}
