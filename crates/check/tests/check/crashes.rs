//! The crash rows of the catalogue's fault matrix, 5.6, by who crashes and when: one that never
//! asks, at any moment; anybody that waits; anybody inside; and the one that all depend on.

use tenure_algorithms::mutex::{
    CarvalhoRoucairol, Central, DijkstraRing, KMutex, Lamport, Maekawa, MisraRing, NaimiTrehel,
    Raymond, RicartAgrawala, SuzukiKasami, TokenRing, k_mutex, maekawa, raymond,
};
use tenure_check::{Check, Moment, Refusal};
use tenure_claims::claims;
use tenure_core::monitors::MutualExclusion;
use tenure_core::quorum::Kind;
use tenure_core::tree::Shape;
use tenure_core::{Mutex, ProcessId};

use crate::among::{Among, of, with};
use crate::faults::Cell::{self, Blocked, Fine};
use crate::faults::cell;

/// One process, which never asks, may crash at any moment.
fn idle<P: Mutex>(check: Check<P>, who: u32) -> Cell {
    cell(check.crashing(1).crashing_at([ProcessId(who)]))
}

/// Anybody may crash, but only at such a moment.
fn during<P: Mutex>(check: Check<P>, moment: Moment) -> Cell {
    cell(check.crashing(1).crashing_while(moment))
}

/// P3 while it is idle, somebody who waits, somebody inside, and P1: the coordinator, the first
/// holder of a token, or just another one.
fn row<P: Mutex>(of: impl Fn([u32; 3]) -> Check<P>) -> [Cell; 4] {
    [
        idle(of([1, 1, 0]), 2),
        during(of([1, 1, 1]), Moment::Waiting),
        during(of([1, 1, 1]), Moment::Inside),
        idle(of([0, 1, 1]), 0),
    ]
}

const NEEDS_EVERYBODY: [Cell; 4] = [Blocked; 4];
const MISSES_NO_IDLE_ONE: [Cell; 4] = [Fine, Blocked, Blocked, Blocked];

#[claims("5.6-crash-idle", "5.6-crash-waiting", "5.6-crash-inside", "5.6-crash-holder")]
#[test]
fn a_crash_is_missed_by_all_where_everybody_is_asked_or_passes_the_token() {
    let three = |entries: [u32; 3]| of::<Lamport>(3).entries(entries).fifo();
    assert_eq!(row(three), NEEDS_EVERYBODY);
    let three = |entries: [u32; 3]| of::<RicartAgrawala>(3).entries(entries);
    assert_eq!(row(three), NEEDS_EVERYBODY);
    let three = |entries: [u32; 3]| of::<TokenRing>(3).entries(entries);
    assert_eq!(row(three), NEEDS_EVERYBODY);
    let three = |entries: [u32; 3]| of::<DijkstraRing>(3).entries(entries);
    assert_eq!(row(|entries| three(entries).fifo().in_flight(1)), NEEDS_EVERYBODY);
}

#[claims("5.6-crash-idle", "5.6-crash-waiting", "5.6-crash-inside", "5.6-crash-holder")]
#[test]
fn a_crash_of_an_idle_one_does_no_harm_where_only_one_has_what_others_need() {
    let three = |entries: [u32; 3]| of::<Central>(3).entries(entries);
    assert_eq!(row(three), MISSES_NO_IDLE_ONE);
    let three = |entries: [u32; 3]| of::<SuzukiKasami>(3).entries(entries);
    assert_eq!(row(three), MISSES_NO_IDLE_ONE);
    let three = |entries: [u32; 3]| of::<NaimiTrehel>(3).entries(entries);
    assert_eq!(row(three), MISSES_NO_IDLE_ONE);
    // P1 and P2 hold the permissions of P3 from the start, and P3 never asks for them.
    let three = |entries: [u32; 3]| of::<CarvalhoRoucairol>(3).entries(entries);
    assert_eq!(row(three), MISSES_NO_IDLE_ONE);
}

#[claims("5.6-crash-idle", "5.6-crash-waiting", "5.6-crash-inside", "5.6-crash-holder")]
#[test]
fn on_a_tree_an_idle_leaf_is_not_missed_and_one_between_is() {
    let tree = |shape, entries: [u32; 3]| {
        with::<Raymond>(3, raymond::Config::of(shape, 3)).entries(entries)
    };
    assert_eq!(row(|entries| tree(Shape::Star, entries)), MISSES_NO_IDLE_ONE);
    assert_eq!(row(|entries| tree(Shape::Path, entries)), MISSES_NO_IDLE_ONE);
    assert_eq!(idle(tree(Shape::Path, [1, 0, 1]), 1), Blocked);
}

#[claims("5.6-crash-idle", "5.6-crash-waiting", "5.6-crash-inside")]
#[test]
fn a_quorum_misses_its_members_and_nobody_else() {
    let pairs = |entries: [u32; 3]| {
        let config = maekawa::Config::of(Kind::Pairs, 3).expect("there are pairs");
        with::<Maekawa>(3, config).entries(entries).fifo()
    };
    // P1's quorum is P1 and P2, P2's is P2 and P3, P3's is P3 and P1.
    assert_eq!(row(pairs), NEEDS_EVERYBODY);
    assert_eq!(idle(pairs([1, 0, 0]), 2), Fine);
    assert_eq!(idle(pairs([1, 0, 0]), 1), Blocked);
}

#[test]
fn two_tokens_do_not_survive_the_process_that_has_one() {
    let two = |entries: [u32; 2]| of::<MisraRing>(2).entries(entries).fifo();
    assert_eq!(idle(two([1, 0]), 1), Blocked);
    assert_eq!(idle(two([0, 1]), 0), Blocked);
    for moment in [Moment::Waiting, Moment::Inside] {
        assert_eq!(during(two([1, 1]), moment), Blocked, "{moment:?}");
    }
}

#[test]
fn of_two_places_a_crash_takes_one_and_the_others_go_on() {
    let places = |most| {
        let config = k_mutex::Config::at_most(std::num::NonZeroU32::new(most).unwrap());
        move |entries: [u32; 3]| with::<KMutex>(3, config.clone()).entries(entries).fifo()
    };
    assert_eq!(row(places(1)), NEEDS_EVERYBODY);
    let goes_on = |check: Among<KMutex>| {
        let check = check.crashing(1).always(MutualExclusion::at_most(2)).starvation_free();
        check.run().assert_holds();
    };
    goes_on(places(2)([1, 1, 0]).crashing_at([ProcessId(2)]));
    for moment in [Moment::Waiting, Moment::Inside] {
        goes_on(places(2)([1, 1, 1]).crashing_while(moment));
    }
}

/// The restrictions restrict: without them, the first of these is blocked by its coordinator.
#[test]
fn crashes_happen_where_and_when_they_are_allowed_and_nowhere_else() {
    let one = || of::<Central>(3).entries([0, 1, 0]).crashing(1);
    assert_eq!(cell(one()), Blocked);
    assert_eq!(cell(one().crashing_at([ProcessId(1)])), Fine, "nobody else waits");
    assert_eq!(cell(one().crashing_while(Moment::Inside)), Fine, "nobody else waits");
    let two = || of::<Central>(3).entries([0, 1, 1]).crashing(1);
    let report = two().crashing_while(Moment::Inside).starvation_free().run();
    let steps = report.counterexample("starvation-freedom").expect("P3 is never served").steps();
    let known = [
        "P2 asks to enter",
        "P3 asks to enter",
        "P1 receives request from P2",
        "P2 receives grant from P1",
        "P2 crashes",
    ];
    assert_eq!(steps, known);
    let twice = two().crashing_at([ProcessId(1)]).crashing_while(Moment::Idle);
    assert_eq!(cell(twice), Fine);
}

#[test]
fn a_crash_of_a_stranger_is_refused() {
    let stranger = of::<Central>(2).crashing(1).crashing_at([ProcessId(2)]);
    let refused = stranger.try_run().expect_err("it does not exist");
    assert_eq!(refused, Refusal::Stranger { process: ProcessId(2), size: 2 });
}
