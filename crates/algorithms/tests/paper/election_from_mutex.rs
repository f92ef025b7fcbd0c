//! An election made of a lock: the first process to enter leads.

use tenure_algorithms::mutex::{
    Central, Lamport, Maekawa, RicartAgrawala, central, lamport, maekawa, ricart_agrawala,
};
use tenure_algorithms::reduction::ElectionFromMutex;
use tenure_algorithms::reduction::election_from_mutex::Message;
use tenure_core::quorum::QuorumKind;
use tenure_core::service::election::{Command, Event};
use tenure_core::{Algorithm, ChannelOrder, Mutex, ProcessId, Property};

use crate::support::election::{all_processes, beliefs, elect};
use crate::support::{events, p};
use tenure_trace::{SplitMix64, TestCluster};

/// Starts an election at all processes, delivers messages in random order, and checks that all
/// processes agree on the leader. Returns the number of messages.
fn run_election<M: Mutex + Algorithm>(
    order: ChannelOrder,
    config: &M::Config,
    size: u32,
    seed: u64,
) -> u64 {
    let initiators = all_processes(size);
    let (cluster, beliefs) =
        elect::<ElectionFromMutex<M>>(size, order, config.clone(), &initiators, 0, seed);
    assert!(beliefs[0].is_some(), "{seed}");
    assert!(beliefs.iter().all(|belief| *belief == beliefs[0]), "{seed}: {beliefs:?}");
    cluster.total_sent()
}

#[test]
fn agrees_within_the_card_cost_for_any_lock() {
    fn within<M: Mutex + Algorithm>(order: ChannelOrder, config: &M::Config) {
        for seed in 0..200 {
            let size = 1 + (seed % 5) as u32;
            let cost = <ElectionFromMutex<M>>::card(config, size).messages;
            let sent = run_election::<M>(order, config, size, seed);
            assert!(sent >= cost.least && cost.most.is_none_or(|most| sent <= most), "{seed}");
        }
    }
    within::<Central>(ChannelOrder::Reordered, &central::Config::default());
    within::<Lamport>(ChannelOrder::Fifo, &lamport::Config::default());
    within::<RicartAgrawala>(ChannelOrder::Reordered, &ricart_agrawala::Config::default());
    let pairs = maekawa::Config::with_quorum_kind(QuorumKind::Pairs, 3).unwrap();
    (0..200)
        .for_each(|seed| assert!(run_election::<Maekawa>(ChannelOrder::Fifo, &pairs, 3, seed) > 0));
}

#[test]
fn election_costs_one_entry_and_an_announcement() {
    let central = central::Config::default();
    let cost = |initiator: ProcessId| {
        let config = central.clone();
        let (cluster, _) = elect::<ElectionFromMutex<Central>>(
            5,
            ChannelOrder::Reordered,
            config,
            &[initiator],
            0,
            1,
        );
        cluster.total_sent()
    };
    assert_eq!(cost(p(1)), 4, "at the coordinator: the announcement alone");
    assert_eq!(cost(p(4)), 2 + 4, "request and grant, and the announcement");
}

#[test]
fn next_candidate_follows_in_higher_term() {
    let config = ricart_agrawala::Config::default();
    let mut cluster = TestCluster::<ElectionFromMutex<RicartAgrawala>>::with_same_config(
        3,
        ChannelOrder::Fifo,
        config,
    );
    all_processes(3).into_iter().for_each(|at| cluster.issue_command(at, Command::Elect));
    cluster.deliver_all(&mut SplitMix64(1));
    let (mut terms, mut leaders) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let elected = events(&mut cluster).into_iter().rev().find_map(|(_, event)| match event {
            Event::Elected { leader, term } => Some((leader, term)),
            Event::Deposed { .. } => None,
        });
        let (leader, term) = elected.expect("a leader is elected");
        terms.push(term);
        leaders.push(leader);
        cluster.issue_command(leader, Command::Resign);
        cluster.deliver_all(&mut SplitMix64(1));
    }
    assert!(terms.is_sorted_by(|earlier, later| earlier < later), "{terms:?}");
    leaders.sort_unstable();
    assert_eq!(leaders, all_processes(3), "each of them in turn");
}

#[test]
fn overtaken_announcement_is_ignored() {
    let config = central::Config::default();
    let mut cluster = TestCluster::<ElectionFromMutex<Central>>::with_same_config(
        3,
        ChannelOrder::Reordered,
        config,
    );
    cluster.issue_command(p(1), Command::Elect);
    cluster.issue_command(p(2), Command::Elect);
    let link = (p(1), p(3));
    let late = cluster.messages_on_link(link)[0].clone();
    assert!(matches!(late, Message::Elected { .. }), "P1 enters at once and announces itself");
    cluster.lose_oldest(link);
    cluster.deliver_all(&mut SplitMix64(1));
    cluster.issue_command(p(1), Command::Resign);
    cluster.deliver_all(&mut SplitMix64(1));
    cluster.inject_and_deliver(p(1), p(3), late);
    assert_eq!(beliefs(&mut cluster)[2], Some(p(2)));
}

#[test]
fn leader_need_not_have_largest_rank() {
    let card = <ElectionFromMutex<Maekawa>>::card(
        &maekawa::Config::with_quorum_kind(QuorumKind::Pairs, 3).unwrap(),
        3,
    );
    assert!(!card.promises.contains(&Property::Validity));
    let config = central::Config::default();
    let first = &[p(1)];
    let (_, beliefs) =
        elect::<ElectionFromMutex<Central>>(3, ChannelOrder::Reordered, config, first, 0, 1);
    assert_eq!(beliefs, [Some(p(1)); 3], "the smallest leads, since it was the first");
}
