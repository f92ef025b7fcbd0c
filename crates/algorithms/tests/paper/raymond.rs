//! K. Raymond, *A tree-based algorithm for distributed mutual exclusion*, ACM TOCS 7(1), 1989.

use std::sync::Arc;

use tenure_algorithms::mutex::Raymond;
use tenure_algorithms::mutex::raymond::Config;
use tenure_core::service::mutex::Command;
use tenure_core::tree::{RootedTree, TreeShape};
use tenure_core::{Algorithm, ChannelOrder, ProcessId, Property};

use crate::support::mutex::{
    Plan, check_reentry, check_seeds, check_token_loss, enter_and_exit, entered, is_caught, run,
};
use crate::support::{command_and_drain, p};
use tenure_trace::{SplitMix64, TestCluster};

const SHAPES: [TreeShape; 3] = [TreeShape::Star, TreeShape::Path, TreeShape::Heap];

fn cluster(shape: TreeShape, size: u32) -> TestCluster<Raymond> {
    TestCluster::with_same_config(size, ChannelOrder::Fifo, Config::with_tree_shape(shape, size))
}

fn any_tree(size: u32, rng: &mut SplitMix64) -> Config {
    let mut order: Vec<ProcessId> = (0..size).map(ProcessId).collect();
    rng.shuffle(&mut order);
    let edges: Vec<_> =
        (1..order.len()).map(|place| (order[place], order[rng.below(place)])).collect();
    Config { tree: Arc::new(RootedTree::from_edges(size, edges).expect("edges form a tree")) }
}

#[test]
fn single_request_costs_twice_its_distance() {
    for seed in 0..300 {
        let mut rng = SplitMix64(seed);
        let size = 1 + rng.below(9) as u32;
        let config = any_tree(size, &mut rng);
        let mut cluster =
            TestCluster::<Raymond>::with_same_config(size, ChannelOrder::Fifo, config.clone());
        let mut holder = p(1);
        for _ in 0..20 {
            let at = ProcessId(rng.below(size as usize) as u32);
            let distance = u64::from(config.tree.distance(holder, at));
            assert_eq!(
                enter_and_exit(&mut cluster, at.display_number()),
                2 * distance,
                "seed {seed}"
            );
            holder = at;
        }
    }
}

#[test]
fn token_starts_at_the_root() {
    for (shape, cost) in [(TreeShape::Star, 2), (TreeShape::Path, 12), (TreeShape::Heap, 4)] {
        let mut cluster = cluster(shape, 7);
        assert_eq!(enter_and_exit(&mut cluster, 1), 0);
        assert_eq!(enter_and_exit(&mut cluster, 7), cost, "{shape:?}");
    }
}

#[test]
fn entries_cost_at_most_twice_the_diameter() {
    for seed in 0..600 {
        let mut rng = SplitMix64(seed);
        let size = 1 + rng.below(6) as u32;
        let config = any_tree(size, &mut rng);
        let most = Raymond::card(&config, size).messages.most.unwrap();
        assert_eq!(most, 2 * u64::from(config.tree.diameter()));
        let plan = Plan::of(ChannelOrder::Reordered, &vec![3; size as usize]).seeded(seed);
        let outcome = run::<Raymond>(config, &plan).unwrap();
        assert!(outcome.messages <= most * outcome.entries, "seed {seed}: {outcome:?}");
    }
}

#[test]
fn messages_stay_between_neighbours() {
    for seed in 0..100 {
        let mut rng = SplitMix64(seed);
        let config = any_tree(6, &mut rng);
        let mut cluster =
            TestCluster::<Raymond>::with_same_config(6, ChannelOrder::Fifo, config.clone());
        (1..=6).for_each(|at| cluster.issue_command(p(at), Command::Enter));
        while let Some((from, to)) = cluster.links_in_use().first().copied() {
            assert_eq!(config.tree.distance(from, to), 1, "seed {seed}");
            cluster.deliver_at((from, to), 0);
        }
    }
}

#[test]
fn requests_are_combined() {
    let mut cluster = cluster(TreeShape::Star, 5);
    command_and_drain(&mut cluster, 5, Command::Enter);
    for at in [2, 3, 4] {
        cluster.issue_command(p(at), Command::Enter);
        cluster.deliver_at((p(at), p(1)), 0);
    }
    assert_eq!(cluster.messages_on_link((p(1), p(5))).len(), 1, "P1 requests once for all of them");
}

#[test]
fn passing_the_token_on_requests_it_back() {
    let mut cluster = cluster(TreeShape::Star, 3);
    cluster.issue_command(p(1), Command::Enter);
    cluster.issue_command(p(2), Command::Enter);
    command_and_drain(&mut cluster, 3, Command::Enter);
    let order = entered(&mut cluster);
    cluster.issue_command(p(1), Command::Exit);
    let first = if cluster.messages_on_link((p(1), p(2))).is_empty() { 3 } else { 2 };
    assert_eq!(
        (order, cluster.messages_on_link((p(1), p(first))).len()),
        (vec![1], 2),
        "the token and a request"
    );
}

/// In each round, every process of a star enters once. Each entry of a leaf costs four messages: a
/// request to the centre, the token to the leaf, a request to the leaf, and the token to the
/// centre.
#[test]
fn entry_costs_four_messages_under_load() {
    let mut cluster = cluster(TreeShape::Star, 9);
    (1..=9).for_each(|at| cluster.issue_command(p(at), Command::Enter));
    cluster.deliver_all(&mut SplitMix64(0));
    let (mut last, rounds) = (p(1), 10);
    for _ in 0..rounds * 9 {
        cluster.issue_command(last, Command::Exit);
        cluster.issue_command(last, Command::Enter);
        cluster.deliver_all(&mut SplitMix64(0));
        last = p(*entered(&mut cluster).last().expect("a process enters"));
    }
    let per_entry = cluster.total_sent() as f64 / f64::from(rounds * 9);
    assert!((3.4..=4.0).contains(&per_entry), "{per_entry}");
}

#[test]
fn serves_requests_in_order_of_arrival() {
    let mut cluster = cluster(TreeShape::Star, 4);
    cluster.issue_command(p(1), Command::Enter);
    for at in [3, 2, 4] {
        cluster.issue_command(p(at), Command::Enter);
        cluster.deliver_at((p(at), p(1)), 0);
    }
    let mut order = entered(&mut cluster);
    for _ in 0..3 {
        command_and_drain(&mut cluster, *order.last().unwrap(), Command::Exit);
        order.extend(entered(&mut cluster));
    }
    assert_eq!(order, [1, 3, 2, 4]);
}

#[test]
fn channels_need_no_order() {
    for shape in SHAPES {
        let plan = Plan::of(ChannelOrder::Reordered, &[3, 3, 3, 3]);
        check_seeds::<Raymond>(&Config::with_tree_shape(shape, 4), &plan, 500);
    }
}

#[test]
fn holder_reenters_until_a_request_arrives() {
    check_reentry(&mut cluster(TreeShape::Path, 2));
    let card = Raymond::card(&Config::with_tree_shape(TreeShape::Path, 2), 2);
    assert!(
        !card.promises.contains(&Property::FirstComeFirstServed)
            && card.promised_bypass_bound().is_none()
    );
}

#[test]
fn duplicate_token_breaks_exclusion() {
    for shape in SHAPES {
        let plan = Plan::of(ChannelOrder::Fifo, &[2, 2, 2]).duplicating(1);
        assert!(
            is_caught::<Raymond>(&Config::with_tree_shape(shape, 3), &plan, "exclusion"),
            "{shape:?}"
        );
    }
}

#[test]
fn crashed_holder_loses_the_token() {
    check_token_loss(&mut cluster(TreeShape::Heap, 3));
}

#[test]
#[should_panic(expected = "a process may request only when idle")]
fn waiter_cannot_request_again() {
    let mut cluster = cluster(TreeShape::Path, 2);
    cluster.issue_command(p(2), Command::Enter);
    cluster.issue_command(p(2), Command::Enter);
}
