//! A reliable first-in-first-out channel over one that is neither.

use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::mutex::{Central, Lamport, central, lamport};
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, Layer, Order};

use crate::support::mutex::{NOBODY, Plan, entered, run};
use crate::support::p;
use tenure_trace::{Dice, Stage};

fn config(window: u32) -> fifo::Config<lamport::Config> {
    fifo::Config { window, ..fifo::Config::around(lamport::Config::default()) }
}

fn central(size: u32) -> Stage<Fifo<Central>> {
    Stage::alike(size, Order::Reordered, fifo::Config::around(central::Config::default()))
}

/// Lamport's lock is lost without order, without a message, and over a duplicate.
fn is_safe_and_live_over_any_channel(window: u32) {
    for seed in 0..300 {
        let plan = Plan::of(Order::Reordered, &[2; 3]).duplicating(10).losing(10).seeded(seed);
        run::<Fifo<Lamport>>(config(window), &plan).unwrap();
    }
}

#[test]
fn a_lock_that_needs_order_is_safe_and_live_over_loss_duplication_and_reordering() {
    is_safe_and_live_over_any_channel(64);
}

#[test]
fn a_lock_that_needs_order_is_safe_and_live_over_a_window_of_one_message() {
    is_safe_and_live_over_any_channel(1);
}

#[test]
fn a_lock_that_needs_order_is_safe_and_live_over_a_window_of_two_messages() {
    is_safe_and_live_over_any_channel(2);
}

#[test]
fn what_is_counted_for_the_lock_is_what_the_lock_sends() {
    for seed in 0..200 {
        let mut stage = Stage::<Fifo<Lamport>>::alike(3, Order::Reordered, config(64));
        let mut dice = Dice(seed);
        for at in 1..=3 {
            stage.command(p(at), Command::Enter);
            for link in stage.busy_links() {
                stage.duplicate(link);
            }
            stage.lose(stage.busy_links()[0]);
            while entered(&mut stage).is_empty() {
                stage.drain(&mut dice);
                if let Some((at, timer)) = stage.next_timer() {
                    stage.fire(at, timer);
                }
            }
            stage.command(p(at), Command::Exit);
        }
        let of_lock = stage.sent().iter().filter(|((layer, _), _)| *layer == Layer::Mutex);
        assert_eq!(of_lock.map(|(_, count)| count).sum::<u64>(), 3 * 3 * 2, "seed {seed}");
    }
}

#[test]
fn what_is_lost_is_sent_again_until_it_is_acknowledged() {
    let mut stage = central(2);
    stage.command(p(2), Command::Enter);
    for _ in 0..3 {
        stage.lose((p(2), p(1)));
        let (at, timer) = stage.next_timer().expect("something is not acknowledged");
        stage.fire(at, timer);
    }
    stage.settle();
    assert_eq!((entered(&mut stage), stage.sent_of("repeat")), (vec![2], 3));
    assert_eq!(stage.armed_timers(), []);
}

#[test]
fn a_gap_is_never_skipped() {
    let mut stage = central(2);
    stage.command(p(2), Command::Enter);
    stage.lose((p(2), p(1)));
    stage.crash(p(1));
    stage.recover(p(1));
    assert_eq!(entered(&mut stage), NOBODY);
    stage.settle();
    assert_eq!(entered(&mut stage), [2]);
}

/// A message that P2 sent when P1 was up again, though P2 did not know, must not be lost with
/// those that were meant for P1's last life.
#[test]
fn what_was_sent_before_the_peers_new_session_was_known_is_sent_to_that_one() {
    let mut stage = central(2);
    stage.command(p(2), Command::Enter);
    stage.settle();
    stage.command(p(2), Command::Exit);
    stage.settle();
    assert_eq!(entered(&mut stage), [2]);
    stage.crash(p(1));
    stage.recover(p(1));
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2], "P1's new session has got it, without waiting");
}

#[test]
fn what_a_dead_session_left_under_way_is_not_taken_for_the_next_ones() {
    let mut stage = central(2);
    stage.command(p(2), Command::Enter);
    stage.crash(p(2));
    stage.recover(p(2));
    // The request of P2's first life arrives first; then P2 asks again.
    stage.pass((p(2), p(1)), 0);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), NOBODY, "P2's second life has not asked");
}

#[test]
fn no_more_messages_are_under_way_than_the_window_admits() {
    let config = fifo::Config { window: 2, ..fifo::Config::around(central::Config::default()) };
    let mut stage = Stage::<Fifo<Central>>::alike(2, Order::Reordered, config);
    // P2 asks and leaves three times; nothing that P1 says arrives but the grants.
    for _ in 0..2 {
        stage.command(p(2), Command::Enter);
        while entered(&mut stage).is_empty() {
            stage.pass((p(2), p(1)), 0);
            stage.drain(&mut Dice(0));
        }
        stage.command(p(2), Command::Exit);
    }
    assert!(stage.queue((p(2), p(1))).len() <= 2);
}

#[test]
fn over_it_any_order_loss_and_duplicates_are_assumed_away() {
    let card = Fifo::<Lamport>::card(&config(64), 3);
    assert_eq!((card.name.as_str(), card.order), ("fifo:lamport", Order::Reordered));
    assert!(card.faults.loss && card.faults.duplication);
}
