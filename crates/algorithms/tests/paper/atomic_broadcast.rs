//! One consensus after the other decides what comes next.

use std::collections::BTreeMap;

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::AtomicBroadcast;
use tenure_algorithms::agreement::atomic_broadcast::Switch;
use tenure_core::service::broadcast::{Command, Event, Item};
use tenure_core::{Algorithm, Order, Verdict};
use tenure_trace::{Dice, Seen, Stage};

use crate::support::p;

fn stage(size: u32, variants: Variants<Switch>) -> Stage<AtomicBroadcast> {
    Stage::alike(size, Order::Reordered, variants)
}

/// By process: what it has delivered, in its order.
fn delivered(stage: &mut Stage<AtomicBroadcast>) -> BTreeMap<u32, Vec<Item>> {
    let mut delivered: BTreeMap<u32, Vec<Item>> = BTreeMap::new();
    for (at, seen) in stage.take_seen() {
        if let Seen::Event(Event::Delivered { item }) = seen {
            delivered.entry(at.number()).or_default().push(item);
        }
    }
    delivered
}

#[test]
fn one_item_costs_what_the_card_says() {
    for size in 1..=6 {
        let mut stage = stage(size, Variants::none());
        stage.command(p(1), Command::Broadcast { number: 1 });
        stage.settle();
        let delivered = delivered(&mut stage);
        assert_eq!(delivered.len(), size as usize);
        assert!(delivered.values().all(|items| *items == [Item { from: p(1), number: 1 }]));
        let cost = AtomicBroadcast::card(&Variants::none(), size).messages;
        assert_eq!(stage.total_sent(), cost.least, "{size}");
    }
}

/// All broadcast twice, and messages come in any order. Whether all delivered all in one order.
fn is_ordered(variants: Variants<Switch>, seed: u64) -> bool {
    let mut stage = stage(3, variants);
    let mut dice = Dice(seed);
    for number in 1..=2 {
        (1..=3).for_each(|at| stage.command(p(at), Command::Broadcast { number }));
    }
    if seed.is_multiple_of(3) {
        stage.suspicion(p(2), p(1), Verdict::Suspect);
    }
    stage.drain(&mut dice);
    let delivered = delivered(&mut stage);
    let first = &delivered[&1];
    first.len() == 6 && delivered.len() == 3 && delivered.values().all(|items| items == first)
}

#[test]
fn all_deliver_everything_in_one_order() {
    for seed in 0..500 {
        assert!(is_ordered(Variants::none(), seed), "seed {seed}");
    }
}

/// The control.
#[test]
fn each_mistake_makes_two_orders() {
    for switch in [Switch::NoOrder, Switch::AsDecided] {
        let variants = Variants::none().with(switch);
        assert!((0..500).any(|seed| !is_ordered(variants, seed)), "{switch:?}");
    }
}

#[test]
fn when_the_leader_crashes_the_others_go_on_in_the_order_that_it_began() {
    let mut stage = stage(3, Variants::none());
    stage.command(p(1), Command::Broadcast { number: 1 });
    stage.drain(&mut Dice(1));
    stage.crash(p(1));
    stage.command(p(2), Command::Broadcast { number: 1 });
    stage.command(p(3), Command::Broadcast { number: 1 });
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    stage.suspicion(p(3), p(1), Verdict::Suspect);
    stage.settle();
    let delivered = delivered(&mut stage);
    assert_eq!(delivered[&2].len(), 3);
    assert_eq!(delivered[&2], delivered[&3]);
    assert_eq!(delivered[&1], [Item { from: p(1), number: 1 }]);
}
