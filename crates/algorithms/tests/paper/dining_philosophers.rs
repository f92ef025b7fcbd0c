//! Dining philosophers: K. M. Chandy, J. Misra, ACM TOPLAS 6(4), 1984.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::DiningPhilosophers;
use tenure_algorithms::mutex::dining_philosophers::{Config, VariantId};
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder, Graph, ProcessId, Property};

use crate::support::graphs::connected_graphs;
use crate::support::mutex::{NONE, Outcome, Plan, enter_and_exit, entered, run_as};
use crate::support::{command_and_settle, p};
use tenure_trace::TestCluster;

fn cluster(graph: Graph) -> TestCluster<DiningPhilosophers> {
    TestCluster::with_same_config(
        graph.vertex_count(),
        ChannelOrder::Reordered,
        Config::with_graph(graph),
    )
}

fn run(config: Config, times: u32, seed: u64) -> Result<Outcome, String> {
    let size = config.graph.vertex_count();
    let card = DiningPhilosophers::card(&config, size);
    let plan = Plan::of(ChannelOrder::Reordered, &vec![times; size as usize]).seeded(seed);
    run_as::<DiningPhilosophers>(&card, config, &plan)
}

/// For each entry, a philosopher and its neighbour exchange at most one request and one fork.
#[test]
fn neighbours_exclude_each_other_on_all_graphs_up_to_five() {
    for size in 1..=5 {
        for (seed, graph) in (0..).zip(connected_graphs(size)) {
            let config = Config::with_graph(graph.clone());
            let outcome = run(config, 3, seed).unwrap_or_else(|error| panic!("{graph:?}: {error}"));
            assert_eq!(outcome.entries, u64::from(3 * size), "{graph:?}");
            assert!(outcome.messages <= 3 * 2 * 2 * graph.edge_count() as u64, "{graph:?}");
        }
    }
}

#[test]
fn all_forks_at_hand_cost_no_message() {
    let mut cluster = cluster(Graph::ring(5));
    let costs = [1, 1, 2, 2, 1, 5, 4].map(|at| enter_and_exit(&mut cluster, at));
    // P2 lacks only the fork that it shares with P1. When P2 has entered, P1 lacks this fork. P5
    // and P4 each lack both of their forks.
    assert_eq!(costs, [0, 0, 2, 0, 2, 4, 4]);
}

#[test]
fn request_and_fork_for_each_missing_fork() {
    for size in 2..=6 {
        let mut cluster = cluster(Graph::complete(size));
        assert_eq!(enter_and_exit(&mut cluster, size), 2 * u64::from(size - 1));
        assert_eq!(enter_and_exit(&mut cluster, 1), 2, "only the last process has taken a fork");
    }
}

/// Every second process of a ring is inside the critical section at the same time.
#[test]
fn processes_without_common_edge_are_inside_together() {
    let mut cluster = cluster(Graph::ring(6));
    for at in [1, 3, 5] {
        command_and_settle(&mut cluster, at, Command::Enter);
    }
    assert_eq!(entered(&mut cluster), [1, 3, 5]);
    (1..=3).for_each(|half| cluster.issue_command(p(2 * half), Command::Enter));
    cluster.run_until_quiescent();
    assert_eq!(entered(&mut cluster), NONE);
    for at in [1, 3, 5] {
        command_and_settle(&mut cluster, at, Command::Exit);
    }
    let mut others = entered(&mut cluster);
    others.sort_unstable();
    assert_eq!(others, [2, 4, 6]);
}

#[test]
fn clean_fork_is_kept_and_dirty_fork_is_yielded() {
    let mut cluster = cluster(Graph::line(3));
    // The fork that P2 shares with P3 is dirty, so P2 yields it to P3. The fork that P2 receives
    // from P1 is clean, so P2 keeps it.
    command_and_settle(&mut cluster, 3, Command::Enter);
    command_and_settle(&mut cluster, 2, Command::Enter);
    command_and_settle(&mut cluster, 1, Command::Enter);
    assert_eq!(entered(&mut cluster), [3], "P2 keeps the clean fork of P1 and waits for P3");
    command_and_settle(&mut cluster, 3, Command::Exit);
    assert_eq!(entered(&mut cluster), [2]);
    command_and_settle(&mut cluster, 2, Command::Exit);
    assert_eq!(entered(&mut cluster), [1]);
}

/// P1 has the fork, and enters again and again while the request of P2 is in transit. Once P1 has
/// received the request, it does not enter before P2.
#[test]
fn bypass_ends_when_the_request_arrives() {
    let mut cluster = cluster(Graph::line(2));
    cluster.issue_command(p(2), Command::Enter);
    for _ in 0..5 {
        cluster.issue_command(p(1), Command::Enter);
        cluster.issue_command(p(1), Command::Exit);
    }
    assert_eq!(entered(&mut cluster), [1; 5]);
    cluster.run_until_quiescent();
    command_and_settle(&mut cluster, 1, Command::Enter);
    assert_eq!(entered(&mut cluster), [2]);
}

#[test]
fn card_names_the_graph_and_its_largest_degree() {
    let star = Config::with_graph(Graph::star(5));
    let card = DiningPhilosophers::card(&star, 5);
    assert_eq!(card.promises, [Property::LocalMutualExclusion, Property::StarvationFreedom]);
    assert_eq!((card.messages.least, card.messages.most), (0, Some(8)));
    assert_eq!(card.conflict_graph().map(|graph| graph.degree(ProcessId(0))), Some(4));
    assert_eq!((card.max_inside(), card.is_fenced()), (5, false));
}

/// If the initial forks form a cycle of precedence, the philosophers may deadlock. The algorithm
/// starts without such a cycle.
#[test]
fn initial_forks_in_a_cycle_deadlock() {
    let variants = Variants::none().with(VariantId::CyclicStart);
    for size in [3, 4, 5] {
        let cyclic = || Config { variants, ..Config::with_graph(Graph::ring(size)) };
        let blocked = (0..2000).find_map(|seed| run(cyclic(), 1, seed).err());
        assert!(blocked.expect("a deadlock").contains("blocked"), "ring of {size}");
        let plain = || Config::with_graph(Graph::ring(size));
        assert!((0..200).all(|seed| run(plain(), 1, seed).is_ok()), "ring of {size}");
    }
    // A ring of two has no cycle.
    let pair = || Config { variants, ..Config::with_graph(Graph::ring(2)) };
    assert!((0..200).all(|seed| run(pair(), 2, seed).is_ok()));
}

#[test]
fn mistakes_violate_safety_or_block() {
    for (switch, expected) in [
        (VariantId::KeepsDirty, "blocked"),
        (VariantId::StaysClean, "blocked"),
        (VariantId::YieldsInside, "local-mutual-exclusion"),
        (VariantId::DropsRequest, "blocked"),
    ] {
        let variants = Variants::none().with(switch);
        let wrong = || Config { variants, ..Config::with_graph(Graph::ring(3)) };
        let found = (0..2000).filter_map(|seed| run(wrong(), 2, seed).err());
        assert!(found.into_iter().any(|error| error.contains(expected)), "{switch:?}");
    }
}
