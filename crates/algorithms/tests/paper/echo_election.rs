//! Echo with extinction: E. Chang, IEEE Transactions on Software Engineering SE-8(4), 1982; G. Tel,
//! *Introduction to Distributed Algorithms*, 2nd edition, 2000.

use tenure_algorithms::Variants;
use tenure_algorithms::election::EchoElection;
use tenure_algorithms::election::echo_election::{Config, VariantId};
use tenure_core::monitors::{LeaderScope, OneLeader};
use tenure_core::service::election::{Command, Event};
use tenure_core::{ChannelOrder, Graph, Monitor, ProcessId, Term};
use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

use crate::support::election::{all_processes, beliefs, elect, subsets, unchecked_beliefs};
use crate::support::graphs::connected_graphs;
use crate::support::{command_and_drain, events, p};

/// On every labelled graph of up to four processes, the largest initiator leads. The graphs include
/// all permutations of the labels, so the ranks occur in every order.
#[test]
fn largest_initiator_leads_on_every_small_graph() {
    for size in 1..=4 {
        for (seed, graph) in (0..).zip(connected_graphs(size)) {
            let (wave, others) = (2 * graph.edge_count() as u64, u64::from(size) - 1);
            let config = Config::with_graph(graph);
            for initiators in subsets(size) {
                let order = ChannelOrder::Reordered;
                let (cluster, beliefs) =
                    elect::<EchoElection>(size, order, config.clone(), &initiators, 0, seed);
                let largest = initiators.last().copied();
                assert_eq!(beliefs, vec![largest; size as usize], "{config:?} {initiators:?}");
                let (sent, starting) = (cluster.total_sent(), initiators.len() as u64);
                assert!(
                    sent <= starting * wave + others + 1 - starting,
                    "{config:?} {initiators:?}"
                );
                assert!(sent >= wave + others, "{config:?} {initiators:?}");
                assert_eq!(cluster.sent_count("elected"), others, "along the tree");
                if starting == 1 {
                    assert_eq!(sent, wave + others, "{config:?} {initiators:?}");
                }
            }
        }
    }
}

#[test]
fn five_processes_elect_on_every_graph() {
    for (seed, graph) in (0..).zip(connected_graphs(5)) {
        let config = Config::with_graph(graph);
        let initiators = subsets(5).nth(seed as usize % 31).unwrap();
        let (_, beliefs) =
            elect::<EchoElection>(5, ChannelOrder::Reordered, config.clone(), &initiators, 0, seed);
        assert_eq!(beliefs, vec![initiators.last().copied(); 5], "{config:?} {initiators:?}");
    }
}

#[test]
fn duplicates_do_not_change_the_leader() {
    for (seed, graph) in (0..).zip(connected_graphs(4)) {
        let (config, all) = (Config::with_graph(graph), all_processes(4));
        let (_, beliefs) =
            elect::<EchoElection>(4, ChannelOrder::Reordered, config.clone(), &all, 5, seed);
        assert_eq!(beliefs, vec![Some(p(4)); 4], "{config:?}");
    }
}

#[test]
fn reached_process_does_not_start() {
    let mut cluster = TestCluster::<EchoElection>::with_same_config(
        3,
        ChannelOrder::Fifo,
        Config::with_graph(Graph::ring(3)),
    );
    cluster.issue_command(p(1), Command::Elect);
    cluster.deliver_at((p(1), p(3)), 0);
    command_and_drain(&mut cluster, 3, Command::Elect);
    assert_eq!(beliefs(&mut cluster), [Some(p(1)); 3]);
    assert_eq!(cluster.total_sent(), 2 * 3 + 2);
}

/// All processes depose P4. After that P1 starts the second election alone and leads.
#[test]
fn later_election_has_a_later_term_and_one_leader_at_a_time() {
    for seed in 0..200 {
        let config = Config::with_graph(Graph::ring(4));
        let all = all_processes(4);
        let (mut cluster, first) =
            elect::<EchoElection>(4, ChannelOrder::Reordered, config, &all, 0, seed);
        assert_eq!(first, [Some(p(4)); 4]);
        let mut monitor = OneLeader::new(LeaderScope::Overall);
        let term = Term { number: 1, leader: p(4) };
        let elected = Event::Elected { leader: p(4), term };
        monitor
            .observe(p(4), ProcessEvent::<EchoElection>::Event(elected).to_observation())
            .unwrap();
        cluster.issue_command(p(1), Command::Elect);
        cluster.deliver_all(&mut SplitMix64(seed));
        let (mut deposed, mut leaders) = (0, vec![None; 4]);
        for (at, seen) in cluster.take_events() {
            monitor.observe(at, seen.to_observation()).unwrap();
            match seen {
                ProcessEvent::Event(Event::Deposed { term: old }) => {
                    assert_eq!(old, term);
                    deposed += 1;
                }
                ProcessEvent::Event(Event::Elected { term, .. }) => {
                    leaders[at.index()] = Some(term);
                }
                _ => {}
            }
        }
        assert_eq!(deposed, 4, "seed {seed}");
        assert_eq!(leaders, [Some(Term { number: 2, leader: p(1) }); 4], "seed {seed}");
    }
}

#[test]
fn each_mistake_is_caught() {
    let run = |switch, initiators: &[ProcessId], seed| {
        let variants = Variants::none().with(switch);
        let config = Config { variants, ..Config::with_graph(Graph::ring(4)) };
        let mut cluster =
            TestCluster::<EchoElection>::with_same_config(4, ChannelOrder::Reordered, config);
        initiators.iter().for_each(|at| cluster.issue_command(*at, Command::Elect));
        cluster.deliver_all(&mut SplitMix64(seed));
        let leads = |(at, event): &(u32, Event)| match event {
            Event::Elected { leader, .. } => *leader == p(*at),
            Event::Deposed { .. } => false,
        };
        events(&mut cluster).iter().filter(|seen| leads(seen)).count()
    };
    for switch in [VariantId::AnswersSmaller, VariantId::EarlyEcho] {
        let found = (0..200).any(|seed| run(switch, &[p(1), p(3)], seed) == 2);
        assert!(found, "{switch:?}: two win one election");
    }
    assert!((0..200).any(|seed| run(VariantId::KeepsFirst, &[p(1), p(3)], seed) == 0));
}

#[test]
fn single_process_leads_without_messages() {
    let config = Config::with_graph(Graph::complete(1));
    let (mut cluster, beliefs) =
        elect::<EchoElection>(1, ChannelOrder::Fifo, config, &[p(1)], 0, 0);
    assert_eq!((cluster.total_sent(), beliefs), (0, vec![Some(p(1))]));
    assert_eq!(unchecked_beliefs(&mut cluster), [None], "all events were read");
}
