//! A. Itai, M. Rodeh, *Symmetry breaking in distributed networks*, Information and Computation
//! 88(1), 1990.

use tenure_algorithms::Variants;
use tenure_algorithms::election::itai_rodeh::Message;
use tenure_algorithms::election::{ChangRoberts, ItaiRodeh, chang_roberts};
use tenure_core::service::election::Command;
use tenure_core::{Algorithm, ChannelOrder, ProcessId, Rank};

use crate::support::election::{
    all_processes, beliefs, drain_with_duplicates, subsets, unchecked_beliefs,
};
use crate::support::p;
use tenure_trace::{SplitMix64, TestCluster};

/// Returns a ring whose processes draw the random ranks in `lots`, in this order.
fn cluster(size: u32, order: ChannelOrder, lots: &[u32], seed: u64) -> TestCluster<ItaiRodeh> {
    let mut cluster = TestCluster::with_same_config(size, order, ());
    cluster.set_random_values(lots.iter().map(|lot| lot - 1), seed);
    cluster
}

/// Starts the listed processes at the same time. Returns the final cluster, in which all processes
/// know the same leader.
fn elect(
    size: u32,
    order: ChannelOrder,
    initiators: &[ProcessId],
    lots: &[u32],
    seed: u64,
) -> TestCluster<ItaiRodeh> {
    let mut cluster = cluster(size, order, lots, seed);
    initiators.iter().for_each(|at| cluster.issue_command(*at, Command::Elect));
    cluster.deliver_all(&mut SplitMix64(seed));
    cluster
}

#[test]
fn unique_highest_lot_leads() {
    let mut cluster = elect(4, ChannelOrder::Fifo, &all_processes(4), &[2, 4, 1, 3], 0);
    assert_eq!(beliefs(&mut cluster), [Some(p(2)); 4]);
    // The tokens of P1 to P4 travel 1, 4, 1 and 2 hops. The announcement travels 4 hops.
    assert_eq!((cluster.sent_count("token"), cluster.sent_count("elected")), (1 + 4 + 1 + 2, 4));
}

#[test]
fn equal_highest_lots_draw_again() {
    let mut cluster = elect(4, ChannelOrder::Fifo, &all_processes(4), &[3, 1, 3, 2, 1, 2], 0);
    let leader = beliefs(&mut cluster)[0].expect("a leader is elected");
    assert!(leader == p(1) || leader == p(3), "not one of the highest lots: {leader}");
    let state = format!("{:?}", cluster.process(p(2)).unwrap());
    assert!(state.contains("Settled"), "{state}");
}

#[test]
fn equal_draws_never_elect() {
    let mut cluster = cluster(3, ChannelOrder::Fifo, &[2; 300], 0);
    all_processes(3).into_iter().for_each(|at| cluster.issue_command(at, Command::Elect));
    for _ in 0..99 {
        for _ in 0..3 {
            (1..=3).for_each(|at| cluster.deliver_at((p(at), p(at % 3 + 1)), 0));
        }
    }
    assert_eq!(unchecked_beliefs(&mut cluster), [None; 3]);
    let Message::Token { lot, .. } = cluster.messages_on_link((p(1), p(2)))[0] else {
        panic!("a token")
    };
    assert_eq!(lot.round, 100);
}

#[test]
fn agrees_for_any_initiators_and_order() {
    for order in [ChannelOrder::Fifo, ChannelOrder::Reordered] {
        for initiators in subsets(5) {
            for seed in 0..100 {
                let mut cluster = elect(5, order, &initiators, &[], 1000 * seed);
                let beliefs = beliefs(&mut cluster);
                let leader = beliefs[0].expect("a leader is elected");
                let context = format!("{initiators:?}, seed {seed}");
                assert!(beliefs.iter().all(|belief| *belief == Some(leader)), "{context}");
                assert!(initiators.contains(&leader), "{context}: a non-initiator was elected");
            }
        }
    }
}

#[test]
fn single_initiator_needs_two_laps() {
    for size in 1..=6_u32 {
        let cluster = elect(size, ChannelOrder::Fifo, &[p(size)], &[], 0);
        let least = ItaiRodeh::card(&(), size).messages.least;
        assert_eq!(cluster.total_sent(), least);
        assert_eq!(least, if size == 1 { 0 } else { 2 * u64::from(size) });
    }
}

/// In the algorithm without ids, no message names a process. A process recognises its own token
/// only by the number of hops, and must know the size of the ring. In the algorithm with ids, a
/// process recognises its own message by the id, and behaves the same on a ring of any size.
#[test]
fn ring_size_matters_only_without_ids() {
    let unnamed = |size| {
        let mut cluster = cluster(size, ChannelOrder::Fifo, &[1], 0);
        cluster.issue_command(p(1), Command::Elect);
        let Message::Token { election, lot, .. } = *cluster.messages_on_link((p(1), p(2)))[0]
        else {
            panic!("a token")
        };
        cluster.inject_and_deliver(
            p(size),
            p(1),
            Message::Token { election, lot, hops: 3, unique: true },
        );
        unchecked_beliefs(&mut cluster)[0]
    };
    assert_eq!([3, 5].map(unnamed), [Some(p(1)), None]);
    let named = |size| {
        let ranks = (0..size).map(|place| Rank::from_id(9 - place)).collect();
        let config = chang_roberts::Config::with_ranks(ranks, Variants::none());
        let mut cluster =
            TestCluster::<ChangRoberts>::with_same_config(size, ChannelOrder::Fifo, config);
        cluster.issue_command(p(1), Command::Elect);
        let own = cluster.messages_on_link((p(1), p(2)))[0].clone();
        cluster.inject_and_deliver(p(size), p(1), own);
        unchecked_beliefs(&mut cluster)[0]
    };
    assert_eq!([3, 5].map(named), [Some(p(1)); 2]);
}

#[test]
fn leader_is_announced_by_distance() {
    let messages = |first: u32| {
        let lots = [1, 3, 2];
        let order: Vec<ProcessId> = (0..3).map(|at| ProcessId((first + at) % 3)).collect();
        let mut cluster = cluster(3, ChannelOrder::Fifo, &lots, 0);
        order.iter().for_each(|at| cluster.issue_command(*at, Command::Elect));
        let mut sent = Vec::new();
        while !cluster.links_in_use().is_empty() {
            for at in &order {
                let link = (*at, ProcessId((at.0 + 1) % 3));
                if !cluster.messages_on_link(link).is_empty() {
                    sent.push(cluster.messages_on_link(link)[0].clone());
                    cluster.deliver(link, &mut SplitMix64(0));
                }
            }
        }
        let turned = |leader: ProcessId| (leader.0 + 3 - first) % 3;
        let leaders = beliefs(&mut cluster);
        (sent, turned(leaders[0].expect("a leader is elected")))
    };
    assert_eq!(messages(0), messages(1));
    assert_eq!(messages(0), messages(2));
    assert_eq!(messages(0).1, 1);
}

/// A second election may choose another leader. The term of the second election is higher than the
/// term of the first election.
#[test]
fn a_second_election_has_a_higher_term() {
    for seed in 0..200 {
        let mut cluster = elect(3, ChannelOrder::Reordered, &all_processes(3), &[], 1000 * seed);
        cluster.issue_command(p(2), Command::Elect);
        cluster.deliver_all(&mut SplitMix64(seed));
        assert_eq!(beliefs(&mut cluster), [Some(p(2)); 3], "seed {seed}");
    }
}

#[test]
fn duplicates_are_harmless() {
    for seed in 0..1000 {
        let mut cluster = cluster(4, ChannelOrder::Reordered, &[], 1000 * seed);
        all_processes(4).into_iter().for_each(|at| cluster.issue_command(at, Command::Elect));
        drain_with_duplicates(&mut cluster, 4, seed);
        let beliefs = beliefs(&mut cluster);
        assert!(beliefs[0].is_some(), "seed {seed}");
        assert!(beliefs.iter().all(|belief| *belief == beliefs[0]), "seed {seed}");
    }
}
