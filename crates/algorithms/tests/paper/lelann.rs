//! G. Le Lann, *Distributed systems: towards a formal approach*, IFIP Congress, 1977.

use tenure_algorithms::Variants;
use tenure_algorithms::election::LeLann;
use tenure_algorithms::election::lelann::{Config, VariantId};
use tenure_core::service::election::{Command, Event};
use tenure_core::{Algorithm, ChannelOrder, ProcessId, Property};

use crate::support::election::{
    beliefs, check_with_duplicates, elect, process_with_id, ranks, subsets, unchecked_beliefs,
};
use crate::support::{command_and_drain, events, p, permutations, restart};
use tenure_trace::{SplitMix64, TestCluster};

fn ring(ids: &[u32]) -> Config {
    Config::with_ranks(ranks(ids), Variants::none())
}

fn cluster(ids: &[u32]) -> TestCluster<LeLann> {
    TestCluster::with_same_config(ids.len() as u32, ChannelOrder::Fifo, ring(ids))
}

/// Returns a cluster of three processes that have elected P3.
fn elected() -> TestCluster<LeLann> {
    let mut cluster = cluster(&[1, 2, 3]);
    command_and_drain(&mut cluster, 1, Command::Elect);
    cluster
}

#[test]
fn costs_exactly_n_squared() {
    for size in 1..=5_u32 {
        let ids: Vec<u32> = (1..=size).collect();
        let messages = LeLann::card(&ring(&ids), size).messages;
        for initiators in subsets(size) {
            for seed in 0..20 {
                let (cluster, beliefs) =
                    elect::<LeLann>(size, ChannelOrder::Fifo, ring(&ids), &initiators, 0, seed);
                let n = if size == 1 { 0 } else { u64::from(size) };
                let context = format!("{initiators:?} of {size}, seed {seed}");
                assert_eq!(cluster.total_sent(), n * n, "{context}");
                assert_eq!((messages.least, messages.most), (n * n, Some(n * n)));
                assert!(beliefs.iter().all(|belief| *belief == Some(p(size))), "{context}");
            }
        }
    }
}

#[test]
fn all_rings_of_five_elect_the_largest() {
    let mut seed = 0;
    permutations(5, |ids| {
        seed += 1;
        let (_, beliefs) =
            elect::<LeLann>(5, ChannelOrder::Fifo, ring(ids), &[p(1), p(3)], 0, seed);
        assert_eq!(beliefs, [process_with_id(5, ids); 5], "{ids:?}, seed {seed}");
    });
}

/// Returns, for each process, the list of active processes that its state contains.
fn lists(cluster: &TestCluster<LeLann>) -> Vec<String> {
    let list = |at: &ProcessId| {
        let state = format!("{:?}", cluster.process(*at).expect("the process is up"));
        let (_, list) = state.split_once("active: {").expect("the state has a list");
        format!("{}}}", list.split_once("}}").expect("the list ends").0)
    };
    cluster.process_ids().iter().map(list).collect()
}

#[test]
fn all_processes_list_all_active_processes() {
    let mut seed = 0;
    permutations(4, |ids| {
        seed += 1;
        let (cluster, _) = elect::<LeLann>(4, ChannelOrder::Fifo, ring(ids), &[p(2)], 0, seed);
        let entry = |rank: u32| {
            let process = process_with_id(rank, ids).expect("each rank has an owner");
            format!("Candidate {{ rank: {rank}, process: {process:?} }}")
        };
        let all = (1..=4).map(entry).collect::<Vec<_>>().join(", ");
        assert_eq!(lists(&cluster), vec![all; 4], "{ids:?}, seed {seed}");
    });
}

/// Negative control: with the variant `forward-first`, P1 decides too early. Its list then contains
/// only P1 instead of all active processes.
#[test]
fn forwarding_first_leaves_a_list_incomplete() {
    let config =
        Config { variants: Variants::none().with(VariantId::ForwardFirst), ..ring(&[1, 2, 3]) };
    let mut cluster = TestCluster::<LeLann>::with_same_config(3, ChannelOrder::Fifo, config);
    command_and_drain(&mut cluster, 1, Command::Elect);
    assert_eq!(lists(&cluster)[0], "Candidate { rank: 1, process: P1 }");
}

#[test]
fn smallest_can_be_chosen_from_the_list() {
    let smallest =
        |ids: &[u32]| Config { variants: Variants::none().with(VariantId::Smallest), ..ring(ids) };
    let mut seed = 0;
    permutations(5, |ids| {
        seed += 1;
        let (cluster, beliefs) =
            elect::<LeLann>(5, ChannelOrder::Fifo, smallest(ids), &[p(1), p(3)], 0, seed);
        assert_eq!(beliefs, [process_with_id(1, ids); 5], "{ids:?}, seed {seed}");
        assert_eq!(cluster.total_sent(), 25, "the choice costs nothing");
    });
    let promises = |config| LeLann::card(&config, 3).promises;
    assert!(promises(smallest(&[1, 2, 3])).contains(&Property::SmallestLeads));
    assert!(!promises(smallest(&[1, 2, 3])).contains(&Property::Validity));
    assert!(promises(ring(&[1, 2, 3])).contains(&Property::Validity));
}

/// With the variant `forward-first`, a process forwards a rank before it sends its own rank. Some
/// publications describe the algorithm in this order. The initiator then receives its own rank
/// first, and elects itself.
#[test]
fn forwarding_first_lets_initiator_elect_itself() {
    let views = |switches| {
        let config = Config { variants: switches, ..ring(&[1, 2, 3]) };
        let mut cluster = TestCluster::<LeLann>::with_same_config(3, ChannelOrder::Fifo, config);
        command_and_drain(&mut cluster, 1, Command::Elect);
        unchecked_beliefs(&mut cluster)
    };
    let forward_first = Variants::none().with(VariantId::ForwardFirst);
    assert_eq!(views(forward_first), [Some(p(1)), Some(p(3)), Some(p(3))]);
    assert_eq!(views(Variants::none()), [Some(p(3)); 3]);
}

/// P2 and P3 each send their own rank first, and then forward P1's rank. On the channel from P2,
/// P1's rank overtakes P2's rank. On the channel from P3, P1's rank overtakes P3's rank. So P1's
/// rank returns to P1 before P1 has received any other rank, and P1 elects itself.
#[test]
fn reordering_hides_a_candidate() {
    let mut cluster = cluster(&[1, 2, 3]);
    cluster.issue_command(p(1), Command::Elect);
    cluster.deliver_at((p(1), p(2)), 0);
    cluster.deliver_at((p(2), p(3)), 1);
    cluster.deliver_at((p(3), p(1)), 1);
    assert_eq!(unchecked_beliefs(&mut cluster), [Some(p(1)), None, None]);
}

/// Each election costs N² messages. Messages of an earlier election do not affect a later one.
#[test]
fn later_election_has_the_same_leader() {
    let mut cluster = elected();
    let first = cluster.total_sent();
    cluster.issue_command(p(2), Command::Elect);
    cluster.issue_command(p(2), Command::Elect);
    cluster.deliver_all(&mut SplitMix64(1));
    assert_eq!((first, cluster.total_sent()), (9, 18));
    assert_eq!(beliefs(&mut cluster), [Some(p(3)); 3]);
}

#[test]
fn restarted_process_queries_the_ring() {
    for size in 2..=6_u32 {
        let ids: Vec<u32> = (1..=size).collect();
        for at in 1..=size {
            let mut cluster = cluster(&ids);
            command_and_drain(&mut cluster, 1, Command::Elect);
            let before = cluster.total_sent();
            cluster.take_events();
            restart(&mut cluster, at);
            cluster.deliver_all(&mut SplitMix64(0));
            assert_eq!(cluster.sent_count("query"), u64::from(size), "P{at} of {size}");
            assert_eq!(cluster.total_sent(), before + u64::from(size), "P{at} of {size}");
            let events = events(&mut cluster);
            let [(to, Event::Elected { leader, .. })] = events[..] else { panic!("{events:?}") };
            assert_eq!((to, leader), (at, p(size)));
        }
    }
}

#[test]
fn unanswered_query_allows_an_election() {
    let mut cluster = cluster(&[1, 2, 3]);
    restart(&mut cluster, 2);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!((cluster.total_sent(), unchecked_beliefs(&mut cluster)), (3, vec![None; 3]));
    command_and_drain(&mut cluster, 2, Command::Elect);
    assert_eq!(beliefs(&mut cluster), [Some(p(3)); 3]);
}

/// An initiator restarts and then starts another election. Its last election number was saved, so
/// the new election has a higher number. With a lower number, the other processes would consider
/// the new election old and take no part in it.
#[test]
fn restarted_initiator_decides_with_all_others() {
    let mut cluster = elected();
    restart(&mut cluster, 1);
    command_and_drain(&mut cluster, 1, Command::Elect);
    assert_eq!(beliefs(&mut cluster), [Some(p(3)); 3]);
    assert_eq!(cluster.sent_count("elect"), 2 * 9);
}

/// P3 is down during an election, and messages to P3 are lost. The election then stays undecided at
/// P1, because the rank of P1 never returns (`docs/checklist.md`, 5.7).
#[test]
fn crash_during_election_leaves_it_undecided() {
    let mut cluster = cluster(&[1, 2, 3]);
    cluster.issue_command(p(1), Command::Elect);
    cluster.deliver_at((p(1), p(2)), 0);
    cluster.crash(p(3));
    cluster.deliver_all(&mut SplitMix64(0));
    cluster.recover(p(3));
    command_and_drain(&mut cluster, 3, Command::Elect);
    assert_eq!(unchecked_beliefs(&mut cluster), [None, None, Some(p(3))]);
    cluster.issue_command(p(1), Command::Elect);
    assert_eq!(cluster.links_in_use(), [], "P1 still waits for its own rank");
}

#[test]
fn duplicates_do_not_change_the_leader() {
    check_with_duplicates::<LeLann>((5, 4), ChannelOrder::Fifo, ring);
}
