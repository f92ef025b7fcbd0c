//! Full saturation: N. Santoro, *Design and Analysis of Distributed Algorithms*, 2007.

use tenure_algorithms::Variants;
use tenure_algorithms::election::TreeElection;
use tenure_algorithms::election::tree_election::{
    Config, Message, VariantId, predicted_message_count,
};
use tenure_core::service::election::{Command, Event};
use tenure_core::tree::RootedTree;
use tenure_core::{ChannelOrder, Graph, ProcessId};
use tenure_trace::{SplitMix64, TestCluster};

use crate::support::election::{all_processes, beliefs, elect, subsets, unchecked_beliefs};
use crate::support::graphs::connected_graphs;
use crate::support::{p, processes_with};

fn trees(size: u32) -> impl Iterator<Item = RootedTree> {
    let trees = connected_graphs(size).filter(Graph::is_tree);
    trees.map(|graph| graph.to_tree().expect("it is a tree"))
}

#[test]
fn stages_cost_as_computed_on_every_small_tree() {
    for size in 2..=5 {
        for (seed, tree) in (0..).zip(trees(size)) {
            let config = Config::with_tree(tree);
            for initiators in subsets(size) {
                let order = ChannelOrder::Reordered;
                let (cluster, beliefs) =
                    elect::<TreeElection>(size, order, config.clone(), &initiators, 0, seed);
                let context = format!("{config:?} {initiators:?}");
                assert_eq!(beliefs, vec![Some(p(size)); size as usize], "{context}");
                let (n, k) = (u64::from(size), initiators.len() as u64);
                let sent =
                    ["wake-up", "saturation", "elected"].map(|kind| cluster.sent_count(kind));
                assert_eq!(sent, [n + k - 2, n, n - 2], "{context}");
                assert_eq!(
                    cluster.total_sent(),
                    predicted_message_count(size, k as u32),
                    "{context}"
                );
            }
        }
    }
}

/// Exactly two processes are saturated. They are neighbours, and each of them receives the message
/// of its neighbour after it has sent its own message to this neighbour. Both decide without an
/// announcement.
#[test]
fn ranks_meet_on_one_edge() {
    for (seed, tree) in (0..).zip(trees(5)) {
        let mut cluster = TestCluster::<TreeElection>::with_same_config(
            5,
            ChannelOrder::Reordered,
            Config::with_tree(tree.clone()),
        );
        cluster.issue_command(ProcessId(seed as u32 % 5), Command::Elect);
        let (mut rng, mut saturated) = (SplitMix64(seed), Vec::new());
        cluster.take_events();
        while let Some(link) = rng.pick(&cluster.links_in_use()).copied() {
            let place = rng.below(cluster.messages_on_link(link).len());
            let is_saturation =
                matches!(cluster.messages_on_link(link)[place], Message::Saturation { .. });
            cluster.deliver_at(link, place);
            let elected = processes_with(&mut cluster, |it| matches!(it, Event::Elected { .. }));
            if !elected.is_empty() && is_saturation {
                saturated.push(link.1);
            }
        }
        assert_eq!(saturated.len(), 2, "{tree:?}");
        assert_eq!(tree.distance(saturated[0], saturated[1]), 1, "{tree:?}");
    }
}

#[test]
fn duplicates_do_not_change_the_leader() {
    for (seed, tree) in (0..).zip(trees(5)) {
        let (config, all) = (Config::with_tree(tree), all_processes(5));
        let (_, beliefs) =
            elect::<TreeElection>(5, ChannelOrder::Reordered, config.clone(), &all, 5, seed);
        assert_eq!(beliefs, [Some(p(5)); 5], "{config:?}");
    }
}

#[test]
fn second_election_costs_the_same() {
    for (seed, tree) in (0..).zip(trees(4)) {
        let config = Config::with_tree(tree);
        let (mut cluster, _) =
            elect::<TreeElection>(4, ChannelOrder::Reordered, config, &all_processes(4), 0, seed);
        cluster.issue_command(p(2), Command::Elect);
        cluster.deliver_all(&mut SplitMix64(seed));
        assert_eq!(beliefs(&mut cluster), [Some(p(4)); 4]);
        assert_eq!(
            cluster.total_sent(),
            predicted_message_count(4, 4) + predicted_message_count(4, 1)
        );
    }
}

#[test]
fn single_process_leads_without_messages() {
    let config = Config::with_tree(trees(1).next().unwrap());
    let (cluster, beliefs) = elect::<TreeElection>(1, ChannelOrder::Fifo, config, &[p(1)], 0, 0);
    assert_eq!((cluster.total_sent(), beliefs), (predicted_message_count(1, 1), vec![Some(p(1))]));
}

#[test]
fn each_mistake_is_caught() {
    let run = |switch, initiators: &[ProcessId], seed| {
        let variants = Variants::none().with(switch);
        let line = Graph::line(4).to_tree().unwrap();
        let config = Config { variants, ..Config::with_tree(line) };
        let mut cluster =
            TestCluster::<TreeElection>::with_same_config(4, ChannelOrder::Reordered, config);
        initiators.iter().for_each(|at| cluster.issue_command(*at, Command::Elect));
        cluster.deliver_all(&mut SplitMix64(seed));
        unchecked_beliefs(&mut cluster)
    };
    let all = all_processes(4);
    let wrong = |leader: &Option<ProcessId>| leader.is_some_and(|leader| leader != p(4));
    assert!((0..200).any(|seed| run(VariantId::FirstMessage, &all, seed).iter().any(wrong)));
    assert_eq!(run(VariantId::IgnoresCrossing, &all, 0), [None; 4]);
    assert_eq!(run(VariantId::NoWakeUp, &[p(2)], 0), [None; 4]);
    assert_eq!(run(VariantId::NoWakeUp, &[p(1), p(4)], 0), [Some(p(4)); 4], "all leaves start");
}
