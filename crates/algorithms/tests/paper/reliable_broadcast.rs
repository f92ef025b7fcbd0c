//! Reliable broadcast: a process that receives an item forwards it to all, and delivers it.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::ReliableBroadcast;
use tenure_algorithms::agreement::reliable_broadcast::VariantId;
use tenure_core::service::broadcast::{Command, Event, ItemId};
use tenure_core::{Algorithm, ChannelOrder};
use tenure_trace::TestCluster;

use crate::support::{command_and_settle, events, p, pass_all};

fn cluster(size: u32, variants: Variants<VariantId>) -> TestCluster<ReliableBroadcast> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, variants)
}

fn uniform() -> Variants<VariantId> {
    Variants::none().with(VariantId::Uniform)
}

fn delivered(cluster: &mut TestCluster<ReliableBroadcast>) -> Vec<(u32, ItemId)> {
    let delivery = |(at, Event::Delivered { item })| (at, item);
    let mut delivered: Vec<(u32, ItemId)> = events(cluster).into_iter().map(delivery).collect();
    delivered.sort_unstable();
    delivered
}

fn item(from: u32, number: u64) -> ItemId {
    ItemId { from: p(from), number }
}

#[test]
fn item_is_delivered_once_at_the_card_cost() {
    for size in 1..=6 {
        for variants in [Variants::none(), uniform()] {
            let mut cluster = cluster(size, variants);
            command_and_settle(&mut cluster, 1, Command::Broadcast { number: 1 });
            let all: Vec<(u32, ItemId)> = (1..=size).map(|at| (at, item(1, 1))).collect();
            assert_eq!(delivered(&mut cluster), all);
            let cost = ReliableBroadcast::card(&variants, size).messages;
            assert_eq!(Some(cluster.total_sent()), cost.most, "{size}");
            assert_eq!(cost.most, Some(cost.least));
        }
    }
}

#[test]
fn all_deliver_after_a_partial_broadcast() {
    for no_relay in [false, true] {
        let variants = Variants::none();
        let variants = if no_relay { variants.with(VariantId::NoRelay) } else { variants };
        let mut cluster = cluster(4, variants);
        cluster.issue_command(p(1), Command::Broadcast { number: 1 });
        cluster.lose_oldest((p(1), p(3)));
        cluster.lose_oldest((p(1), p(4)));
        cluster.crash(p(1));
        cluster.run_until_quiescent();
        let by: Vec<u32> = delivered(&mut cluster).into_iter().map(|(at, _)| at).collect();
        assert_eq!(by, if no_relay { vec![1, 2] } else { vec![1, 2, 3, 4] });
    }
}

#[test]
fn uniform_broadcast_survives_crashes() {
    for variants in [Variants::none(), uniform()] {
        let mut cluster = cluster(3, variants);
        cluster.issue_command(p(1), Command::Broadcast { number: 1 });
        let at_once = delivered(&mut cluster) == [(1, item(1, 1))];
        assert_eq!(at_once, variants != uniform(), "{variants:?}");
        cluster.lose_oldest((p(1), p(2)));
        cluster.lose_oldest((p(1), p(3)));
        cluster.crash(p(1));
        cluster.run_until_quiescent();
        assert_eq!(delivered(&mut cluster), []);
    }
}

/// A uniform delivery waits until a majority has the item, so a minority that is left delivers
/// nothing. Without `uniform`, a single process delivers its own items.
#[test]
fn only_uniform_broadcast_requires_a_majority() {
    for variants in [Variants::none(), uniform()] {
        let mut cluster = cluster(3, variants);
        [2, 3].into_iter().for_each(|at| cluster.crash(p(at)));
        command_and_settle(&mut cluster, 1, Command::Broadcast { number: 1 });
        let is_required = delivered(&mut cluster).is_empty();
        assert_eq!(is_required, variants == uniform());
        assert_eq!(ReliableBroadcast::card(&variants, 3).faults.majority, is_required);
    }
}

/// P1 broadcasts an item, delivers the item, and then crashes. By default, P1 sends the item before
/// it delivers the item, so the other processes receive the item. With the variant `deliver-first`,
/// the item is lost.
#[test]
fn deliver_first_loses_items_in_a_crash() {
    for variants in [Variants::none(), uniform()] {
        for (variants, by) in [(variants, 3), (variants.with(VariantId::DeliverFirst), 1)] {
            let mut cluster = cluster(3, variants);
            cluster.issue_command(p(1), Command::Broadcast { number: 1 });
            let before = delivered(&mut cluster).len();
            cluster.crash(p(1));
            cluster.run_until_quiescent();
            let after = delivered(&mut cluster).len();
            let dead = usize::from(variants == uniform());
            assert_eq!(before + after + dead, by, "{variants:?}");
        }
    }
    let mut cluster = cluster(3, Variants::none().with(VariantId::DeliverFirst));
    command_and_settle(&mut cluster, 1, Command::Broadcast { number: 1 });
    assert_eq!(delivered(&mut cluster).len(), 3, "without a crash, all receive it");
}

#[test]
fn forwarded_item_keeps_its_broadcaster() {
    for (variants, names) in
        [(Variants::none(), [1, 1, 1]), (Variants::none().with(VariantId::NamesSender), [1, 1, 2])]
    {
        let mut cluster = cluster(3, variants);
        cluster.issue_command(p(1), Command::Broadcast { number: 1 });
        cluster.lose_oldest((p(1), p(3)));
        pass_all(&mut cluster, &[(1, 2), (2, 3)]);
        let delivered_from =
            delivered(&mut cluster).into_iter().map(|(_, item)| item.from.display_number());
        assert_eq!(delivered_from.collect::<Vec<_>>(), names, "{variants:?}");
    }
}

#[test]
fn duplicate_is_delivered_once() {
    let mut cluster = cluster(3, Variants::none());
    cluster.issue_command(p(1), Command::Broadcast { number: 1 });
    cluster.duplicate_oldest((p(1), p(2)));
    cluster.run_until_quiescent();
    assert_eq!(delivered(&mut cluster).len(), 3);
}

#[test]
fn delivery_order_may_differ() {
    let mut cluster = cluster(2, Variants::none());
    cluster.issue_command(p(1), Command::Broadcast { number: 1 });
    cluster.issue_command(p(2), Command::Broadcast { number: 1 });
    let first = cluster.take_events();
    assert_eq!(first.len(), 4, "each process delivers its own item first");
    cluster.run_until_quiescent();
    assert_eq!(delivered(&mut cluster), [(1, item(2, 1)), (2, item(1, 1))]);
}
