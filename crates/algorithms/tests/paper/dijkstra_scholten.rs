//! Termination detection of Dijkstra and Scholten: messages of the computation build a tree, which
//! shrinks as work ends.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::DijkstraScholten;
use tenure_algorithms::agreement::dijkstra_scholten::{Config, Message, Timer, VariantId};
use tenure_core::monitors::NoFalseTermination;
use tenure_core::service::termination::{Command, Event};
use tenure_core::{ChannelOrder, Monitor, ProcessId};
use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

use crate::support::mutex::NONE;
use crate::support::{p, pass_all, processes_with};

/// Returns a cluster in which process *i* passes work to `shares[i]` of its successors.
fn cluster(size: u32, shares: impl Into<Vec<u32>>) -> TestCluster<DijkstraScholten> {
    let config = Config { successor_counts: shares.into(), ..Config::default() };
    TestCluster::with_same_config(size, ChannelOrder::Reordered, config)
}

fn finish_work(cluster: &mut TestCluster<DijkstraScholten>, at: u32, of: u32) {
    cluster.fire_timer(p(at), Timer::Done { of: p(of) });
}

fn ended(cluster: &mut TestCluster<DijkstraScholten>) -> Vec<u32> {
    processes_with(cluster, |event| *event == Event::Terminated)
}

/// Lets each of the first `roots` processes start a computation, and runs them in a random
/// schedule. Returns the number of reported terminations. A violation is returned as an error.
fn run(size: u32, config: Config, roots: u32, seed: u64) -> Result<u32, String> {
    let mut cluster =
        TestCluster::<DijkstraScholten>::with_same_config(size, ChannelOrder::Reordered, config);
    for root in 1..=roots {
        cluster.issue_command(p(root), Command::Compute { generations: 4 });
    }
    let (mut monitor, mut rng, mut ended) = (NoFalseTermination::default(), SplitMix64(seed), 0);
    loop {
        for (at, seen) in cluster.take_events() {
            monitor.observe(at, seen.to_observation()).map_err(|violation| violation.message)?;
            ended += u32::from(matches!(seen, ProcessEvent::Event(Event::Terminated)));
        }
        let (links, timers) = (cluster.links_in_use(), cluster.armed_timers());
        if links.is_empty() && timers.is_empty() {
            let is_engaged = |at: ProcessId| {
                let engaged = |of| cluster.process(at).is_some_and(|it| it.is_engaged(p(of)));
                (1..=roots).any(engaged)
            };
            let engaged = cluster.process_ids().into_iter().find(|at| is_engaged(*at));
            assert_eq!(engaged, None, "seed {seed}: it is still engaged");
            let sent = ["work", "signal"].map(|kind| cluster.sent_count(kind));
            assert_eq!(sent[0], sent[1], "seed {seed}: every message is answered once");
            return Ok(ended);
        }
        let choice = rng.below(links.len() + timers.len());
        match links.get(choice) {
            Some(link) => cluster.deliver(*link, &mut rng),
            None => {
                let (at, timer) = timers[choice - links.len()];
                cluster.fire_timer(at, timer);
            }
        }
    }
}

#[test]
fn computation_without_new_work_ends_at_once() {
    let mut cluster = cluster(3, [0, 0, 0]);
    cluster.issue_command(p(2), Command::Compute { generations: 2 });
    assert_eq!(ended(&mut cluster), NONE);
    finish_work(&mut cluster, 2, 2);
    assert_eq!(ended(&mut cluster), [2]);
    assert_eq!(cluster.total_sent(), 0);
}

#[test]
fn answers_parent_last_and_others_at_once() {
    // P1 gives work to P2 and P3; P2 gives work to P3, which already works.
    let mut cluster = cluster(3, [2, 1, 0]);
    cluster.issue_command(p(1), Command::Compute { generations: 2 });
    finish_work(&mut cluster, 1, 1);
    pass_all(&mut cluster, &[(1, 3), (1, 2)]);
    finish_work(&mut cluster, 2, 1);
    let signal = Message::Signal { of: p(1) };
    assert_eq!(cluster.messages_on_link((p(2), p(1))).len(), 0, "P3 has not answered P2");
    cluster.deliver_at((p(2), p(3)), 0);
    assert_eq!(cluster.messages_on_link((p(3), p(2))), [&signal]);
    cluster.deliver_at((p(3), p(2)), 0);
    assert_eq!(cluster.messages_on_link((p(2), p(1))), [&signal]);
    cluster.deliver_at((p(2), p(1)), 0);
    assert_eq!(ended(&mut cluster), NONE, "P3 works");
    finish_work(&mut cluster, 3, 1);
    assert!(cluster.messages_on_link((p(3), p(1))).is_empty(), "it has another piece of work");
    finish_work(&mut cluster, 3, 1);
    cluster.deliver_at((p(3), p(1)), 0);
    assert_eq!(ended(&mut cluster), [1]);
}

#[test]
fn process_may_rejoin_the_tree_elsewhere() {
    // P1 gives work to P2 and P3. P2 ends its work and leaves the tree. Then P3 gives work to P1,
    // and P1 gives work to P2 again.
    let mut cluster = cluster(3, [2, 0, 1]);
    cluster.issue_command(p(1), Command::Compute { generations: 3 });
    finish_work(&mut cluster, 1, 1);
    cluster.deliver_at((p(1), p(2)), 0);
    finish_work(&mut cluster, 2, 1);
    cluster.deliver_at((p(1), p(3)), 0);
    finish_work(&mut cluster, 3, 1);
    cluster.deliver_at((p(3), p(1)), 0);
    finish_work(&mut cluster, 1, 1);
    let engaged = |cluster: &TestCluster<DijkstraScholten>| {
        cluster.process(p(2)).is_some_and(|it| it.is_engaged(p(1)))
    };
    assert!(!engaged(&cluster));
    cluster.deliver_at((p(1), p(2)), 0);
    assert!(engaged(&cluster));
    cluster.run_until_quiescent();
    assert_eq!(ended(&mut cluster), [1]);
}

#[test]
fn initiators_learn_of_termination() {
    for seed in 0..500 {
        let size = 1 + seed as u32 % 6;
        let roots = 1 + seed as u32 % size;
        assert_eq!(run(size, Config::default(), roots, seed), Ok(roots), "seed {seed}");
    }
}

#[test]
fn each_mistake_is_caught() {
    for switch in [VariantId::EarlySignal, VariantId::OneForAll] {
        let config = Config { variants: Variants::none().with(switch), ..Config::default() };
        let found = (0..500).find_map(|seed| run(3, config.clone(), 1, seed).err());
        assert!(found.is_some_and(|error| error.contains("left")), "{switch:?}");
    }
}
