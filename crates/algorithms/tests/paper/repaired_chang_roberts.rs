//! Chang–Roberts on a ring that repairs itself.

use std::collections::BTreeSet;

use tenure_algorithms::catalogue::{self, Parameters};
use tenure_algorithms::election::FaultTolerantChangRoberts;
use tenure_algorithms::election::repaired_chang_roberts::Config;
use tenure_algorithms::election::{ChangRoberts, chang_roberts};
use tenure_core::service::election::{Command, Event};
use tenure_core::{Algorithm, ChannelOrder, PeerVerdict, ProcessId, Term};

use crate::support::election::{
    beliefs, check_with_duplicates, elect, process_with_id, ranks, subsets, unchecked_beliefs,
};
use crate::support::{
    command_and_drain, crash_and_drain, crash_and_suspect, events, p, pass_all, permutations,
    recover_and_trust, restart, suspicion_and_drain,
};
use tenure_trace::{SplitMix64, TestCluster};

fn ring(ids: &[u32]) -> Config {
    Config::with_ranks(ranks(ids))
}

fn cluster(ids: &[u32]) -> TestCluster<FaultTolerantChangRoberts> {
    TestCluster::with_same_config(ids.len() as u32, ChannelOrder::Reordered, ring(ids))
}

fn drain(cluster: &mut TestCluster<FaultTolerantChangRoberts>) {
    cluster.deliver_all(&mut SplitMix64(0));
}

fn terms(cluster: &mut TestCluster<FaultTolerantChangRoberts>) -> Vec<Term> {
    let term = |(_, event)| match event {
        Event::Elected { term, .. } => Some(term),
        Event::Deposed { .. } => None,
    };
    let mut terms: Vec<Term> = events(cluster).into_iter().filter_map(term).collect();
    terms.dedup();
    terms
}

fn term_of(number: u64, leader: u32) -> Term {
    Term { number, leader: p(leader) }
}

#[test]
fn equals_chang_roberts_without_crashes() {
    for size in 1..=5 {
        permutations(size, |ids| {
            let plain = chang_roberts::Config {
                ranks: ranks(ids),
                ..chang_roberts::Config::with_defaults(size)
            };
            for initiators in subsets(size) {
                let order = ChannelOrder::Fifo;
                let (first, _) =
                    elect::<ChangRoberts>(size, order, plain.clone(), &initiators, 0, 1);
                let (second, beliefs) =
                    elect::<FaultTolerantChangRoberts>(size, order, ring(ids), &initiators, 0, 1);
                assert_eq!(first.sent_counts(), second.sent_counts(), "{ids:?} {initiators:?}");
                assert_eq!(beliefs, vec![process_with_id(size, ids); size as usize]);
            }
        });
    }
}

#[test]
fn tolerates_reordering_and_duplicates() {
    check_with_duplicates::<FaultTolerantChangRoberts>((5, 4), ChannelOrder::Reordered, ring);
}

/// `docs/checklist.md`, Q-27: processes drop messages of old terms. A new term starts when the
/// leader is suspected.
#[test]
fn next_largest_leads_after_leader_crash() {
    let mut cluster = cluster(&[2, 4, 1, 3]);
    command_and_drain(&mut cluster, 1, Command::Elect);
    assert_eq!(terms(&mut cluster), [term_of(1, 2)]);
    crash_and_drain(&mut cluster, 2);
    assert_eq!(beliefs(&mut cluster), [Some(p(4)), None, Some(p(4)), Some(p(4))]);
    command_and_drain(&mut cluster, 3, Command::Elect);
    assert_eq!(terms(&mut cluster), [term_of(3, 4)], "on the ring of three");
}

/// `docs/checklist.md`, 3.14, 5.7: a rank is orphaned if its owner has crashed. The first process
/// that suspects the owner removes the rank. This process may be anywhere on the ring.
#[test]
fn orphaned_rank_is_removed() {
    let mut cluster = cluster(&[1, 2, 3, 4]);
    cluster.issue_command(p(4), Command::Elect);
    crash_and_drain(&mut cluster, 4);
    assert_eq!(beliefs(&mut cluster), [Some(p(3)), Some(p(3)), Some(p(3)), None]);
}

/// P4 sends its rank and crashes. Every other process suspects P4 before it receives the rank, and
/// forwards the rank once. When P1 receives the rank for the second time, it removes the rank and
/// starts a new term.
#[test]
fn suspected_orphan_is_removed_on_second_lap() {
    let mut cluster = cluster(&[1, 2, 3, 4]);
    cluster.issue_command(p(4), Command::Elect);
    crash_and_suspect(&mut cluster, 4);
    pass_all(&mut cluster, &[(4, 1), (1, 2), (2, 3)]);
    assert_eq!(cluster.sent_count("election"), 4, "one lap");
    cluster.deliver_at((p(3), p(1)), 0);
    assert_eq!(cluster.sent_count("election"), 5, "P1 starts a new term");
    drain(&mut cluster);
    assert_eq!(terms(&mut cluster), [term_of(2, 3)]);
}

#[test]
fn rank_lost_in_a_crash_is_sent_again() {
    let mut cluster = cluster(&[4, 1, 2, 3]);
    cluster.issue_command(p(1), Command::Elect);
    cluster.crash(p(2));
    drain(&mut cluster);
    assert_eq!(cluster.sent_count("election"), 1);
    cluster.report_suspicion(p(1), p(2), PeerVerdict::Suspect);
    assert_eq!(cluster.messages_on_link((p(1), p(3))).len(), 1);
    drain(&mut cluster);
    assert_eq!(terms(&mut cluster), [term_of(1, 1)], "of the same term");
    assert_eq!((cluster.sent_count("election"), cluster.sent_count("elected")), (4, 3));
}

#[test]
fn announcement_lost_in_a_crash_is_sent_again() {
    let mut cluster = cluster(&[4, 1, 2, 3]);
    cluster.issue_command(p(1), Command::Elect);
    (1..=4).for_each(|at| cluster.deliver_at((p(at), p(at % 4 + 1)), 0));
    cluster.crash(p(2));
    drain(&mut cluster);
    suspicion_and_drain(&mut cluster, 1, 2, PeerVerdict::Suspect);
    assert_eq!(beliefs(&mut cluster), [Some(p(1)), None, Some(p(1)), Some(p(1))]);
}

#[test]
fn unrelated_crash_costs_one_message() {
    let mut cluster = cluster(&[4, 1, 2, 3]);
    command_and_drain(&mut cluster, 1, Command::Elect);
    let before = cluster.total_sent();
    terms(&mut cluster);
    crash_and_drain(&mut cluster, 3);
    assert_eq!(cluster.total_sent(), before + 1);
    assert_eq!(terms(&mut cluster), []);
}

/// Four adjacent processes of a ring of five crash. The last process repairs the ring and becomes
/// the leader (`docs/checklist.md`, section 3.4).
#[test]
fn last_of_five_leads() {
    for first in 0..5 {
        let mut cluster = cluster(&[1, 2, 3, 4, 5]);
        command_and_drain(&mut cluster, 1, Command::Elect);
        let rest: Vec<u32> = (0..4).map(|step| (first + step) % 5 + 1).collect();
        let last = (first + 4) % 5 + 1;
        rest.iter().for_each(|process| crash_and_suspect(&mut cluster, *process));
        command_and_drain(&mut cluster, last, Command::Elect);
        assert_eq!(beliefs(&mut cluster)[p(last).index()], Some(p(last)));
    }
}

#[test]
fn restart_starts_the_newest_term() {
    let mut cluster = cluster(&[1, 2, 3, 4]);
    command_and_drain(&mut cluster, 1, Command::Elect);
    crash_and_suspect(&mut cluster, 2);
    for _ in 0..3 {
        command_and_drain(&mut cluster, 1, Command::Elect);
    }
    assert_eq!(terms(&mut cluster).last(), Some(&term_of(4, 4)));
    recover_and_trust(&mut cluster, 2);
    drain(&mut cluster);
    assert_eq!((cluster.sent_count("query"), cluster.sent_count("answer")), (3, 3));
    assert_eq!(beliefs(&mut cluster), [Some(p(4)); 4]);
    assert!(cluster.process(p(2)).unwrap().highest_term() > 4);
}

/// `docs/checklist.md`, I-66: a recovered process with the highest rank becomes the leader.
#[test]
fn restarted_largest_leads_in_new_term() {
    let mut cluster = cluster(&[1, 2, 3, 4]);
    command_and_drain(&mut cluster, 1, Command::Elect);
    crash_and_drain(&mut cluster, 4);
    recover_and_trust(&mut cluster, 4);
    drain(&mut cluster);
    assert_eq!(beliefs(&mut cluster), [Some(p(4)); 4]);
    assert!(cluster.process(p(1)).unwrap().highest_term() > 2);
}

/// A leader that restarts before any process suspects it begins a new term. If it continued in its
/// old term, it could grant a lock twice.
#[test]
fn unnoticed_restart_leads_in_new_term() {
    let mut cluster = cluster(&[1, 2, 3]);
    command_and_drain(&mut cluster, 3, Command::Elect);
    assert_eq!(terms(&mut cluster), [term_of(1, 3)]);
    restart(&mut cluster, 3);
    drain(&mut cluster);
    assert_eq!(terms(&mut cluster), [term_of(2, 3)]);
    // P3's rank from before the restart returns only now. P3 does not become the leader by this
    // rank, but starts a new term.
    cluster.issue_command(p(3), Command::Elect);
    restart(&mut cluster, 3);
    drain(&mut cluster);
    assert_eq!(terms(&mut cluster), [term_of(4, 3)]);
}

/// A process suspects the live leader by mistake. This costs one more election, which the same
/// process wins (`docs/checklist.md`, I-61, section 5.7, *wrong timeouts*).
#[test]
fn false_suspicion_costs_one_election() {
    let mut cluster = cluster(&[1, 2, 3, 4]);
    command_and_drain(&mut cluster, 1, Command::Elect);
    terms(&mut cluster);
    suspicion_and_drain(&mut cluster, 2, 4, PeerVerdict::Suspect);
    let four = Some(p(4));
    assert_eq!(beliefs(&mut cluster), [four, None, four, four]);
    cluster.report_suspicion(p(2), p(4), PeerVerdict::Trust);
    assert_eq!(beliefs(&mut cluster)[1], four);
    assert_eq!(cluster.process(p(2)).unwrap().highest_term(), 2, "one more term");
}

#[test]
fn falsely_skipped_process_wins_when_trusted() {
    let mut cluster = cluster(&[1, 2, 3, 4]);
    cluster.report_suspicion(p(3), p(4), PeerVerdict::Suspect);
    command_and_drain(&mut cluster, 1, Command::Elect);
    let three = Some(p(3));
    assert_eq!(beliefs(&mut cluster), [three, three, three, None]);
    suspicion_and_drain(&mut cluster, 3, 4, PeerVerdict::Trust);
    assert_eq!(beliefs(&mut cluster), [Some(p(4)); 4]);
}

#[test]
fn is_the_fault_tolerant_variant_of_chang_roberts() {
    let variants = vec!["fault-tolerant".to_string()];
    let parameters = Parameters { variants, ..Parameters::with_defaults(4) };
    for (name, found) in [
        ("chang-roberts", "repaired-chang-roberts"),
        ("fifo:chang-roberts", "fifo:repaired-chang-roberts"),
        ("coordinated:chang-roberts", "coordinated:repaired-chang-roberts"),
    ] {
        assert_eq!(catalogue::card(name, &parameters).unwrap().name, found);
    }
    for (mutex, election, found) in [
        ("coordinated:chang-roberts", "chang-roberts", "coordinated:repaired-chang-roberts"),
        ("lamport", "chang-roberts", "lamport beside repaired-chang-roberts"),
        ("token-ring", "chang-roberts", "repaired-ring beside repaired-chang-roberts"),
    ] {
        assert_eq!(
            catalogue::mutex_and_election_card(mutex, election, &parameters).unwrap().name,
            found
        );
    }
    assert!(catalogue::mutex_and_election_card("lamport", "bully", &parameters).is_err());
    let plain = catalogue::card("chang-roberts", &Parameters::with_defaults(4)).unwrap();
    assert_eq!(plain.name, "chang-roberts");
    assert!(plain.variants.iter().any(|variant| variant.name == "fault-tolerant"));
}

/// Cluster whose failure detector suspects live processes for some time. In the end, all its
/// verdicts are correct.
struct FaultyCluster {
    cluster: TestCluster<FaultTolerantChangRoberts>,
    rng: SplitMix64,
    /// Pairs of observer and suspect.
    suspected: BTreeSet<(ProcessId, ProcessId)>,
}

impl FaultyCluster {
    /// Returns the pairs of observer and peer for which the detector has a new verdict.
    fn pending_verdicts(&self) -> Vec<(ProcessId, ProcessId)> {
        let all_processes = self.cluster.process_ids();
        let pairs = self.cluster.live_processes().into_iter().flat_map(|observer| {
            all_processes
                .iter()
                .filter(move |peer| **peer != observer)
                .map(move |peer| (observer, *peer))
        });
        pairs
            .filter(|(at, peer)| {
                self.suspected.contains(&(*at, *peer)) == self.cluster.is_up(*peer)
            })
            .collect()
    }

    fn flip_verdict(&mut self, (observer, peer): (ProcessId, ProcessId)) {
        let verdict = match self.suspected.remove(&(observer, peer)) {
            true => PeerVerdict::Trust,
            false => PeerVerdict::Suspect,
        };
        if verdict == PeerVerdict::Suspect {
            self.suspected.insert((observer, peer));
        }
        self.cluster.report_suspicion(observer, peer, verdict);
    }

    fn deliver(&mut self) {
        if let Some(link) = self.rng.pick(&self.cluster.links_in_use()).copied() {
            self.cluster.deliver(link, &mut self.rng);
        }
    }

    /// Crashes or restarts a process, starts an election, or makes a false suspicion.
    fn inject_fault(&mut self) {
        let at = *self.rng.pick(&self.cluster.process_ids()).expect("the cluster is not empty");
        let other = *self.rng.pick(&self.cluster.process_ids()).expect("the cluster is not empty");
        match self.rng.below(4) {
            0 if self.cluster.is_up(at) => {
                self.cluster.crash(at);
                self.suspected.retain(|(observer, _)| *observer != at);
            }
            1 if !self.cluster.is_up(at) => self.cluster.recover(at),
            2 if self.cluster.is_up(at) => self.cluster.issue_command(at, Command::Elect),
            3 if self.cluster.is_up(at) && at != other => self.flip_verdict((at, other)),
            _ => {}
        }
    }

    /// Delivers all messages and corrects all wrong verdicts of the detectors, in random order.
    fn settle(&mut self) {
        for _ in 0..100_000 {
            let pending_verdicts = self.pending_verdicts();
            match self.rng.pick(&pending_verdicts).copied() {
                Some(pair) if self.rng.one_in(3) => self.flip_verdict(pair),
                None if self.cluster.links_in_use().is_empty() => return,
                _ => self.deliver(),
            }
        }
        panic!("too many elections");
    }
}

#[test]
fn agrees_on_largest_after_random_faults() {
    for seed in 0..3000 {
        let mut rng = SplitMix64(seed);
        let size = 2 + rng.below(4) as u32;
        let mut ids: Vec<u32> = (1..=size).collect();
        rng.shuffle(&mut ids);
        let mut faulty = FaultyCluster { cluster: cluster(&ids), rng, suspected: BTreeSet::new() };
        for _ in 0..80 {
            match faulty.rng.below(8) {
                0 => faulty.inject_fault(),
                1 => {
                    let pending_verdicts = faulty.pending_verdicts();
                    if let Some(pair) = faulty.rng.pick(&pending_verdicts).copied() {
                        faulty.flip_verdict(pair);
                    }
                }
                _ => faulty.deliver(),
            }
        }
        if faulty.cluster.live_processes().is_empty() {
            continue;
        }
        faulty.settle();
        let live = faulty.cluster.live_processes();
        let largest = live.iter().max_by_key(|at| ids[at.index()]).copied();
        let believed = unchecked_beliefs(&mut faulty.cluster);
        let some = believed[live[0].index()].and(largest);
        assert!(live.iter().all(|at| believed[at.index()] == some), "seed {seed}: {believed:?}");
        faulty.cluster.issue_command(live[0], Command::Elect);
        faulty.settle();
        let believed = beliefs(&mut faulty.cluster);
        assert!(live.iter().all(|at| believed[at.index()] == largest), "seed {seed}: {believed:?}");
    }
}
