//! Who gets an item sends it on to all, and delivers it.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::ReliableBroadcast;
use tenure_algorithms::agreement::reliable_broadcast::Switch;
use tenure_core::service::broadcast::{Command, Event, Item};
use tenure_core::{Algorithm, Order};
use tenure_trace::{Seen, Stage};

use crate::support::p;

fn stage(size: u32, variants: Variants<Switch>) -> Stage<ReliableBroadcast> {
    Stage::alike(size, Order::Reordered, variants)
}

fn uniform() -> Variants<Switch> {
    Variants::none().with(Switch::Uniform)
}

/// Who delivered what since the last look, in the order of their numbers.
fn delivered(stage: &mut Stage<ReliableBroadcast>) -> Vec<(u32, Item)> {
    let seen = stage.take_seen().into_iter();
    let delivered = seen.filter_map(|(at, seen)| match seen {
        Seen::Event(Event::Delivered { item }) => Some((at.number(), item)),
        _ => None,
    });
    let mut delivered: Vec<(u32, Item)> = delivered.collect();
    delivered.sort_unstable();
    delivered
}

fn item(from: u32, number: u64) -> Item {
    Item { from: p(from), number }
}

#[test]
fn an_item_costs_what_the_card_says_and_is_delivered_once_by_each() {
    for size in 1..=6 {
        for variants in [Variants::none(), uniform()] {
            let mut stage = stage(size, variants);
            stage.command(p(1), Command::Broadcast { number: 1 });
            stage.settle();
            let all: Vec<(u32, Item)> = (1..=size).map(|at| (at, item(1, 1))).collect();
            assert_eq!(delivered(&mut stage), all);
            let cost = ReliableBroadcast::card(&variants, size).messages;
            assert_eq!(Some(stage.total_sent()), cost.most, "{size}");
            assert_eq!(cost.most, Some(cost.least));
        }
    }
}

#[test]
fn what_one_got_before_the_sender_crashed_all_who_stay_up_deliver() {
    for no_relay in [false, true] {
        let variants = Variants::none();
        let variants = if no_relay { variants.with(Switch::NoRelay) } else { variants };
        let mut stage = stage(4, variants);
        stage.command(p(1), Command::Broadcast { number: 1 });
        stage.lose((p(1), p(3)));
        stage.lose((p(1), p(4)));
        stage.crash(p(1));
        stage.settle();
        let by: Vec<u32> = delivered(&mut stage).into_iter().map(|(at, _)| at).collect();
        assert_eq!(by, if no_relay { vec![1, 2] } else { vec![1, 2, 3, 4] });
    }
}

#[test]
fn uniformly_nobody_delivers_what_dies_with_it() {
    for variants in [Variants::none(), uniform()] {
        let mut stage = stage(3, variants);
        stage.command(p(1), Command::Broadcast { number: 1 });
        let at_once = delivered(&mut stage) == [(1, item(1, 1))];
        assert_eq!(at_once, variants != uniform(), "{variants:?}");
        stage.lose((p(1), p(2)));
        stage.lose((p(1), p(3)));
        stage.crash(p(1));
        stage.settle();
        assert_eq!(delivered(&mut stage), []);
    }
}

/// Messages outlive their sender here: what is sent before it is delivered dies with nobody.
#[test]
fn what_is_delivered_before_it_is_sent_dies_with_its_sender() {
    for variants in [Variants::none(), uniform()] {
        for (variants, by) in [(variants, 3), (variants.with(Switch::DeliverFirst), 1)] {
            let mut stage = stage(3, variants);
            stage.command(p(1), Command::Broadcast { number: 1 });
            let before = delivered(&mut stage).len();
            stage.crash(p(1));
            stage.settle();
            let after = delivered(&mut stage).len();
            let dead = usize::from(variants == uniform());
            assert_eq!(before + after + dead, by, "{variants:?}");
        }
    }
    let mut stage = stage(3, Variants::none().with(Switch::DeliverFirst));
    stage.command(p(1), Command::Broadcast { number: 1 });
    stage.settle();
    assert_eq!(delivered(&mut stage).len(), 3, "where nobody crashes, all get it");
}

#[test]
fn an_item_keeps_the_name_of_whoever_broadcast_it() {
    for (variants, names) in
        [(Variants::none(), [1, 1, 1]), (Variants::none().with(Switch::NamesSender), [1, 1, 2])]
    {
        let mut stage = stage(3, variants);
        stage.command(p(1), Command::Broadcast { number: 1 });
        stage.lose((p(1), p(3)));
        stage.pass((p(1), p(2)), 0);
        stage.pass((p(2), p(3)), 0);
        let told = delivered(&mut stage).into_iter().map(|(_, item)| item.from.number());
        assert_eq!(told.collect::<Vec<_>>(), names, "{variants:?}");
    }
}

#[test]
fn a_doubled_message_is_delivered_once() {
    let mut stage = stage(3, Variants::none());
    stage.command(p(1), Command::Broadcast { number: 1 });
    stage.duplicate((p(1), p(2)));
    stage.settle();
    assert_eq!(delivered(&mut stage).len(), 3);
}

#[test]
fn without_an_order_two_may_deliver_in_two_orders() {
    let mut stage = stage(2, Variants::none());
    stage.command(p(1), Command::Broadcast { number: 1 });
    stage.command(p(2), Command::Broadcast { number: 1 });
    let first = stage.take_seen();
    assert_eq!(first.len(), 4, "each asks, and delivers its own first");
    stage.settle();
    assert_eq!(delivered(&mut stage), [(1, item(2, 1)), (2, item(1, 1))]);
}
