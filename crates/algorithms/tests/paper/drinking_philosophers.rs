//! Drinking philosophers: K. M. Chandy, J. Misra, ACM TOPLAS 6(4), 1984.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::DrinkingPhilosophers;
use tenure_algorithms::agreement::drinking_philosophers::{Config, VariantId};
use tenure_core::monitors::BottleExclusion;
use tenure_core::service::drinking::{Command, Event, User};
use tenure_core::{ChannelOrder, Graph, ProcessSet};

use crate::support::graphs::connected_graphs;
use crate::support::{command_and_settle, p, processes_with, sessions};
use tenure_trace::{ActionError, ScriptRunner, TestCluster};

fn cluster(graph: Graph) -> TestCluster<DrinkingPhilosophers> {
    TestCluster::with_same_config(
        graph.vertex_count(),
        ChannelOrder::Reordered,
        Config::with_graph(graph),
    )
}

fn thirst(cluster: &mut TestCluster<DrinkingPhilosophers>, at: u32, peers: &[u32]) {
    let bottles: ProcessSet = peers.iter().copied().map(p).collect();
    command_and_settle(cluster, at, Command::Thirst { bottles });
}

fn drinking(cluster: &mut TestCluster<DrinkingPhilosophers>) -> Vec<u32> {
    processes_with(cluster, |event| matches!(event, Event::Drinking { .. }))
}

fn run(config: Config, times: u32, seed: u64) -> Result<(u64, usize), String> {
    let times = vec![times; config.graph.vertex_count() as usize];
    sessions::run::<DrinkingPhilosophers, User, _>(config, &times, BottleExclusion::default(), seed)
}

#[test]
fn no_two_drink_from_one_bottle_on_all_graphs_up_to_five() {
    for size in 1..=5 {
        for (seed, graph) in (0..).zip(connected_graphs(size)) {
            let config = Config::with_graph(graph);
            run(config.clone(), 4, seed).unwrap_or_else(|error| panic!("{config:?}: {error}"));
        }
    }
}

/// Each philosopher on a ring needs the bottle that it shares with the next one, so all drink at
/// the same time. In the dining philosophers' problem, only every second philosopher could eat at
/// the same time.
#[test]
fn neighbours_with_different_bottles_drink_together() {
    let mut cluster = cluster(Graph::ring(5));
    for at in 1..=5 {
        thirst(&mut cluster, at, &[at % 5 + 1]);
    }
    let mut all = drinking(&mut cluster);
    all.sort_unstable();
    assert_eq!(all, [1, 2, 3, 4, 5]);
}

#[test]
fn process_outside_the_group_shares_no_bottle() {
    let mut cluster = cluster(Graph::ring(3));
    let unknown = cluster.perform(&"thirst p1 2,9".parse().expect("an action"));
    assert_eq!(unknown, Err(ActionError::NoProcess { at: p(9), size: 3 }));
    cluster.perform(&"thirst p1 2,3".parse().expect("an action")).expect("they are neighbours");
}

/// P1 and P2 both need the bottle that they share, and wait while P3 drinks. P2 became thirsty
/// before P1 and has the fork that belongs to this bottle. P2 therefore keeps the bottle and drinks
/// before P1.
#[test]
fn holder_of_the_fork_keeps_a_needed_bottle() {
    let mut cluster = cluster(Graph::ring(3));
    thirst(&mut cluster, 3, &[1, 2]);
    assert_eq!(drinking(&mut cluster), [3]);
    thirst(&mut cluster, 2, &[1, 3]);
    thirst(&mut cluster, 1, &[2, 3]);
    assert_eq!(drinking(&mut cluster), [0_u32; 0], "P3 drinks from a bottle of each");
    command_and_settle(&mut cluster, 3, Command::Quench);
    assert_eq!(drinking(&mut cluster), [2]);
    command_and_settle(&mut cluster, 2, Command::Quench);
    assert_eq!(drinking(&mut cluster), [1]);
}

#[test]
fn session_without_bottles_begins_at_once() {
    let mut cluster = cluster(Graph::line(3));
    // P1 and P3 are not neighbours, so they share no bottle.
    thirst(&mut cluster, 1, &[3]);
    assert_eq!(drinking(&mut cluster), [1]);
}

#[test]
fn mistakes_violate_safety_or_block() {
    for (switch, expected) in [
        (VariantId::KeepsNeeded, "blocked"),
        (VariantId::YieldsInside, "drinks from the bottle"),
        (VariantId::DropsRequest, "blocked"),
    ] {
        let wrong = Config {
            variants: Variants::none().with(switch),
            ..Config::with_graph(Graph::ring(3))
        };
        let found = (0..2000).filter_map(|seed| run(wrong.clone(), 3, seed).err());
        assert!(found.into_iter().any(|error| error.contains(expected)), "{switch:?}");
    }
}
