//! Consensus of Chandra and Toueg: coordinators take turns until a majority adopts one estimate.

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::ChandraToueg;
use tenure_algorithms::agreement::chandra_toueg::VariantId;
use tenure_core::{Algorithm, ChannelOrder, PeerVerdict};
use tenure_trace::{SplitMix64, TestCluster};

use crate::support::consensus::{are_different, decided, propose};
use crate::support::{p, report};

fn cluster(size: u32, variants: Variants<VariantId>) -> TestCluster<ChandraToueg> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, variants)
}

#[test]
fn all_decide_one_proposal_without_faults() {
    for size in 1..=7 {
        let mut cluster = cluster(size, Variants::none());
        (1..=size).for_each(|at| propose(&mut cluster, at));
        cluster.run_until_quiescent();
        let decided = decided(&mut cluster);
        let processes: Vec<u32> = decided.iter().map(|(at, _)| *at).collect();
        assert_eq!(processes, (1..=size).collect::<Vec<u32>>());
        assert!(!are_different(&decided), "{decided:?}");
        assert!((1..=u64::from(size)).contains(&decided[0].1));
        let least = ChandraToueg::card(&Variants::none(), size).messages.least;
        assert!(cluster.total_sent() >= least, "{size}");
    }
}

#[test]
fn next_coordinator_decides_after_crash() {
    for patient in [false, true] {
        let variants = Variants::none();
        let variants = if patient { variants.with(VariantId::Patient) } else { variants };
        let mut cluster = cluster(3, variants);
        cluster.crash(p(1));
        propose(&mut cluster, 2);
        propose(&mut cluster, 3);
        report(&mut cluster, 1, PeerVerdict::Suspect);
        cluster.run_until_quiescent();
        let expected = if patient { vec![] } else { vec![(2, 3), (3, 3)] };
        assert_eq!(decided(&mut cluster), expected);
    }
}

#[test]
fn blocks_without_majority() {
    let mut cluster = cluster(3, Variants::none());
    cluster.crash(p(2));
    cluster.crash(p(3));
    propose(&mut cluster, 1);
    cluster.report_suspicion(p(1), p(2), PeerVerdict::Suspect);
    cluster.report_suspicion(p(1), p(3), PeerVerdict::Suspect);
    cluster.run_until_quiescent();
    assert_eq!(decided(&mut cluster), []);
}

/// A process may receive a refusal in a round before it has received any estimate for this round.
#[test]
fn early_answer_counts_in_its_round() {
    let mut cluster = cluster(3, Variants::none());
    propose(&mut cluster, 2);
    cluster.report_suspicion(p(2), p(1), PeerVerdict::Suspect);
    propose(&mut cluster, 3);
    cluster.crash(p(3));
    // P1 receives P2's refusal of round 1 before it makes its own proposal.
    cluster.deliver_at((p(2), p(1)), 1);
    propose(&mut cluster, 1);
    cluster.run_until_quiescent();
    cluster.report_suspicion(p(2), p(1), PeerVerdict::Trust);
    report(&mut cluster, 3, PeerVerdict::Suspect);
    cluster.run_until_quiescent();
    assert_eq!(decided(&mut cluster).len(), 2, "P1 and P2 are a majority");
}

/// Runs a schedule with random suspicions, delays, duplicates and losses. Returns the processes
/// that decided, with their decisions.
fn run_with_faults(variants: Variants<VariantId>, seed: u64) -> Vec<(u32, u64)> {
    let mut cluster = cluster(3, variants);
    let mut rng = SplitMix64(seed);
    (1..=3).for_each(|at| propose(&mut cluster, at));
    let mut decisions = Vec::new();
    for _ in 0..120 {
        let links = cluster.links_in_use();
        let [at, peer] = [1, 2].map(|_| p(rng.below(3) as u32 + 1));
        match rng.below(10) {
            0 if at != peer => cluster.report_suspicion(at, peer, PeerVerdict::Suspect),
            1 if at != peer => cluster.report_suspicion(at, peer, PeerVerdict::Trust),
            2 if !links.is_empty() => cluster.duplicate_oldest(links[rng.below(links.len())]),
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
fn agreement_holds_for_any_detector() {
    let mut some = 0;
    for seed in 0..3_000 {
        let decisions = run_with_faults(Variants::none(), seed);
        assert!(!are_different(&decisions), "seed {seed}: {decisions:?}");
        some += usize::from(!decisions.is_empty());
    }
    assert!(some > 1_000, "only {some} runs decide");
}

#[test]
fn each_mistake_breaks_agreement() {
    for switch in [VariantId::OwnEstimate, VariantId::Unstamped] {
        let mut seeds = 0..20_000;
        let found =
            seeds.any(|seed| are_different(&run_with_faults(Variants::none().with(switch), seed)));
        assert!(found, "{switch:?}");
    }
}
