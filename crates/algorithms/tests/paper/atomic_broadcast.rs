//! Atomic broadcast by a sequence of consensus instances.

use std::collections::BTreeMap;

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::AtomicBroadcast;
use tenure_algorithms::agreement::atomic_broadcast::VariantId;
use tenure_core::service::broadcast::{Command, Event, ItemId};
use tenure_core::{Algorithm, ChannelOrder, PeerVerdict};
use tenure_trace::{SplitMix64, TestCluster};

use crate::support::{command_and_settle, events, p, report};

fn cluster(size: u32, variants: Variants<VariantId>) -> TestCluster<AtomicBroadcast> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, variants)
}

fn delivered(cluster: &mut TestCluster<AtomicBroadcast>) -> BTreeMap<u32, Vec<ItemId>> {
    let mut delivered: BTreeMap<u32, Vec<ItemId>> = BTreeMap::new();
    for (at, Event::Delivered { item }) in events(cluster) {
        delivered.entry(at).or_default().push(item);
    }
    delivered
}

#[test]
fn item_costs_what_the_card_states() {
    for size in 1..=6 {
        let mut cluster = cluster(size, Variants::none());
        command_and_settle(&mut cluster, 1, Command::Broadcast { number: 1 });
        let delivered = delivered(&mut cluster);
        assert_eq!(delivered.len(), size as usize);
        assert!(delivered.values().all(|items| *items == [ItemId { from: p(1), number: 1 }]));
        let cost = AtomicBroadcast::card(&Variants::none(), size).messages;
        assert_eq!(cluster.total_sent(), cost.least, "{size}");
    }
}

/// Broadcasts two items at every process and delivers messages in random order. Returns true if all
/// processes delivered all items in the same order.
fn is_ordered(variants: Variants<VariantId>, seed: u64) -> bool {
    let mut cluster = cluster(3, variants);
    let mut rng = SplitMix64(seed);
    for number in 1..=2 {
        (1..=3).for_each(|at| cluster.issue_command(p(at), Command::Broadcast { number }));
    }
    if seed.is_multiple_of(3) {
        cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
    }
    cluster.deliver_all(&mut rng);
    let delivered = delivered(&mut cluster);
    let first = &delivered[&1];
    first.len() == 6 && delivered.len() == 3 && delivered.values().all(|items| items == first)
}

#[test]
fn all_deliver_everything_in_one_order() {
    for seed in 0..500 {
        assert!(is_ordered(Variants::none(), seed), "seed {seed}");
    }
}

#[test]
fn each_mistake_breaks_total_order() {
    for switch in [VariantId::NoOrder, VariantId::AsDecided] {
        let variants = Variants::none().with(switch);
        assert!((0..500).any(|seed| !is_ordered(variants, seed)), "{switch:?}");
    }
}

#[test]
fn order_survives_leader_crash() {
    let mut cluster = cluster(3, Variants::none());
    cluster.issue_command(p(1), Command::Broadcast { number: 1 });
    cluster.deliver_all(&mut SplitMix64(1));
    cluster.crash(p(1));
    cluster.issue_command(p(2), Command::Broadcast { number: 1 });
    cluster.issue_command(p(3), Command::Broadcast { number: 1 });
    report(&mut cluster, 1, PeerVerdict::Suspect);
    cluster.run_until_quiescent();
    let delivered = delivered(&mut cluster);
    assert_eq!(delivered[&2].len(), 3);
    assert_eq!(delivered[&2], delivered[&3]);
    assert_eq!(delivered[&1], [ItemId { from: p(1), number: 1 }]);
}
