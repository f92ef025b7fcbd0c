//! M. Maekawa, *A √N algorithm for mutual exclusion in decentralized systems*, TOCS 3(2), 1985;
//! B. A. Sanders, *The information structure of distributed mutual exclusion algorithms*, TOCS
//! 5(3), 1987.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::maekawa::{Config, Message, VariantId};
use tenure_algorithms::mutex::{Maekawa, NumberedRequest};
use tenure_core::quorum::QuorumKind;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, ChannelOrder, Timestamp};

use crate::support::mutex::{NONE, Plan, check_seeds, entered, run};
use crate::support::{command_and_drain, p};
use tenure_trace::{SplitMix64, TestCluster};

const SYSTEMS: [(QuorumKind, u32); 8] = [
    (QuorumKind::Pairs, 3),
    (QuorumKind::Plane, 7),
    (QuorumKind::Grid, 1),
    (QuorumKind::Grid, 4),
    (QuorumKind::Grid, 5),
    (QuorumKind::Grid, 9),
    (QuorumKind::Majority, 5),
    (QuorumKind::Tree, 7),
];

fn config(kind: QuorumKind, size: u32) -> Config {
    Config::with_quorum_kind(kind, size).unwrap()
}

fn with(switch: VariantId, config: Config) -> Config {
    Config { variants: Variants::none().with(switch), ..config }
}

fn plan(order: ChannelOrder, entries: u32, size: u32) -> Plan {
    Plan::of(order, &vec![entries; size as usize])
}

/// Returns the number of seeds whose run ends in a violation or deadlock.
fn failures(config: &Config, order: ChannelOrder, entries: u32, seeds: u64) -> usize {
    let plan = plan(order, entries, config.quorums.size());
    let run = |seed| run::<Maekawa>(config.clone(), &plan.seeded(seed));
    (0..seeds).filter(|seed| run(*seed).is_err()).count()
}

#[test]
fn uncontended_entry_costs_three_messages_per_voter() {
    let costs = [
        (QuorumKind::Pairs, 3, 3),
        (QuorumKind::Plane, 7, 6),
        (QuorumKind::Grid, 4, 6),
        (QuorumKind::Grid, 9, 12),
        (QuorumKind::Grid, 16, 18),
    ];
    for (kind, size, messages) in costs {
        let mut cluster =
            TestCluster::<Maekawa>::with_same_config(size, ChannelOrder::Fifo, config(kind, size));
        for at in 1..=size {
            let before = cluster.total_sent();
            command_and_drain(&mut cluster, at, Command::Enter);
            assert_eq!(entered(&mut cluster), [at]);
            command_and_drain(&mut cluster, at, Command::Exit);
            assert_eq!(cluster.total_sent() - before, messages, "{kind:?} {size}");
        }
        assert_eq!(Maekawa::card(&config(kind, size), size).messages.least, messages);
    }
}

#[test]
fn contended_entry_costs_at_most_six_messages_per_voter() {
    for (kind, size) in SYSTEMS {
        let config = config(kind, size);
        let cost = Maekawa::card(&config, size).messages;
        for seed in 0..200 {
            let plan = plan(ChannelOrder::Fifo, 2, size).seeded(seed);
            let outcome = run::<Maekawa>(config.clone(), &plan).unwrap();
            let range = cost.least * outcome.entries..=cost.most.unwrap() * outcome.entries;
            assert!(range.contains(&outcome.messages), "{kind:?} {size} seed {seed}");
        }
    }
}

#[test]
fn duplicates_are_harmless() {
    for (kind, size) in SYSTEMS {
        let plan = plan(ChannelOrder::Fifo, 2, size).duplicating(4);
        check_seeds::<Maekawa>(&config(kind, size), &plan, 100);
    }
}

#[test]
fn basic_algorithm_deadlocks() {
    let mut cluster = TestCluster::with_same_config(
        3,
        ChannelOrder::Fifo,
        with(VariantId::Basic, config(QuorumKind::Pairs, 3)),
    );
    (1..=3).for_each(|at| cluster.issue_command(p(at), Command::Enter));
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered::<Maekawa>(&mut cluster), NONE);
    assert_eq!(cluster.total_sent(), 3);
}

#[test]
fn original_algorithm_is_correct_on_pairs() {
    let original = with(VariantId::Original1985, config(QuorumKind::Pairs, 3));
    assert_eq!(failures(&original, ChannelOrder::Fifo, 2, 3000), 0);
}

#[test]
fn original_deadlocks_on_grid_and_correction_does_not() {
    let grid = config(QuorumKind::Grid, 4);
    assert!(
        failures(&with(VariantId::Original1985, grid.clone()), ChannelOrder::Fifo, 1, 3000) > 0
    );
    assert_eq!(failures(&grid, ChannelOrder::Fifo, 1, 3000), 0);
}

#[test]
fn needs_fifo_channels() {
    assert!(failures(&config(QuorumKind::Grid, 4), ChannelOrder::Reordered, 2, 1000) > 0);
}

#[test]
fn next_entry_takes_a_release_and_a_vote() {
    let mut cluster = TestCluster::<Maekawa>::with_same_config(
        3,
        ChannelOrder::Fifo,
        config(QuorumKind::Pairs, 3),
    );
    command_and_drain(&mut cluster, 1, Command::Enter);
    // P2 needs the votes of P2 and P3. P3's vote is free, but P1 has P2's vote.
    command_and_drain(&mut cluster, 2, Command::Enter);
    assert_eq!(entered(&mut cluster), [1]);
    cluster.issue_command(p(1), Command::Exit);
    cluster.deliver_at((p(1), p(2)), 0);
    assert_eq!(entered(&mut cluster), [2], "P2's vote for itself is no message");
}

#[test]
fn vote_for_ended_request_is_returned() {
    let mut cluster = TestCluster::<Maekawa>::with_same_config(
        3,
        ChannelOrder::Fifo,
        config(QuorumKind::Pairs, 3),
    );
    let ballot = NumberedRequest { request: Timestamp { clock: 9, process: p(1) }, number: 1 };
    cluster.inject_and_deliver(p(2), p(1), Message::Locked { ballot, fence: 0 });
    assert_eq!(
        (cluster.messages_on_link((p(1), p(2))).len(), cluster.sent_count("release")),
        (1, 1)
    );
}

#[test]
fn old_vote_does_not_serve_next_request() {
    let mut cluster = TestCluster::<Maekawa>::with_same_config(
        3,
        ChannelOrder::Fifo,
        config(QuorumKind::Pairs, 3),
    );
    cluster.issue_command(p(3), Command::Enter);
    let request = Timestamp { clock: 1, process: p(3) };
    let ballot = |number| NumberedRequest { request, number };
    cluster.inject_and_deliver(p(1), p(3), Message::Locked { ballot: ballot(1), fence: 0 });
    assert_eq!(entered(&mut cluster), [3]);
    cluster.issue_command(p(3), Command::Exit);
    command_and_drain(&mut cluster, 2, Command::Enter);
    cluster.issue_command(p(3), Command::Enter);
    cluster.inject_and_deliver(p(1), p(3), Message::Locked { ballot: ballot(1), fence: 0 });
    assert_eq!(entered(&mut cluster), [2]);
}

#[test]
fn duplicate_vote_has_no_effect() {
    let mut cluster = TestCluster::<Maekawa>::with_same_config(
        4,
        ChannelOrder::Fifo,
        config(QuorumKind::Grid, 4),
    );
    cluster.issue_command(p(1), Command::Enter);
    let request = Timestamp { clock: 1, process: p(1) };
    let ballot = NumberedRequest { request, number: 1 };
    let vote = || Message::Locked { ballot, fence: 0 };
    cluster.inject_and_deliver(p(2), p(1), vote());
    cluster.inject_and_deliver(p(2), p(1), Message::Inquire { ballot });
    cluster.inject_and_deliver(p(2), p(1), vote());
    cluster.inject_and_deliver(p(3), p(1), Message::Failed { request });
    assert_eq!(cluster.sent_count("relinquish"), 1, "the voter inquired, and P1 has failed");
    cluster.inject_and_deliver(p(2), p(1), vote());
    cluster.inject_and_deliver(p(3), p(1), vote());
    assert_eq!(entered(&mut cluster), NONE, "P2 has its vote back");
}
