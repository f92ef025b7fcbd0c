//! G. L. Peterson, *An O(n log n) unidirectional algorithm for the circular extrema problem*, ACM
//! TOPLAS 4(4), 1982.

use tenure_algorithms::Variants;
use tenure_algorithms::election::peterson::{Config, Message, VariantId};
use tenure_algorithms::election::{DolevKlaweRodeh, Peterson, dolev_klawe_rodeh};
use tenure_core::service::election::Command;
use tenure_core::{Algorithm, ChannelOrder, ProcessId};

use crate::support::election::{
    all_processes, beliefs, check_constant_cost, check_with_duplicates, elect, process_with_id,
    ranks, shuffled, unchecked_beliefs,
};
use crate::support::{command_and_drain, p, permutations};
use tenure_trace::{SplitMix64, TestCluster};

fn ring(ids: &[u32]) -> Config {
    Config::with_ranks(ranks(ids), Variants::none())
}

/// Starts all processes at the same time. Returns the number of phases, the number of messages
/// without the announcement, and the process that announces.
fn run(ids: &[u32], seed: u64) -> (u32, u64, ProcessId) {
    let size = ids.len() as u32;
    let mut cluster =
        TestCluster::<Peterson>::with_same_config(size, ChannelOrder::Fifo, ring(ids));
    all_processes(size).into_iter().for_each(|at| cluster.issue_command(at, Command::Elect));
    let (mut phases, mut announcer) = (0, None);
    let mut rng = SplitMix64(seed);
    while let Some(link) = rng.pick(&cluster.links_in_use()).copied() {
        match cluster.messages_on_link(link)[0] {
            Message::First { phase, .. } | Message::Second { phase, .. } => {
                phases = phases.max(*phase);
            }
            Message::Elected { .. } => drop(announcer.get_or_insert(link.0)),
        }
        cluster.deliver(link, &mut rng);
    }
    let leader = process_with_id(size, ids);
    assert_eq!(beliefs(&mut cluster), vec![leader; ids.len()], "{ids:?} seed {seed}");
    assert_eq!(cluster.sent_count("elected"), u64::from(size), "the announcement");
    (phases, cluster.total_sent() - u64::from(size), announcer.expect("an announcement was sent"))
}

/// Returns the number of messages that the algorithm of Dolev, Klawe and Rodeh sends on a ring with
/// the ids `ids`, without the announcement.
fn twin(ids: &[u32]) -> u64 {
    let (size, config) = (ids.len() as u32, dolev_klawe_rodeh::Config::with_ranks(ranks(ids)));
    let (cluster, _) = elect::<DolevKlaweRodeh>(size, ChannelOrder::Fifo, config, &[p(1)], 0, 0);
    cluster.total_sent() - u64::from(size)
}

#[test]
fn costs_at_most_two_laps_per_phase() {
    for size in 2..=6_u32 {
        let cost = Peterson::card(&Config::with_defaults(size), size).messages;
        let mut seed = 0;
        permutations(size, |ids| {
            seed += 1;
            let (phases, messages, _) = run(ids, seed);
            let (n, log) = (u64::from(size), u64::from(size.ilog2()));
            assert!(phases <= size.ilog2() + 1, "{ids:?}: {phases} phases");
            assert!(messages < 2 * n * log + n, "{ids:?}: {messages} messages");
            assert!(messages >= 3 * n - 1, "{ids:?}: {messages} messages");
            assert!(cost.least <= messages + n && Some(messages + n) <= cost.most, "{ids:?}");
        });
    }
}

#[test]
fn needs_fewer_messages_than_dolev_klawe_rodeh_on_every_ring() {
    for size in 2..=6_u32 {
        permutations(size, |ids| {
            let (_, messages, _) = run(ids, 1);
            assert!(messages < twin(ids), "{ids:?}");
        });
    }
}

/// Every process compares received ranks with its own rank. So the process with the largest rank
/// notices when its own rank arrives, and announces itself.
#[test]
fn announcer_owns_the_largest_rank() {
    for size in 2..=6_u32 {
        permutations(size, |ids| {
            let (.., announcer) = run(ids, 1);
            assert_eq!(Some(announcer), process_with_id(size, ids), "{ids:?}");
        });
    }
}

#[test]
fn bound_on_phases_is_tight_for_eight_processes() {
    let most = (0..2000).map(|seed| run(&shuffled(8, seed), seed).0);
    assert_eq!(most.max(), Some(4));
}

#[test]
fn cost_is_independent_of_schedule_and_initiators() {
    check_constant_cost::<Peterson>(ChannelOrder::Fifo, ring, |ids| run(ids, 0).1 + 5);
}

#[test]
fn single_process_leads_without_messages() {
    let (cluster, beliefs) = elect::<Peterson>(1, ChannelOrder::Fifo, ring(&[7]), &[p(1)], 0, 0);
    assert_eq!((cluster.total_sent(), beliefs), (0, vec![Some(p(1))]));
}

#[test]
fn later_election_has_the_same_leader() {
    let (mut cluster, _) =
        elect::<Peterson>(3, ChannelOrder::Fifo, ring(&[2, 3, 1]), &[p(1)], 0, 0);
    let first = cluster.total_sent();
    command_and_drain(&mut cluster, 3, Command::Elect);
    assert_eq!(cluster.total_sent(), 2 * first);
    assert_eq!(beliefs(&mut cluster), [Some(p(2)); 3]);
}

#[test]
fn duplicates_do_not_change_the_leader() {
    check_with_duplicates::<Peterson>((5, 4), ChannelOrder::Fifo, ring);
}

/// Runs an election under a variant with a known mistake, and stops it after `most` messages.
fn mistaken(ids: &[u32], mistake: VariantId, most: u64) -> TestCluster<Peterson> {
    let config = Config { variants: Variants::none().with(mistake), ..ring(ids) };
    let mut cluster = TestCluster::with_same_config(ids.len() as u32, ChannelOrder::Fifo, config);
    all_processes(ids.len() as u32)
        .into_iter()
        .for_each(|at| cluster.issue_command(at, Command::Elect));
    while let Some(link) = cluster.links_in_use().first().copied()
        && cluster.total_sent() < most
    {
        cluster.deliver(link, &mut SplitMix64(0));
    }
    cluster
}

#[test]
fn strict_comparison_leaves_only_relays() {
    permutations(4, |ids| {
        let mut cluster = mistaken(ids, VariantId::Strict, 100);
        assert_eq!(unchecked_beliefs(&mut cluster), [None; 4], "{ids:?}");
        assert_eq!(cluster.total_sent(), 8, "{ids:?}");
    });
}

#[test]
fn deaf_relays_never_find_the_winner() {
    let mut cluster = mistaken(&[1, 2, 3], VariantId::DeafRelay, 100);
    assert_eq!(unchecked_beliefs(&mut cluster), [None; 3]);
    assert!(cluster.total_sent() >= 100, "the only active process sends its candidate for ever");
}

/// An active process of Peterson's algorithm sends its candidate, and then the larger of its own
/// candidate and the received candidate. With the variant `own-second`, it sends its own candidate
/// twice. A process can then lead although its rank is not the largest.
#[test]
fn own_candidate_as_second_message_elects_a_smaller_rank() {
    let mut cluster = mistaken(&[1, 3, 2], VariantId::OwnSecond, 100);
    assert_eq!(beliefs(&mut cluster), [Some(p(3)); 3]);
    let (_, sound) = elect::<Peterson>(3, ChannelOrder::Fifo, ring(&[1, 3, 2]), &[p(1)], 0, 0);
    assert_eq!(sound, [Some(p(2)); 3]);
}
