//! Several named locks, one after the other.

use std::sync::Arc;

use tenure_algorithms::compose::in_turn::Config;
use tenure_algorithms::compose::keyed::Name;
use tenure_algorithms::compose::{Coordinated, InTurn, MutexOnly};
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::{Central, RicartAgrawala, central, ricart_agrawala};
use tenure_claims::claims;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, Order, Protocol, TICKS_PER_UNIT, Verdict};

use crate::support::mutex::{NOBODY, Plan, entered, is_caught, run};
use crate::support::p;
use tenure_trace::{Dice, Stage};

type Locks = InTurn<Central>;

/// By process, the names of its locks in its order.
fn config(names: &[&[&str]]) -> Config<central::Config> {
    Config { names: named(names), inner: central::Config::default() }
}

fn named(names: &[&[&str]]) -> Arc<[Vec<Name>]> {
    let list = |names: &&[&str]| names.iter().map(|name| Name::new(name).unwrap()).collect();
    names.iter().map(list).collect()
}

const SORTED: [&[&str]; 3] = [&["büro", "办公室"], &["büro", "办公室"], &["büro", "办公室"]];
const OPPOSITE: [&[&str]; 3] = [&["büro", "办公室"], &["办公室", "büro"], &["büro", "办公室"]];

#[test]
fn in_one_order_everybody_is_served() {
    for seed in 0..1000 {
        let plan = Plan::of(Order::Reordered, &[2, 2, 2]).duplicating(2).seeded(seed);
        run::<Locks>(config(&SORTED), &plan).unwrap_or_else(|says| panic!("seed {seed}: {says}"));
    }
}

#[claims("I-31")]
#[test]
fn in_opposite_orders_some_wait_for_ever_and_nobody_is_inside_together() {
    let plan = Plan::of(Order::Reordered, &[1, 1, 1]);
    assert!(is_caught::<Locks>(&config(&OPPOSITE), &plan, "blocked"));
    assert!(!is_caught::<Locks>(&config(&OPPOSITE), &plan, "exclusion"));
}

#[test]
fn the_fence_is_that_of_the_first_in_the_alphabet_in_whatever_order_they_are_taken() {
    // The only one that all have in common; each of the others counts for itself.
    let names: [&[&str]; 3] = [&["b", "a"], &["a", "c"], &["a", "c"]];
    for seed in 0..200 {
        let plan = Plan::of(Order::Reordered, &[2, 2, 2]).seeded(seed);
        run::<Locks>(config(&names), &plan).unwrap_or_else(|says| panic!("seed {seed}: {says}"));
    }
}

#[test]
fn whoever_takes_other_locks_waits_for_nobody() {
    let names: [&[&str]; 3] = [&["a", "b"], &["b", "c"], &["d"]];
    let mut stage = Stage::<Locks>::alike(3, Order::Fifo, config(&names));
    for (number, enters) in [(1, &[1][..]), (2, &NOBODY), (3, &[3])] {
        stage.command(p(number), Command::Enter);
        stage.drain(&mut Dice(0));
        assert_eq!(entered(&mut stage), enters);
    }
    stage.command(p(1), Command::Exit);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2]);
}

#[test]
fn its_card_counts_what_every_lock_costs() {
    let names = named(&[&["a", "b"], &["b", "c"], &["a", "b", "c"]]);
    let config = Config { names, inner: ricart_agrawala::Config::default() };
    let card = InTurn::<RicartAgrawala>::card(&config, 3);
    assert_eq!(card.name, "in-turn:ricart-agrawala");
    assert_eq!(card.messages.formula, "for each lock what it costs by itself");
    // Of 4 messages each, by two locks or by three.
    assert_eq!((card.messages.least, card.messages.most), (8, Some(12)));
}

/// What each lock remembers, which timers it sets and whom it suspects are its own affair.
#[test]
fn locks_that_need_more_than_messages_get_it() {
    type Offices = InTurn<MutexOnly<Coordinated<Bully>>>;
    let names: [&[&str]; 3] = [&["a", "b"], &["a", "b"], &["a", "b"]];
    let inner = bully::Config::plain(3, TICKS_PER_UNIT).into();
    let mut stage = Stage::<Offices>::alike(3, Order::Fifo, Config { names: named(&names), inner });
    stage.command(p(1), Command::Enter);
    stage.settle();
    assert_eq!(entered(&mut stage), [1]);
    stage.command(p(1), Command::Exit);
    stage.settle();
    assert_eq!(stage.process(p(3)).unwrap().stable().len(), 2, "one memory for each lock");
    stage.crash(p(3));
    for number in [1, 2] {
        stage.suspicion(p(number), p(3), Verdict::Suspect);
    }
    stage.command(p(2), Command::Enter);
    stage.settle();
    assert_eq!(entered(&mut stage), [2], "P2 leads, for P3 is suspected");
    stage.command(p(2), Command::Exit);
    stage.recover(p(3));
    for number in [1, 2] {
        stage.suspicion(p(number), p(3), Verdict::Trust);
    }
    stage.command(p(3), Command::Enter);
    stage.settle();
    assert_eq!(entered(&mut stage), [3], "P3 leads again, in a later term");
}
