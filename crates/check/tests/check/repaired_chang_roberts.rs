//! Chang–Roberts on a ring that mends itself: every schedule, every crash; 5.7 with repair.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use tenure_algorithms::Variants;
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::compose::{Coordinated, MutexOnly};
use tenure_algorithms::election::{
    ChangRoberts, RepairedChangRoberts, chang_roberts, repaired_chang_roberts,
};
use tenure_check::Check;
use tenure_core::monitors::{Fencing, MutualExclusion, OneLeader, Scope};
use tenure_core::{Election, Order, ProcessId};

use crate::among::{Among, with};
use crate::catalogue::violated;
use crate::elections::{judged, ranks};

fn config(ids: &[u32]) -> repaired_chang_roberts::Config {
    repaired_chang_roberts::Config::of(ranks(ids))
}

/// More messages are under way on a link than four, where elections are begun one after another.
fn ring(ids: &[u32]) -> Among<RepairedChangRoberts> {
    with::<RepairedChangRoberts>(ids.len() as u32, config(ids)).detecting().in_flight(6)
}

/// How many states there are, in none of which two lead in one term, and all of which lead to
/// everybody's belief in the largest rank that is left.
fn states<P: Election>(check: Check<P>, ids: &[u32]) -> u64 {
    let report = judged(check, ids).always(OneLeader::new(Scope::PerTerm)).run();
    report.assert_holds();
    report.states
}

/// The same for the ring of two, and for both rings of three, on links that keep the order and on
/// links that do not.
fn on_all(
    change: impl Fn(Among<RepairedChangRoberts>) -> Among<RepairedChangRoberts>,
) -> [[u64; 3]; 2] {
    [Order::Fifo, Order::Reordered].map(|order| {
        [&[1, 2][..], &[1, 2, 3], &[3, 2, 1]]
            .map(|ids| states(change(ring(ids).channel(order)), ids))
    })
}

const ONE: [ProcessId; 1] = [ProcessId(0)];

#[test]
fn without_a_crash_the_largest_leads_in_any_order_of_delivery() {
    assert_eq!(on_all(|ring| ring), [[32, 235, 252], [47, 849, 965]]);
    let twice = on_all(|ring| ring.duplicating(1));
    assert_eq!(twice, [[137, 1_356, 1_467], [319, 11_547, 12_909]]);
}

/// 3.14, 5.7 *crash during*, *crash before start*.
#[test]
fn a_crash_of_anybody_at_any_moment_leaves_the_largest_of_the_rest_to_lead() {
    let during = on_all(|ring| ring.crashing(1));
    assert_eq!(during, [[121, 6_959, 7_489], [152, 30_442, 35_043]]);
    let ids = [1, 2, 3];
    let before = [Order::Fifo, Order::Reordered]
        .map(|order| states(ring(&ids).channel(order).down([ProcessId(1)]), &ids));
    assert_eq!(before, [76, 106]);
}

#[test]
fn two_crashes_of_three_leave_the_third_to_lead() {
    let two = |order| {
        let ids = [1, 2, 3];
        states(ring(&ids).channel(order).crashing(2), &ids)
    };
    assert_eq!([Order::Fifo, Order::Reordered].map(two), [15_636, 51_399]);
}

/// 5.7 *restart within election*: worlds beyond the third term are cut off.
#[test]
fn whoever_comes_back_leads_if_it_is_the_largest() {
    let back = |ring: Among<RepairedChangRoberts>| {
        ring.crashing(1).recovering(1).initiators(ONE).term_max(3)
    };
    let order = Order::Fifo;
    let of = |ids: &[u32]| states(back(ring(ids).channel(order)), ids);
    assert_eq!([of(&[1, 2]), of(&[1, 2, 3]), of(&[3, 2, 1])], [271, 60_869, 40_712]);
    let ids = [2, 1];
    assert_eq!(states(back(ring(&ids)), &ids), 1_576);
}

#[test]
#[ignore = "some seconds each"]
fn whoever_comes_back_leads_if_it_is_the_largest_in_any_order_of_delivery() {
    let found = [[1, 2, 3], [3, 2, 1]]
        .map(|ids| states(ring(&ids).crashing(1).recovering(1).initiators(ONE).term_max(3), &ids));
    assert_eq!(found, [2_189_219, 1_273_302]);
}

/// 5.7 *wrong timeouts*: extra elections only.
#[test]
fn a_suspicion_in_vain_costs_elections_and_nothing_else_also_beside_a_crash() {
    let wrong = |ring: Among<RepairedChangRoberts>| ring.suspecting_falsely(1).initiators(ONE);
    assert_eq!(on_all(|ring| wrong(ring).term_max(4)), [[64, 642, 417], [91, 1_382, 1_026]]);
    let beside = on_all(|ring| wrong(ring).crashing(1).term_max(3));
    assert_eq!(beside, [[186, 10_022, 6_482], [249, 26_454, 20_018]]);
}

/// 5.7 *crash during*, of Chang–Roberts as it was published: the same schedules with the same
/// detector.
#[test]
fn without_repair_a_crash_leaves_somebody_waiting_or_believing_in_the_dead() {
    let ids = [3, 2, 1];
    let config = chang_roberts::Config::of(ranks(&ids), Variants::none());
    let check = with::<ChangRoberts>(3, config).fifo().detecting().crashing(1);
    let report = judged(check, &ids).run();
    violated(&report, "progress", 2);
    violated(&report, "validity", 6);
}

/// Without a detector nobody repairs anything.
#[test]
fn without_a_detector_a_crash_leaves_somebody_waiting() {
    let ids = [3, 2, 1];
    let check = with::<RepairedChangRoberts>(3, config(&ids)).fifo().crashing(1);
    violated(&judged(check, &ids).run(), "progress", 2);
}

/// the card asks for channels that lose nothing.
#[test]
fn a_lost_message_leaves_somebody_waiting_and_over_the_reliable_channel_nobody() {
    let ids = [2, 1];
    violated(&judged(ring(&ids).losing(1), &ids).run(), "progress", 2);
    let over = fifo::Config { window: 2, ..fifo::Config::around(config(&ids)) };
    let check = || with::<Fifo<RepairedChangRoberts>>(2, over.clone()).in_flight(2);
    let faulty = check().initiators(ONE).detecting().losing(1).duplicating(1);
    assert_eq!(states(faulty, &ids), 19_460);
    let faulty = check().initiators(ONE).detecting().losing(1).duplicating(1).crashing(1);
    assert_eq!(states(faulty, &ids), 21_612);
}

/// A leader that comes back unnoticed must not grant the fences of its term again, and one that
/// is asked while it is down must be asked again.
#[test]
fn a_lock_at_its_leader_is_safe_and_live_while_one_crashes_and_comes_back() {
    let lock = || {
        let check = with::<MutexOnly<Coordinated<RepairedChangRoberts>>>(2, config(&[1, 2]).into());
        check.fifo().detecting().in_flight(8).always(MutualExclusion::new()).always(Fencing::new())
    };
    let states = |check: Among<MutexOnly<Coordinated<RepairedChangRoberts>>>| {
        let report = check.progress().run();
        report.assert_holds();
        report.states
    };
    assert_eq!(states(lock()), 50);
    assert_eq!(states(lock().crashing(1)), 223);
    assert_eq!(states(lock().crashing(1).recovering(1).term_max(4)), 6_852);
}
