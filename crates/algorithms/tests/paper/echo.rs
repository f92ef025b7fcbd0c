//! E. Chang, *Echo algorithms: depth parallel operations on general graphs*, IEEE Transactions on
//! Software Engineering SE-8(4), 1982.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::Echo;
use tenure_algorithms::agreement::echo::{Config, VariantId};
use tenure_core::monitors::{AllReached, WaveTree};
use tenure_core::service::wave::{Command, Event};
use tenure_core::{ChannelOrder, Graph, Monitor, ProcessId};
use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

use crate::support::graphs::connected_graphs;
use crate::support::{events, p, pass_all};

fn cluster(config: Config) -> TestCluster<Echo> {
    TestCluster::with_same_config(config.graph.vertex_count(), ChannelOrder::Reordered, config)
}

/// Starts waves at `initiators` and delivers messages in random order until none is in flight.
/// Returns the processes whose waves returned. A violation is returned as an error.
fn explore(
    config: &Config,
    initiators: &[ProcessId],
    seed: u64,
) -> Result<(TestCluster<Echo>, Vec<ProcessId>), String> {
    let mut cluster = cluster(config.clone());
    for at in initiators {
        cluster.issue_command(*at, Command::Explore);
    }
    cluster.deliver_all(&mut SplitMix64(seed));
    let (mut tree, mut all) = (WaveTree::default(), AllReached::new(config.graph.vertex_count()));
    let mut returned = Vec::new();
    for (at, seen) in cluster.take_events() {
        for verdict in
            [tree.observe(at, seen.to_observation()), all.observe(at, seen.to_observation())]
        {
            verdict.map_err(|violation| violation.message)?;
        }
        if matches!(seen, ProcessEvent::Event(Event::Returned { .. })) {
            returned.push(at);
        }
    }
    Ok((cluster, returned))
}

#[test]
fn wave_takes_two_messages_per_edge_on_every_small_graph() {
    for size in 1..=5 {
        for (seed, graph) in (0..).zip(connected_graphs(size)) {
            let (edges, others) = (graph.edge_count() as u64, u64::from(size) - 1);
            let config = Config::with_graph(graph);
            let initiator = ProcessId(seed as u32 % size);
            let (cluster, returned) = explore(&config, &[initiator], seed).unwrap();
            assert_eq!(returned, [initiator], "{config:?}");
            assert_eq!(cluster.sent_count("explorer"), 2 * edges - others, "{config:?}");
            assert_eq!(cluster.sent_count("echo"), others, "{config:?}");
        }
    }
}

#[test]
fn concurrent_waves_do_not_mix() {
    for (seed, graph) in (0..).zip(connected_graphs(4)) {
        let all = 4 * 2 * graph.edge_count() as u64;
        let config = Config::with_graph(graph);
        let initiators = [0, 1, 2, 3].map(ProcessId);
        let (cluster, mut returned) = explore(&config, &initiators, seed).unwrap();
        returned.sort_unstable();
        assert_eq!(returned, initiators, "{config:?}");
        assert_eq!(cluster.total_sent(), all, "{config:?}");
        for at in initiators {
            let awaits = |of| cluster.process(at).is_some_and(|it| it.is_awaiting_answers(of));
            assert!(!initiators.into_iter().any(awaits), "{config:?}");
        }
    }
}

/// The same process starts a second wave after its first wave has ended. The second wave reaches
/// all processes, because each of them forgot the first wave when it sent the echo.
#[test]
fn second_wave_of_one_initiator_explores_again() {
    let mut cluster = cluster(Config::with_graph(Graph::complete(4)));
    for wave in 1..=3 {
        cluster.issue_command(p(2), Command::Explore);
        cluster.deliver_all(&mut SplitMix64(wave));
        assert_eq!(cluster.total_sent(), wave * 12);
    }
}

/// On a ring of four, both messages for P3 are in flight. The first to arrive decides P3's parent.
#[test]
fn first_sender_of_explorer_becomes_parent() {
    for (first, second) in [(2, 4), (4, 2)] {
        let mut cluster = cluster(Config::with_graph(Graph::ring(4)));
        cluster.issue_command(p(1), Command::Explore);
        pass_all(&mut cluster, &[(1, 2), (1, 4), (first, 3)]);
        let reached = Event::Reached { initiator: p(1), parent: Some(p(first)) };
        let mut at_third = events(&mut cluster);
        at_third.retain(|(at, _)| *at == 3);
        assert_eq!(at_third, [(3, reached)]);
        cluster.deliver_at((p(second), p(3)), 0);
        assert_eq!(cluster.messages_on_link((p(3), p(first))).len(), 1, "it echoes to its parent");
        assert_eq!(
            cluster.messages_on_link((p(3), p(second))).len(),
            1,
            "and has explored the other"
        );
    }
}

/// A leaf sends its echo immediately. On a line, any other process first waits for the echo of the
/// neighbour that is farther from the initiator.
#[test]
fn initiator_decides_after_the_farthest_process() {
    let mut cluster = cluster(Config::with_graph(Graph::line(4)));
    cluster.issue_command(p(1), Command::Explore);
    for link in [(1, 2), (2, 3), (3, 4), (4, 3), (3, 2)] {
        assert_eq!(cluster.links_in_use().len(), 1);
        cluster.deliver_at((p(link.0), p(link.1)), 0);
    }
    cluster.take_events();
    cluster.deliver_at((p(2), p(1)), 0);
    assert_eq!(events(&mut cluster), [(1, Event::Returned { size: 4 })]);
}

#[test]
fn each_mistake_is_caught() {
    let run = |switch, size, seed| {
        let variants = Variants::none().with(switch);
        explore(&Config { variants, ..Config::with_graph(Graph::ring(size)) }, &[p(1)], seed)
    };
    let is_early = |seed| {
        let error = run(VariantId::EarlyEcho, 4, seed).err();
        error.is_some_and(|error| error.contains("3 of 4 have taken part"))
    };
    assert!((0..100).any(is_early));
    for switch in [VariantId::EchoesOnly, VariantId::LastParent] {
        let is_stuck = |seed| run(switch, 3, seed).is_ok_and(|(_, returned)| returned.is_empty());
        assert!((0..100).any(is_stuck), "{switch:?}");
    }
}
