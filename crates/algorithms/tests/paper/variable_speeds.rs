//! Variable speeds: G. N. Frederickson, N. A. Lynch, *Electing a leader in a synchronous ring*,
//! JACM 34(1), 1987; N. A. Lynch, *Distributed Algorithms*, 1996.

use tenure_algorithms::Variants;
use tenure_algorithms::election::VariableSpeeds;
use tenure_algorithms::election::variable_speeds::{Config, VariantId};
use tenure_core::service::election::Command;
use tenure_core::{Algorithm, ChannelOrder, ProcessId};
use tenure_trace::TestCluster;

use crate::support::election::{all_processes, beliefs, process_with_id, ranks, subsets};
use crate::support::p;
use crate::support::permutations;
use crate::support::rounds::end_round;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Outcome {
    leaders: Vec<Option<ProcessId>>,
    tokens: u64,
    announcements: u64,
    rounds: u32,
}

fn elect(ids: &[u32], initiators: &[ProcessId], switch: Option<VariantId>) -> Outcome {
    let variants = switch.map_or(Variants::none(), |it| Variants::none().with(it));
    let size = u32::try_from(ids.len()).expect("few processes");
    let config = Config::with_ranks(ranks(ids), variants);
    let mut cluster =
        TestCluster::<VariableSpeeds>::with_same_config(size, ChannelOrder::Reordered, config);
    initiators.iter().for_each(|at| cluster.issue_command(*at, Command::Elect));
    let mut rounds = 0;
    while !cluster.armed_timers().is_empty() {
        rounds += 1;
        assert!(rounds < 10_000, "the election ends");
        end_round(&mut cluster, rounds, &[]);
    }
    Outcome {
        leaders: beliefs(&mut cluster),
        tokens: cluster.sent_count("token"),
        announcements: cluster.sent_count("elected"),
        rounds,
    }
}

/// The smallest candidate, *u*, leads. Its token needs 2^u rounds for each hop, so it travels N
/// hops in N·2^u rounds. The announcement takes N more rounds.
#[test]
fn smallest_candidate_leads_after_n_times_two_to_the_u_rounds() {
    for size in 2..=4 {
        permutations(size, |ids| {
            let ids: Vec<u32> = ids.iter().map(|id| id + 1).collect();
            for initiators in subsets(size) {
                let found = elect(&ids, &initiators, None);
                let smallest = initiators.iter().map(|at| ids[at.index()]).min().unwrap();
                let context = format!("{ids:?} {initiators:?}");
                let leader = process_with_id(smallest, &ids);
                assert_eq!(found.leaders, vec![leader; size as usize], "{context}");
                assert_eq!(found.announcements, u64::from(size), "{context}");
                assert_eq!(found.rounds, size * (1 << smallest) + size, "{context}");
            }
        });
    }
}

/// Returns the largest number of messages of an election over all rings whose ids are 1 to `size`,
/// in any order.
fn most(size: u32, switch: Option<VariantId>) -> u64 {
    let mut most = 0;
    permutations(size, |ids| {
        let found = elect(ids, &all_processes(size), switch);
        most = most.max(found.tokens + found.announcements);
    });
    most
}

/// All tokens together travel fewer than 2N hops. The card of the algorithm states an upper bound
/// on the messages. On rings of 2, 3, 4 and 6 processes, some election costs as many messages as
/// this bound. On a ring of 5 processes, the most expensive election costs one message less.
#[test]
fn bound_on_messages_is_attained_on_small_rings() {
    for (size, expected) in [(2, 4), (3, 7), (4, 9), (5, 12), (6, 15)] {
        let config = Config::with_ranks(ranks(&vec![1; size as usize]), Variants::none());
        let bound = VariableSpeeds::card(&config, size).messages.most;
        let found = most(size, None);
        assert_eq!(found, expected);
        assert_eq!(bound, Some(expected + u64::from(size == 5)));
        assert!(found < 3 * u64::from(size));
    }
}

#[test]
fn single_candidate_takes_two_n_messages() {
    let found = elect(&[3, 1, 2], &[p(3)], None);
    assert_eq!((found.tokens, found.announcements), (3, 3));
}

/// If all tokens have the same speed, an election costs as much as with an algorithm that only
/// compares ranks: N(N + 1)/2 + N at worst.
#[test]
fn equal_speeds_cost_as_much_as_comparisons() {
    for size in 2..=5 {
        let n = u64::from(size);
        assert_eq!(most(size, Some(VariantId::SameSpeed)), n * (n + 1) / 2 + n);
    }
}

#[test]
fn linear_speeds_exceed_the_bound() {
    let ids = [1, 5, 6, 3, 2, 7, 4];
    let exact = elect(&ids, &all_processes(7), None);
    let linear = elect(&ids, &all_processes(7), Some(VariantId::LinearSpeed));
    assert_eq!(linear.tokens + linear.announcements, 19);
    assert!(exact.tokens + exact.announcements <= 18);
    assert_eq!(linear.leaders, exact.leaders);
}

#[test]
fn process_alone_leads_without_a_message() {
    let found = elect(&[3], &[p(1)], None);
    assert_eq!(found.leaders, [Some(p(1))]);
    assert_eq!((found.tokens, found.announcements), (0, 0));
}
