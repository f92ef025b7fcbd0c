//! Suzuki–Kasami, Naimi–Trehel and Raymond in every schedule, and what one fault
//! does to them.
//!
//! Numbers of states are pins against regressions: the program printed them. Some were counted by
//! others as well, in `tests/independent`.

use std::fmt::Debug;

use tenure_algorithms::catalogue::Member;
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::mutex::{NaimiTrehel, Raymond, SuzukiKasami, raymond};
use tenure_check::{Check, Judgement, Manner};
use tenure_claims::claims;
use tenure_core::monitors::{Fencing, Order};
use tenure_core::tree::Shape;
use tenure_core::{Mutex, ProcessId};

use crate::among::{Among, of, with};
use crate::catalogue::{holds, safe_and_live, violated};
use crate::faults::Cell::{Blocked, Fine, Unsafe};
use crate::faults::{Cell, cell};

fn suzuki_kasami(size: u32) -> Among<SuzukiKasami> {
    of::<SuzukiKasami>(size)
}

fn naimi_trehel(size: u32) -> Among<NaimiTrehel> {
    of::<NaimiTrehel>(size)
}

fn raymond(shape: Shape, size: u32) -> Among<Raymond> {
    with::<Raymond>(size, raymond::Config::of(shape, size))
}

fn star(size: u32) -> Among<Raymond> {
    raymond(Shape::Star, size)
}

fn path(size: u32) -> Among<Raymond> {
    raymond(Shape::Path, size)
}

/// How many states and steps there are, all of them safe and none of them stuck.
fn explored<P: Mutex>(check: Check<P>) -> (u64, u64) {
    let report = safe_and_live(check).always(Fencing::new()).run();
    report.assert_holds();
    (report.states, report.transitions)
}

/// With two processes that enter twice, and three that enter as often as given; each with
/// channels in order and in any order.
fn counts<P: Mutex + Debug>(of: impl Fn(u32) -> Check<P>, three: u32) -> [(u64, u64); 4] {
    let two = || of(2).entries(2);
    let three = || of(3).entries(three);
    [two().fifo(), two(), three().fifo(), three()].map(explored)
}

#[claims("7-SK1", "A-MANY")]
#[test]
fn suzuki_kasami_is_safe_and_live_in_any_order() {
    let known = [(78, 110), (83, 120), (579, 1_581), (725, 2_078)];
    assert_eq!(counts(suzuki_kasami, 1), known);
    assert_eq!(explored(suzuki_kasami(3).entries([2, 2, 1])), (9_081, 33_371));
}

#[claims("7-NT1", "A-MANY")]
#[test]
fn naimi_trehel_is_safe_and_live_in_any_order() {
    let known = [(64, 94), (69, 104), (1_432, 2_780), (1_530, 3_114)];
    assert_eq!(counts(naimi_trehel, 2), known);
}

#[claims("7-RY1", "A-MANY")]
#[test]
fn raymond_is_safe_and_live_in_any_order_on_a_star_and_on_a_path() {
    let known = [(64, 94), (69, 104), (854, 1_706), (1_004, 2_056)];
    assert_eq!(counts(star, 2), known);
    let known = [(64, 94), (69, 104), (860, 1_720), (1_012, 2_072)];
    assert_eq!(counts(path, 2), known);
}

/// By the lock's own messages.
#[claims("7-SK1")]
#[test]
fn suzuki_kasami_breaks_the_order_of_requests_with_three() {
    let report = suzuki_kasami(3).always(Order::new()).run();
    assert_eq!(violated(&report, "order", 5), Manner::Step);
}

/// An application that tells of a request.
#[claims("7-NT1", "7-RY1")]
#[test]
fn with_a_message_of_the_application_the_trees_break_the_order_of_requests() {
    let told = |report| violated(&report, "order", 4);
    let naimi = naimi_trehel(3).application_messages(1).always(Order::new()).run();
    assert_eq!(told(naimi), Manner::Step);
    for check in [star(3), path(3)] {
        let report = check.application_messages(1).always(Order::new()).run();
        assert_eq!(told(report), Manner::Step);
    }
}

/// By the lock's own messages.
#[claims("7-NT1", "7-RY1")]
#[test]
fn by_their_own_messages_the_trees_break_the_order_only_with_a_second_entry() {
    holds(&naimi_trehel(4).always(Order::new()).run(), "order");
    holds(&star(4).always(Order::new()).run(), "order");
    for path in [path(4).entries([2, 1, 1, 1]), path(3).entries([2, 1, 1])] {
        assert_eq!(violated(&path.always(Order::new()).run(), "order", 11), Manner::Step);
    }
}

fn overtakes<P: Mutex>(of: impl Fn() -> Check<P>) {
    for entries in 2..=5 {
        let bypass = of().entries([entries, 1]).measuring_bypass(9).run().bypass;
        assert_eq!(bypass.expect("measured").most, entries);
    }
}

#[test]
fn the_holder_overtakes_as_often_as_it_enters() {
    overtakes(|| suzuki_kasami(2));
    overtakes(|| naimi_trehel(2));
    overtakes(|| star(2));
}

#[test]
fn the_rows_of_order_and_loss() {
    for check in [suzuki_kasami(3), suzuki_kasami(3).fifo()] {
        assert_eq!(cell(check), Fine);
    }
    assert_eq!(cell(suzuki_kasami(2).losing(1)), Blocked);
    assert_eq!(cell(naimi_trehel(2).losing(1)), Blocked);
    assert_eq!(cell(star(2).losing(1)), Blocked);
    assert_eq!(cell(suzuki_kasami(3).losing(1)), Blocked);
    assert_eq!(cell(naimi_trehel(3).losing(1)), Blocked);
    assert_eq!(cell(path(3).losing(1)), Blocked);
}

/// A token that nobody waits for is ignored, so two processes show it only where a message
/// overtakes the duplicate, and three need a second entry.
#[test]
fn the_row_of_duplication_for_suzuki_and_kasami() {
    let twice = |size| suzuki_kasami(size).duplicating(1);
    assert_eq!(cell(twice(2).entries(2).fifo()), Fine, "too short to show it");
    assert_eq!(cell(twice(3)), Fine, "too short to show it");
    assert_eq!(cell(twice(2).entries(2)), Unsafe);
    assert_eq!(cell(twice(3).entries([2, 2, 1]).fifo()), Unsafe);
}

/// A duplicated request alone makes two wait for each other; the token needs a second entry.
#[test]
fn the_row_of_duplication_for_the_trees() {
    let twice = |size| naimi_trehel(size).duplicating(1);
    assert_eq!(cell(twice(2).entries(2).fifo()), Blocked);
    assert_eq!(cell(twice(2).entries(2)), Unsafe);
    assert_eq!(cell(twice(3).fifo()), Blocked);
    assert_eq!(cell(twice(3).entries(2).fifo()), Unsafe);
    assert_eq!(cell(star(2).duplicating(1).entries(2).fifo()), Fine, "too short to show it");
    assert_eq!(cell(star(2).duplicating(1).entries(2)), Unsafe);
    assert_eq!(cell(star(3).duplicating(1).fifo()), Unsafe);
    assert_eq!(cell(path(3).duplicating(1).fifo()), Unsafe);
}

#[test]
fn the_rows_of_crashes() {
    for (crash, recover) in [(1, 0), (1, 1)] {
        assert_eq!(cell(suzuki_kasami(2).crashing(crash).recovering(recover)), Blocked);
        assert_eq!(cell(naimi_trehel(2).crashing(crash).recovering(recover)), Blocked);
        assert_eq!(cell(star(2).crashing(crash).recovering(recover)), Blocked);
    }
}

/// Which processes are down, and whether P1 and P3 can do without.
fn without<P: Mutex>(check: Check<P>, down: u32, entries: [u32; 3]) -> Cell {
    cell(check.entries(entries).down([ProcessId(down)]))
}

#[test]
fn an_idle_process_is_missed_by_whoever_has_to_pass_it() {
    assert_eq!(without(suzuki_kasami(3), 1, [2, 0, 1]), Fine);
    assert_eq!(without(naimi_trehel(3), 1, [2, 0, 1]), Fine);
    assert_eq!(without(star(3), 1, [2, 0, 1]), Fine, "a leaf");
    assert_eq!(without(path(3), 1, [2, 0, 1]), Blocked, "between them");
    assert_eq!(without(suzuki_kasami(3), 0, [0, 1, 1]), Blocked, "it has the token");
    assert_eq!(without(naimi_trehel(3), 0, [0, 1, 1]), Blocked, "it has the token");
    assert_eq!(without(star(3), 0, [0, 1, 1]), Blocked, "it has the token");
}

fn over_the_channel<P: Mutex>(config: P::Config) -> Judgement
where
    Fifo<P>: Member<Config = fifo::Config<P::Config>> + Mutex,
{
    let config = fifo::Config { window: 2, ..fifo::Config::around(config) };
    let check = with::<Fifo<P>>(2, config).entries(1).in_flight(2);
    let report = safe_and_live(check.losing(1).duplicating(1)).run();
    report.assert_holds();
    report.of("starvation-freedom")
}

#[test]
fn over_the_reliable_channel_loss_and_duplication_do_no_harm() {
    assert_eq!(over_the_channel::<SuzukiKasami>(()), Judgement::Holds);
    assert_eq!(over_the_channel::<NaimiTrehel>(()), Judgement::Holds);
    let star = raymond::Config::of(Shape::Star, 2);
    assert_eq!(over_the_channel::<Raymond>(star), Judgement::Holds);
}
