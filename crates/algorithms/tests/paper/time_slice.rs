//! TimeSlice: N. A. Lynch, *Distributed Algorithms*, 1996.

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::{self, Parameters};
use tenure_algorithms::election::TimeSlice;
use tenure_algorithms::election::time_slice::{Config, VariantId};
use tenure_core::service::election::Command;
use tenure_core::{ChannelOrder, ProcessId};
use tenure_trace::TestCluster;

use crate::support::election::{
    Beliefs, all_processes, beliefs, process_with_id, ranks, subsets, unchecked_beliefs,
};
use crate::support::p;
use crate::support::permutations;
use crate::support::rounds::end_round;

fn started(ids: &[u32], initiators: &[ProcessId], config: Config) -> TestCluster<TimeSlice> {
    let size = u32::try_from(ids.len()).expect("few processes");
    let mut cluster = TestCluster::with_same_config(size, ChannelOrder::Reordered, config);
    initiators.iter().for_each(|at| cluster.issue_command(*at, Command::Elect));
    cluster
}

/// Runs an election to its end. Returns its number of rounds.
fn finish(cluster: &mut TestCluster<TimeSlice>) -> u32 {
    for round in 1..1000 {
        if cluster.armed_timers().is_empty() {
            return round - 1;
        }
        end_round(cluster, round, &[]);
    }
    panic!("the election ends");
}

fn config(ids: &[u32]) -> Config {
    Config::with_ranks(ranks(ids), Variants::none())
}

/// The candidate with the smallest identifier u leads. Only its token travels around the ring of N
/// processes. The election takes N messages and N·u rounds.
#[test]
fn smallest_candidate_leads_after_n_messages_and_n_u_rounds() {
    for size in 1..=5 {
        permutations(size, |ids| {
            let ids: Vec<u32> = ids.iter().map(|id| 2 * id - 1).collect();
            for initiators in subsets(size) {
                let mut cluster = started(&ids, &initiators, config(&ids));
                let rounds = finish(&mut cluster);
                let smallest = initiators.iter().map(|at| ids[at.index()]).min().unwrap();
                let leader = process_with_id(smallest, &ids);
                let context = format!("{ids:?} {initiators:?}");
                assert_eq!(beliefs(&mut cluster), vec![leader; size as usize], "{context}");
                let n = u64::from(size);
                assert_eq!(cluster.total_sent(), if size == 1 { 0 } else { n }, "{context}");
                assert_eq!(rounds, size * smallest, "{context}");
            }
        });
    }
}

#[test]
fn phases_before_the_smallest_identifier_are_silent() {
    let mut cluster = started(&[7, 4, 9], &all_processes(3), config(&[7, 4, 9]));
    for round in 1..=9 {
        assert_eq!(cluster.total_sent(), 0);
        end_round(&mut cluster, round, &[]);
    }
    assert_eq!(cluster.total_sent(), 1);
    assert_eq!(unchecked_beliefs(&mut cluster), Beliefs::from([None; 3]));
}

/// With the variant `short-phases`, a phase has N − 2 rounds instead of N. The second candidate
/// starts before the token of the first candidate reaches it, so two processes lead.
#[test]
fn short_phases_elect_two_leaders() {
    let variants = Variants::none().with(VariantId::ShortPhases);
    let ids = [1, 3, 2];
    let mut cluster = started(&ids, &all_processes(3), Config::with_ranks(ranks(&ids), variants));
    finish(&mut cluster);
    assert!(cluster.total_sent() > 3);
    let leaders = unchecked_beliefs(&mut cluster);
    assert!(leaders.iter().any(|leader| *leader != leaders[0]), "{leaders:?}");
}

/// Phase 0 does not exist, so a process with identifier 0 cannot take part.
#[test]
fn rejects_identifier_zero() {
    let with = |ids: &[u32]| Parameters { ranks: ranks(ids), ..Parameters::with_defaults(3) };
    let error = catalogue::card("time-slice", &with(&[2, 0, 1])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid identifier 0 of P2: time-slice expects positive identifiers"
    );
    assert!(catalogue::card("time-slice", &with(&[2, 3, 1])).is_ok());
    assert!(catalogue::card("variable-speeds", &with(&[2, 0, 1])).is_ok());
}

#[test]
#[should_panic(expected = "identifiers must be positive")]
fn identifier_zero_panics_at_start() {
    started(&[1, 0], &all_processes(2), config(&[1, 0]));
}

#[test]
fn later_request_is_answered_with_the_leader() {
    let mut cluster = started(&[2, 1, 3], &[p(2)], config(&[2, 1, 3]));
    finish(&mut cluster);
    beliefs(&mut cluster);
    cluster.issue_command(p(3), Command::Elect);
    assert_eq!(beliefs(&mut cluster)[2], Some(p(2)));
    assert_eq!(cluster.total_sent(), 3);
}
