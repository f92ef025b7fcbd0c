//! D. S. Hirschberg, J. B. Sinclair, *Decentralized extrema-finding in circular configurations
//! of processors*, CACM 23(11), 1980.

use tenure_algorithms::election::HirschbergSinclair;
use tenure_algorithms::election::hirschberg_sinclair::{Config, Message};
use tenure_core::service::election::Command;
use tenure_core::{Algorithm, ChannelOrder};

use crate::support::election::{
    all_processes, beliefs, check_with_duplicates, elect, process_with_id, ranks, shuffled,
};
use crate::support::{command_and_drain, events, p};
use tenure_trace::{SplitMix64, TestCluster};

fn ring(ids: &[u32]) -> Config {
    Config::with_ranks(ranks(ids))
}

fn cluster(ids: &[u32]) -> TestCluster<HirschbergSinclair> {
    TestCluster::with_same_config(ids.len() as u32, ChannelOrder::Fifo, ring(ids))
}

/// Starts all processes at the same time. Returns the numbers of messages and of candidates in each
/// phase.
fn by_phase(ids: &[u32]) -> (Vec<u64>, Vec<u64>) {
    let mut cluster = cluster(ids);
    all_processes(cluster.size())
        .into_iter()
        .for_each(|at| cluster.issue_command(at, Command::Elect));
    let (mut messages, mut candidates) = (vec![0; 16], vec![0; 16]);
    while let Some(link) = cluster.links_in_use().first().copied() {
        match cluster.messages_on_link(link)[0] {
            Message::Probe { phase, hops, .. } => {
                messages[usize::from(*phase)] += 1;
                candidates[usize::from(*phase)] += u64::from(*hops == 1);
            }
            Message::Reply { phase, .. } => messages[usize::from(*phase)] += 1,
            Message::Elected { .. } => {}
        }
        cluster.deliver_at(link, 0);
    }
    messages.retain(|count| *count > 0);
    candidates.retain(|count| *count > 0);
    (messages, candidates.iter().map(|probes| probes / 2).collect())
}

/// With eight processes, an election has the phases 0 to 3. In phase 3, the probes of the winner
/// travel 2³ = N hops, so they return to the winner.
#[test]
fn largest_of_eight_wins_in_phase_three() {
    for seed in 0..200 {
        let ids = shuffled(8, seed);
        let (_, beliefs) = elect::<HirschbergSinclair>(
            8,
            ChannelOrder::Fifo,
            ring(&ids),
            &all_processes(8),
            0,
            seed,
        );
        assert_eq!(beliefs, [process_with_id(8, &ids); 8]);
        let (messages, candidates) = by_phase(&ids);
        assert_eq!(candidates.len(), 4, "phases 0 to 3");
        assert_eq!((candidates[0], candidates[3]), (8, 1));
        assert_eq!((messages[0], messages[3]), (3 * 8, 2 * 8));
    }
}

/// After each phase, the distance between any two candidates is larger than the reach of the probes
/// in this phase. The reach grows from phase to phase, so the number of candidates decreases.
#[test]
fn candidates_decrease_as_neighbourhoods_grow() {
    for size in 2..=40_u64 {
        for seed in 0..20 {
            let ids = shuffled(size as u32, seed);
            let (messages, candidates) = by_phase(&ids);
            assert_eq!(1 << (candidates.len() - 1), size.next_power_of_two());
            // Phase 0 costs 3 messages per candidate. The formula 2^(k + 1) for phase k would give
            // only 2.
            assert!(size == 2 || messages[0] == 3 * candidates[0], "{ids:?}");
            for phase in 1..candidates.len() {
                let most = size / ((1 << (phase - 1)) + 1);
                assert!(candidates[phase] <= most, "{ids:?} phase {phase}");
                assert!(messages[phase] <= 4 * (1 << phase) * candidates[phase]);
            }
        }
    }
    // With six processes, two are candidates in phase 2. The formula n/2^k for phase k would give
    // only 1.5 candidates.
    assert_eq!(by_phase(&[6, 1, 2, 5, 3, 4]).1, [6, 2, 2, 1]);
}

#[test]
fn card_is_below_the_bound_of_the_paper() {
    for size in 2..=1024_u32 {
        let (n, log) = (u64::from(size), u64::from(size.next_power_of_two().ilog2()));
        let most = HirschbergSinclair::card(&Config::with_defaults(size), size).messages.most;
        assert!(most.is_some_and(|most| most < 8 * n * (log + 2) + 5 * n), "{size}: {most:?}");
    }
}

#[test]
fn probes_carry_direction_on_ring_of_two() {
    let (cluster, beliefs) = elect::<HirschbergSinclair>(
        2,
        ChannelOrder::Reordered,
        ring(&[1, 2]),
        &all_processes(2),
        0,
        1,
    );
    assert_eq!(beliefs, [Some(p(2)); 2]);
    assert_eq!((cluster.sent_count("probe"), cluster.sent_count("reply")), (4 + 4, 2));
}

#[test]
fn single_process_leads_without_messages() {
    let (cluster, beliefs) =
        elect::<HirschbergSinclair>(1, ChannelOrder::Fifo, ring(&[1]), &[p(1)], 0, 1);
    assert_eq!((cluster.total_sent(), beliefs), (0, vec![Some(p(1))]));
}

/// Only one process starts the election. If a probe reaches a process with a larger rank, this
/// process drops the probe and starts an election itself. If this process did not start an
/// election, no process would ever lead.
#[test]
fn swallowing_a_probe_starts_the_process() {
    for at in 1..=4 {
        let ids = [4, 1, 3, 2];
        let (_, beliefs) =
            elect::<HirschbergSinclair>(4, ChannelOrder::Fifo, ring(&ids), &[p(at)], 0, 1);
        assert_eq!(beliefs, [Some(p(1)); 4], "P{at} starts");
    }
}

#[test]
fn duplicates_and_reordering_do_not_change_the_leader() {
    check_with_duplicates::<HirschbergSinclair>((6, 5), ChannelOrder::Reordered, ring);
}

#[test]
fn leftover_probes_do_not_start_another_election() {
    let mut cluster = cluster(&[3, 2, 1]);
    cluster.issue_command(p(1), Command::Elect);
    cluster.issue_command(p(3), Command::Elect);
    // P3's probe to P2 arrives after all other messages. P2 has a larger rank, and has not started.
    let slow = (p(3), p(2));
    loop {
        let others = cluster.links_in_use().into_iter().find(|link| *link != slow);
        match others {
            Some(link) => cluster.deliver_at(link, 0),
            None if cluster.messages_on_link((p(3), p(2))).len() > 1 => {
                cluster.deliver_at((p(3), p(2)), 1)
            }
            None => break,
        }
    }
    assert_eq!(beliefs(&mut cluster), [Some(p(1)); 3]);
    let sent = cluster.total_sent();
    cluster.deliver_at((p(3), p(2)), 0);
    assert_eq!(cluster.total_sent(), sent, "the election is over: P2 does not start");
    command_and_drain(&mut cluster, 3, Command::Elect);
    assert_eq!(cluster.sent_count("elected"), 6, "it takes part in the next one");
}

#[test]
fn joins_known_election_and_starts_once() {
    let mut cluster = cluster(&[3, 2, 1]);
    cluster.issue_command(p(1), Command::Elect);
    cluster.deliver_at((p(1), p(2)), 0);
    let probes = cluster.sent_count("probe");
    cluster.issue_command(p(2), Command::Elect);
    assert_eq!(cluster.sent_count("probe"), probes + 2, "both ways");
    cluster.issue_command(p(2), Command::Elect);
    cluster.issue_command(p(1), Command::Elect);
    assert_eq!(cluster.sent_count("probe"), probes + 2);
}

#[test]
fn reply_of_earlier_phase_is_ignored() {
    let mut cluster = cluster(&[5, 1, 2, 3, 4]);
    cluster.issue_command(p(1), Command::Elect);
    for neighbour in [2, 5] {
        cluster.deliver_at((p(1), p(neighbour)), 0);
        cluster.duplicate_oldest((p(neighbour), p(1)));
        cluster.deliver_at((p(neighbour), p(1)), 0);
    }
    let probes = cluster.sent_count("probe");
    for neighbour in [2, 5] {
        cluster.deliver_at((p(neighbour), p(1)), 0);
    }
    assert_eq!(cluster.sent_count("probe"), probes);
}

#[test]
fn duplicate_announcement_is_reported_once() {
    let mut cluster = cluster(&[3, 2, 1]);
    cluster.issue_command(p(1), Command::Elect);
    while cluster.sent_count("elected") == 0 {
        let (from, to) = cluster.links_in_use()[0];
        cluster.deliver_at((from, to), 0);
    }
    cluster.duplicate_oldest((p(1), p(2)));
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(events(&mut cluster).len(), 3);
}

/// Compares the upper bound on the card with the paper. For eight processes the paper counts at
/// most 112 messages: 24 in phase 0, 4 · 8 in phase 1, 2 · 16 in phase 2, 16 in phase 3, and 8 for
/// the announcement. In phases 1 and 2 the first factor is the number of candidates.
#[test]
fn card_matches_the_count_of_the_paper() {
    let bounds = |size| {
        let cost = HirschbergSinclair::card(&Config::with_defaults(size), size).messages;
        (cost.least, cost.most)
    };
    assert_eq!(bounds(1), (0, Some(0)));
    assert_eq!(bounds(4), (24, Some(40)));
    assert_eq!(bounds(8), (52, Some(112)));
}
