//! Paxos: a majority promises, and then a majority accepts.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::Paxos;
use tenure_algorithms::agreement::paxos::VariantId;
use tenure_core::{Algorithm, ChannelOrder, PeerVerdict};
use tenure_trace::{SplitMix64, TestCluster};

use crate::support::consensus::{are_different, decided, propose};
use crate::support::{p, pass_all, restart};

fn cluster(size: u32) -> TestCluster<Paxos> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, Variants::none())
}

#[test]
fn single_leader_decides_with_five_messages_per_peer() {
    for size in 1..=7 {
        let mut cluster = cluster(size);
        (1..=size).for_each(|at| propose(&mut cluster, at));
        cluster.run_until_quiescent();
        let all: Vec<(u32, u64)> = (1..=size).map(|at| (at, 1)).collect();
        assert_eq!(decided(&mut cluster), all);
        let cost = Paxos::card(&Variants::none(), size).messages;
        assert_eq!(cluster.total_sent(), cost.least, "{size}");
        assert_eq!(cost.least, 5 * u64::from(size - 1));
    }
}

#[test]
fn later_ballots_keep_the_chosen_value() {
    let mut cluster = cluster(3);
    (1..=3).for_each(|at| propose(&mut cluster, at));
    pass_all(&mut cluster, &[(1, 2), (2, 1)]);
    // P2 accepts, and P1 never learns of it.
    cluster.deliver_at((p(1), p(2)), 0);
    cluster.crash(p(1));
    cluster.report_suspicion(p(3), p(1), PeerVerdict::Suspect);
    cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
    cluster.run_until_quiescent();
    assert_eq!(decided(&mut cluster), [(2, 1), (3, 1)]);
}

#[test]
fn old_ballot_is_refused_after_newer_promise() {
    let mut cluster = cluster(3);
    propose(&mut cluster, 1);
    propose(&mut cluster, 2);
    cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
    // P2's ballot reaches P3 first.
    pass_all(&mut cluster, &[(2, 3), (1, 3)]);
    let refused = cluster
        .messages_on_link((p(3), p(1)))
        .iter()
        .any(|it| format!("{it:?}").contains("Refused"));
    assert!(refused);
    cluster.run_until_quiescent();
    let decided = decided(&mut cluster);
    assert_eq!(decided.len(), 3);
    assert!(!are_different(&decided), "{decided:?}");
}

#[test]
fn decides_only_with_a_majority() {
    let mut cluster = cluster(3);
    cluster.crash(p(2));
    cluster.crash(p(3));
    propose(&mut cluster, 1);
    cluster.run_until_quiescent();
    assert_eq!(decided(&mut cluster), []);
    cluster.recover(p(3));
    cluster.run_until_quiescent();
    assert_eq!(decided(&mut cluster), [(1, 1), (3, 1)]);
    cluster.recover(p(2));
    cluster.run_until_quiescent();
    assert_eq!(decided(&mut cluster), [(2, 1)]);
}

#[test]
fn restart_keeps_promises_and_reports_the_decision() {
    let mut cluster = cluster(3);
    (1..=3).for_each(|at| propose(&mut cluster, at));
    cluster.run_until_quiescent();
    assert_eq!(decided(&mut cluster), [(1, 1), (2, 1), (3, 1)]);
    let before = cluster.process(p(2)).unwrap().highest_term();
    restart(&mut cluster, 2);
    cluster.run_until_quiescent();
    assert_eq!(cluster.process(p(2)).unwrap().highest_term(), before);
    assert_eq!(decided(&mut cluster), [(2, 1)]);
}

/// P1 saves the decision and crashes before it sends any message of this step. The other processes
/// do not know the decision and wait for P1, which leads. So P1 announces it after its recovery.
#[test]
fn recovered_process_announces_its_decision() {
    let mut cluster = cluster(3);
    propose(&mut cluster, 1);
    pass_all(&mut cluster, &[(1, 2), (2, 1), (1, 2)]);
    cluster.mute(p(1));
    pass_all(&mut cluster, &[(2, 1)]);
    assert_eq!(decided(&mut cluster), []);
    restart(&mut cluster, 1);
    cluster.run_until_quiescent();
    assert_eq!(decided(&mut cluster), [(1, 1), (2, 1), (3, 1)]);
}

/// Runs a schedule with random suspicions, delays, duplicates and losses. Returns the processes
/// that decided, with their decisions.
fn run_with_faults(size: u32, variants: Variants<VariantId>, seed: u64) -> Vec<(u32, u64)> {
    let mut cluster: TestCluster<Paxos> =
        TestCluster::with_same_config(size, ChannelOrder::Reordered, variants);
    let mut rng = SplitMix64(seed);
    (1..=size).for_each(|at| propose(&mut cluster, at));
    let mut decisions = Vec::new();
    for _ in 0..120 {
        let links = cluster.links_in_use();
        let [at, peer] = [1, 2].map(|_| p(rng.below(size as usize) as u32 + 1));
        match rng.below(12) {
            0 if at != peer => cluster.report_suspicion(at, peer, PeerVerdict::Suspect),
            1 if at != peer => cluster.report_suspicion(at, peer, PeerVerdict::Trust),
            2 if !links.is_empty() => cluster.lose_oldest(links[rng.below(links.len())]),
            3 if !links.is_empty() => cluster.duplicate_oldest(links[rng.below(links.len())]),
            4 => {
                cluster.crash(at);
                cluster.recover(at);
            }
            _ if !links.is_empty() => {
                let link = links[rng.below(links.len())];
                cluster.deliver(link, &mut rng);
            }
            _ => {}
        }
        decisions.extend(decided(&mut cluster));
    }
    decisions
}

#[test]
fn agreement_holds_for_any_detector_and_network() {
    let mut some = 0;
    for seed in 0..3_000 {
        let decisions = run_with_faults(3, Variants::none(), seed);
        assert!(!are_different(&decisions), "seed {seed}: {decisions:?}");
        some += usize::from(!decisions.is_empty());
    }
    assert!(some > 1_000, "only {some} runs decide");
}

#[test]
fn each_mistake_breaks_agreement() {
    // With three processes, the quorum of the variant `half-quorum` is still a majority. So this
    // variant runs with two processes.
    for (size, switch) in
        [(3, VariantId::PromiseNotSaved), (3, VariantId::AnyValue), (2, VariantId::HalfQuorum)]
    {
        let mut seeds = 0..20_000;
        let found = seeds
            .any(|seed| are_different(&run_with_faults(size, Variants::none().with(switch), seed)));
        assert!(found, "{switch:?}");
    }
}
