//! E. Chang, R. Roberts, *An improved algorithm for decentralized extrema-finding in circular
//! configurations of processes*, CACM 22(5), 1979.

use tenure_algorithms::Variants;
use tenure_algorithms::election::ChangRoberts;
use tenure_algorithms::election::chang_roberts::{
    Config, Message, VariantId, predicted_message_count,
};
use tenure_core::service::election::Command;
use tenure_core::{ChannelOrder, ProcessId, Rank};

use crate::support::election::{
    all_processes, beliefs, check_with_duplicates, elect, process_with_id, ranks, shuffled,
    subsets, unchecked_beliefs,
};
use crate::support::{command_and_drain, events, p, pass_all};
use tenure_trace::{SplitMix64, TestCluster};

fn ring(ids: &[u32]) -> Config {
    Config::with_ranks(ranks(ids), Variants::none())
}

fn cluster(ids: &[u32]) -> TestCluster<ChangRoberts> {
    TestCluster::with_same_config(ids.len() as u32, ChannelOrder::Fifo, ring(ids))
}

/// Starts elections at `initiators` at the same time and delivers all messages. Returns the number
/// of messages and the leader's id.
fn count(ids: &[u32], initiators: &[ProcessId]) -> (u64, u32) {
    let size = ids.len() as u32;
    let (cluster, beliefs) =
        elect::<ChangRoberts>(size, ChannelOrder::Fifo, ring(ids), initiators, 0, 1);
    let leader = beliefs[0].expect("every process knows a leader");
    assert!(beliefs.iter().all(|belief| *belief == Some(leader)));
    (cluster.total_sent(), ids[leader.index()])
}

/// One process starts an election. The cost is d + 2N messages on a ring of N processes. A rank
/// travels d hops, from the initiator to the process with the largest rank. The largest rank and
/// the announcement then travel N hops each.
#[test]
fn single_initiator_costs_distance_and_two_laps() {
    for size in 1..=8_u32 {
        let ids: Vec<u32> = (1..=size).collect();
        for at in 1..=size {
            let distance = u64::from(size - at);
            let messages = if size == 1 { 0 } else { distance + 2 * u64::from(size) };
            assert_eq!(count(&ids, &[p(at)]), (messages, size), "P{at} of {size}");
        }
    }
    let worst = (1..=8).map(|at| count(&[1, 2, 3, 4, 5, 6, 7, 8], &[p(at)]).0).max();
    assert_eq!(worst, Some(3 * 8 - 1));
}

/// On a ring of five whose ids decrease in the direction of messages, the processes send 15
/// messages with ranks and 5 messages with the announcement.
#[test]
fn decreasing_ring_of_five_costs_15_and_5() {
    let mut cluster = cluster(&[5, 4, 3, 2, 1]);
    all_processes(5).into_iter().for_each(|at| cluster.issue_command(at, Command::Elect));
    let mut rounds = vec![cluster.sent_count("election")];
    while cluster.sent_count("elected") == 0 {
        for (from, to) in cluster.links_in_use() {
            cluster.deliver_at((from, to), 0);
        }
        rounds.push(cluster.sent_count("election"));
    }
    assert_eq!(rounds, [5, 9, 12, 14, 15, 15]);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!((cluster.total_sent(), cluster.sent_count("elected")), (20, 5));
}

#[test]
fn worst_ring_costs_quadratic_and_a_lap() {
    for size in 2..=12_u32 {
        let ids: Vec<u32> = (1..=size).rev().collect();
        let n = u64::from(size);
        assert_eq!(count(&ids, &all_processes(size)), (n * (n + 1) / 2 + n, size));
    }
}

/// The process with id 28 leads: it is on the ring and has the highest id.
#[test]
fn leads_when_own_rank_returns() {
    let ids = [17, 9, 28, 3, 24, 15];
    for at in 1..=6 {
        assert_eq!(count(&ids, &[p(at)]).1, 28);
    }
    let mut cluster = cluster(&ids);
    cluster.issue_command(p(3), Command::Elect);
    (3..=6).chain(1..=1).for_each(|at| cluster.deliver_at((p(at), p(at % 6 + 1)), 0));
    assert_eq!(beliefs(&mut cluster), [None; 6], "28 has not travelled around yet");
    cluster.deliver_at((p(2), p(3)), 0);
    assert_eq!(beliefs(&mut cluster)[2], Some(p(3)));
}

/// Delivers a rank to P2, whose id is 5. Returns three results. The first is true if P2 then
/// participates. The second contains the messages that P2 sends. The third is true if P2 leads.
fn deliver_rank(rank: u32, participant: bool) -> (bool, Vec<Message>, bool) {
    let mut cluster = cluster(&[1, 5, 3]);
    if participant {
        cluster.issue_command(p(2), Command::Elect);
        cluster.lose_oldest((p(2), p(3)));
    }
    cluster.inject_and_deliver(p(1), p(2), Message::Election { rank: Rank::from_id(rank) });
    let participates =
        format!("{:?}", cluster.process(p(2)).unwrap()).contains("phase: Participant");
    let sent = cluster.messages_on_link((p(2), p(3))).into_iter().cloned().collect();
    (participates, sent, unchecked_beliefs(&mut cluster)[1] == Some(p(2)))
}

/// Delivers a larger, a smaller and an equal rank, each to a participant and to a non-participant.
/// At last an announcement ends the participation of its receiver.
#[test]
fn handles_every_case_of_an_arriving_rank() {
    let election = |id| vec![Message::Election { rank: Rank::from_id(id) }];
    let announced = vec![Message::Elected { rank: Rank::from_id(5), leader: p(2) }];
    assert_eq!(deliver_rank(7, false), (true, election(7), false), "a higher rank is forwarded");
    assert_eq!(deliver_rank(7, true), (true, election(7), false), "a higher rank is forwarded");
    assert_eq!(deliver_rank(3, false), (true, election(5), false), "a lower rank is replaced");
    assert_eq!(deliver_rank(3, true), (true, vec![], false), "a lower rank is discarded");
    for is_participant in [true, false] {
        let wins = (false, announced.clone(), true);
        assert_eq!(deliver_rank(5, is_participant), wins, "its own rank, {is_participant}");
    }
    let mut cluster = cluster(&[1, 5, 7]);
    cluster.issue_command(p(2), Command::Elect);
    cluster.lose_oldest((p(2), p(3)));
    let elected = Message::Elected { rank: Rank::from_id(7), leader: p(3) };
    cluster.inject_and_deliver(p(1), p(2), elected.clone());
    assert!(format!("{:?}", cluster.process(p(2)).unwrap()).contains("phase: NonParticipant"));
    assert_eq!(unchecked_beliefs(&mut cluster)[1], Some(p(3)));
    assert_eq!(cluster.messages_on_link((p(2), p(3)))[0], &elected);
}

#[test]
fn any_initiators_agree_on_the_largest() {
    let ids = [3, 1, 5, 2, 4];
    for initiators in subsets(5) {
        for seed in 0..50 {
            let (_, beliefs) =
                elect::<ChangRoberts>(5, ChannelOrder::Fifo, ring(&ids), &initiators, 0, seed);
            assert_eq!(beliefs, [Some(p(3)); 5], "initiators {initiators:?}, seed {seed}");
        }
    }
}

#[test]
fn least_loaded_process_wins_with_load_ranks() {
    let load = |load, id| Rank::from_load(std::num::NonZeroU32::new(load).unwrap(), id);
    let ranks = [load(50, 1), load(25, 2), load(25, 3)].into();
    let config = Config::with_ranks(ranks, Variants::none());
    let (_, beliefs) =
        elect::<ChangRoberts>(3, ChannelOrder::Fifo, config, &all_processes(3), 0, 1);
    assert_eq!(beliefs, [Some(p(3)); 3]);
}

/// Two processes with equal ranks cannot be distinguished, so both lead.
#[test]
fn equal_ranks_all_lead() {
    let mut cluster = cluster(&[7, 7, 7, 7]);
    all_processes(4).into_iter().for_each(|at| cluster.issue_command(at, Command::Elect));
    for at in 1..=4 {
        cluster.deliver_at((p(at), p(at % 4 + 1)), 0);
    }
    assert_eq!(events(&mut cluster).len(), 4);
}

/// P1 and P3 both have the largest rank. Both ranks travel around the whole ring, so both processes
/// lead.
#[test]
fn two_equal_largest_ranks_both_lead() {
    for seed in 0..200 {
        let mut cluster = cluster(&[7, 2, 7, 3, 1]);
        all_processes(5).into_iter().for_each(|at| cluster.issue_command(at, Command::Elect));
        cluster.deliver_all(&mut SplitMix64(seed));
        let beliefs = unchecked_beliefs(&mut cluster);
        assert_eq!((beliefs[0], beliefs[2]), (Some(p(1)), Some(p(3))), "seed {seed}");
    }
}

#[test]
fn participant_starts_no_second_election() {
    let mut cluster = cluster(&[1, 2, 3]);
    cluster.issue_command(p(1), Command::Elect);
    cluster.issue_command(p(1), Command::Elect);
    cluster.deliver_at((p(1), p(2)), 0);
    command_and_drain(&mut cluster, 2, Command::Elect);
    assert_eq!(cluster.total_sent(), 2 + 2 * 3);
}

/// If a process starts an election after an earlier election has ended, the group elects the same
/// leader again. The second election costs further messages. Message counts therefore assume that
/// all initiators start at the same time.
#[test]
fn late_start_repeats_election_with_same_leader() {
    let mut cluster = cluster(&[1, 2, 3]);
    command_and_drain(&mut cluster, 1, Command::Elect);
    let first = cluster.total_sent();
    command_and_drain(&mut cluster, 2, Command::Elect);
    assert_eq!(beliefs(&mut cluster), [Some(p(3)); 3]);
    assert_eq!(cluster.total_sent(), first + 1 + 2 * 3);
}

/// With FIFO channels, a process need not be marked as a participant when it forwards a rank.
#[test]
fn agrees_without_mark_on_forwarding() {
    let variants = Variants::none().with(VariantId::UnmarkedForward);
    for seed in 0..500 {
        let ids = shuffled(5, seed);
        let config = Config { variants, ..ring(&ids) };
        let (_, beliefs) =
            elect::<ChangRoberts>(5, ChannelOrder::Fifo, config, &[p(1), p(4)], 0, seed);
        assert_eq!(beliefs, [process_with_id(5, &ids); 5]);
    }
}

/// P2 starts an election late. Its rank overtakes the leader's announcement on the link from P2 to
/// P3. P2 then stays a participant forever, and never starts an election again.
#[test]
fn reordering_leaves_a_participant_for_ever() {
    let mut cluster = cluster(&[3, 1, 2]);
    cluster.issue_command(p(1), Command::Elect);
    pass_all(&mut cluster, &[(1, 2), (2, 3), (3, 1), (1, 2)]);
    assert_eq!(beliefs(&mut cluster)[..2], [Some(p(1)); 2]);
    cluster.issue_command(p(2), Command::Elect);
    cluster.deliver_at((p(2), p(3)), 1);
    cluster.deliver_all(&mut SplitMix64(0));
    let stuck = format!("{:?}", cluster.process(p(2)).unwrap());
    assert!(stuck.contains("phase: Participant"), "{stuck}");
    cluster.issue_command(p(2), Command::Elect);
    assert_eq!(cluster.links_in_use(), [], "P2 will never start an election again");
}

#[test]
fn duplicates_do_not_change_the_leader() {
    check_with_duplicates::<ChangRoberts>((5, 4), ChannelOrder::Fifo, ring);
}

/// If some processes fail before the election, the ring consists of the live processes. The
/// election then costs as many messages as on a ring of only these processes.
#[test]
fn ring_of_live_processes_costs_by_its_size() {
    let ids = [3, 6, 1, 5, 2, 4];
    for down in 0..63_u32 {
        let is_down = |place: usize| down & (1 << place) != 0;
        let living: Vec<u32> = (0..6).filter(|it| !is_down(*it)).map(|it| ids[it]).collect();
        let absent = (0..6).filter(|it| is_down(*it)).map(ProcessId::from_index).collect();
        let config = Config { absent, ..ring(&ids) };
        let mut cluster =
            TestCluster::<ChangRoberts>::with_same_config(6, ChannelOrder::Fifo, config);
        for at in all_processes(6) {
            if is_down(at.index()) {
                cluster.crash(at);
            } else {
                cluster.issue_command(at, Command::Elect);
            }
        }
        cluster.deliver_all(&mut SplitMix64(down.into()));
        let expected = if living.len() == 1 { 0 } else { predicted_message_count(&living) };
        assert_eq!(cluster.total_sent(), expected, "{down:b} down");
        let leader = process_with_id(*living.iter().max().unwrap(), &ids);
        for (at, belief) in unchecked_beliefs(&mut cluster).into_iter().enumerate() {
            assert_eq!(belief, leader.filter(|_| !is_down(at)), "P{} of {down:b}", at + 1);
        }
    }
}
