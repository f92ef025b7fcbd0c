//! K. Birman, A. Schiper, P. Stephenson, *Lightweight causal and atomic group multicast*, ACM TOCS
//! 9(3), 1991.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::CausalBroadcast;
use tenure_algorithms::agreement::causal_broadcast::VariantId;
use tenure_core::monitors::{AllDeliver, CausalOrder, DeliveredOnce, NoCreation};
use tenure_core::service::broadcast::{Command, Event, ItemId};
use tenure_core::{ChannelOrder, Monitor, ProcessId, Violation};
use tenure_trace::{SplitMix64, TestCluster};

use crate::support::{events, p};

fn cluster(size: u32, switches: &[VariantId]) -> TestCluster<CausalBroadcast> {
    let variants = switches.iter().fold(Variants::none(), |all, switch| all.with(*switch));
    TestCluster::with_same_config(size, ChannelOrder::Reordered, variants)
}

fn broadcast(cluster: &mut TestCluster<CausalBroadcast>, at: u32, number: u64) {
    cluster.issue_command(p(at), Command::Broadcast { number });
}

/// Returns the items that `at` has delivered since the last call, in order. Each item is a pair:
/// the process that broadcast the item, and the number of the item.
fn delivered(cluster: &mut TestCluster<CausalBroadcast>, at: u32) -> Vec<(u32, u64)> {
    let here = events(cluster).into_iter().filter(|(by, _)| *by == at);
    here.map(|(_, Event::Delivered { item })| (item.from.display_number(), item.number)).collect()
}

/// Returns a cluster in which P2 has answered an item of P1, and the answer has arrived at P3
/// before the item.
fn answered(switches: &[VariantId]) -> TestCluster<CausalBroadcast> {
    let mut cluster = cluster(3, switches);
    broadcast(&mut cluster, 1, 1);
    cluster.deliver_at((p(1), p(2)), 0);
    broadcast(&mut cluster, 2, 1);
    cluster.take_events();
    cluster.deliver_at((p(2), p(3)), 0);
    cluster
}

#[test]
fn answer_waits_for_its_question() {
    let mut cluster = answered(&[]);
    assert_eq!(delivered(&mut cluster, 3), []);
    cluster.deliver_at((p(1), p(3)), 0);
    assert_eq!(delivered(&mut cluster, 3), [(1, 1), (2, 1)]);
}

#[test]
fn answer_overtakes_without_timestamps() {
    for switch in [VariantId::NoWait, VariantId::FifoOnly] {
        assert_eq!(delivered(&mut answered(&[switch]), 3), [(2, 1)], "{switch:?}");
    }
}

#[test]
fn items_of_one_process_are_delivered_in_order() {
    for (switches, expected) in [
        (&[][..], &[(1, 1), (1, 2)]),
        (&[VariantId::FifoOnly], &[(1, 1), (1, 2)]),
        (&[VariantId::NoWait], &[(1, 2), (1, 1)]),
    ] {
        let mut cluster = cluster(2, switches);
        broadcast(&mut cluster, 1, 1);
        broadcast(&mut cluster, 1, 2);
        cluster.deliver_at((p(1), p(2)), 1);
        cluster.deliver_at((p(1), p(2)), 0);
        assert_eq!(delivered(&mut cluster, 2), expected, "{switches:?}");
    }
}

#[test]
fn concurrent_items_do_not_wait() {
    let mut cluster = cluster(3, &[]);
    broadcast(&mut cluster, 1, 1);
    broadcast(&mut cluster, 2, 1);
    cluster.take_events();
    cluster.deliver_at((p(2), p(3)), 0);
    assert_eq!(delivered(&mut cluster, 3), [(2, 1)]);
    cluster.deliver_at((p(1), p(3)), 0);
    assert_eq!(delivered(&mut cluster, 3), [(1, 1)]);
}

#[test]
fn item_costs_one_message_per_peer() {
    for size in 1..=6 {
        let mut cluster = cluster(size, &[]);
        broadcast(&mut cluster, 1, 1);
        cluster.run_until_quiescent();
        assert_eq!(cluster.total_sent(), u64::from(size) - 1);
    }
}

/// Lets each of `size` processes broadcast `items` items in a random schedule with duplicates.
fn run(size: u32, items: u64, switches: &[VariantId], seed: u64) -> Result<(), Violation> {
    let (mut cluster, mut rng) = (cluster(size, switches), SplitMix64(seed));
    let (mut order, mut once) = (CausalOrder::default(), DeliveredOnce::default());
    let (mut known, mut all) = (NoCreation::default(), AllDeliver::new(size, &[]));
    let mut remaining = vec![items; size as usize];
    loop {
        for (at, seen) in cluster.take_events() {
            order.observe(at, seen.to_observation())?;
            once.observe(at, seen.to_observation())?;
            known.observe(at, seen.to_observation())?;
            all.observe(at, seen.to_observation())?;
        }
        let links = cluster.links_in_use();
        let ready: Vec<usize> = (0..remaining.len()).filter(|at| remaining[*at] > 0).collect();
        if ready.is_empty() && links.is_empty() {
            return all.check_final_state();
        }
        let choice = rng.below(ready.len() + links.len());
        if let Some(at) = ready.get(choice) {
            remaining[*at] -= 1;
            let number = items - remaining[*at];
            cluster.issue_command(ProcessId::from_index(*at), Command::Broadcast { number });
        } else {
            let link = links[choice - ready.len()];
            if rng.one_in(16) {
                cluster.duplicate_oldest(link);
            }
            cluster.deliver(link, &mut rng);
        }
    }
}

#[test]
fn random_schedules_deliver_all_in_causal_order() {
    for (size, items) in [(2, 5), (3, 4), (5, 2)] {
        for seed in 0..300 {
            run(size, items, &[], seed).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
    }
}

#[test]
fn each_mistake_is_caught() {
    let is_caught = |switch, description: &str| {
        let mut found = (0..500).filter_map(|seed| run(3, 2, &[switch], seed).err());
        found.any(|violation| violation.message.contains(description))
    };
    assert!(is_caught(VariantId::NoWait, "its cause"));
    assert!(is_caught(VariantId::FifoOnly, "its cause"));
    assert!(is_caught(VariantId::CountsDeliveries, "never does"));
    assert!(is_caught(VariantId::MergesOnArrival, "never does"));
}

#[test]
fn item_names_its_broadcaster() {
    let mut cluster = answered(&[]);
    cluster.run_until_quiescent();
    let mut seen = events(&mut cluster);
    seen.sort_unstable_by_key(|(at, Event::Delivered { item })| (*at, *item));
    let [first, second] =
        [1, 2].map(|from| Event::Delivered { item: ItemId { from: p(from), number: 1 } });
    assert_eq!(seen, [(1, second), (3, first), (3, second)]);
}
