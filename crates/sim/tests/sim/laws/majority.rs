//! Laws of locks that need votes of live processes, over many seeds.

use std::collections::BTreeSet;

use tenure_algorithms::mutex::FaultTolerantMaekawa;
use tenure_algorithms::mutex::majority::Config;
use tenure_core::quorum::QuorumKind;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Algorithm, Fence, Monitor, Observation, ProcessId, Property, Violation};
use tenure_sim::{CrashTrigger, Distribution, Fault, Random, RunReport, Settings, Workload};

use crate::by_service::{simulate, simulation};
use crate::common::runs::{assert_hold, assert_served, busy, crash, is_violated};

fn run(kind: QuorumKind, settings: Settings) -> RunReport {
    let config = Config::with_quorum_kind(kind, settings.size).unwrap();
    simulate::<FaultTolerantMaekawa>(config, settings)
}

/// Returns faults in which `crashes` processes crash and stay down. Each of these processes crashes
/// at a random time, inside the critical section, or at the arrival of a message.
fn crashes(size: u32, crashes: u32, seed: u64) -> Vec<Fault> {
    let mut random = Random::new(seed);
    let processes = random.permutation(size);
    let mut when = || match random.below(3) {
        0 => CrashTrigger::Inside { entry: 1, after: random.below(2) * 500_000 },
        1 => CrashTrigger::OnMessage(1 + random.below(20)),
        _ => CrashTrigger::At(random.below(80) * 1_000_000),
    };
    processes.into_iter().take(crashes as usize).map(|it| crash(it, when())).collect()
}

#[test]
fn entry_cost_matches_card_without_crash() {
    for (kind, size) in [
        (QuorumKind::Majority, 5),
        (QuorumKind::Majority, 6),
        (QuorumKind::Tree, 7),
        (QuorumKind::Plane, 7),
        (QuorumKind::Grid, 9),
    ] {
        let cost = FaultTolerantMaekawa::card(&Config::with_quorum_kind(kind, size).unwrap(), size)
            .messages;
        for seed in 0..300 {
            let report = run(kind, busy(size, 3, seed));
            let context = format!("{kind:?}, n = {size}, seed {seed}");
            assert_served(&report, &context);
            let entries = u64::from(size) * 3;
            assert_eq!(report.metrics.entry_count, entries, "{context}");
            let range = cost.least * entries..=cost.most.unwrap() * entries;
            assert!(range.contains(&report.metrics.sent), "{context}: {}", report.metrics.sent);
        }
    }
}

/// Crashes at most ⌊(N−1)/2⌋ processes if the quorums are majorities. For all other kinds of
/// quorums, crashes at most two processes. At least one quorum stays up, so all processes that are
/// up must still enter.
#[test]
fn survives_crashes_while_quorum_remains() {
    for (kind, size, most) in [
        (QuorumKind::Majority, 5, 2),
        (QuorumKind::Majority, 7, 3),
        (QuorumKind::Tree, 7, 2),
        (QuorumKind::Plane, 7, 2),
        (QuorumKind::Grid, 9, 2),
    ] {
        for seed in 0..1000 {
            let mut settings = busy(size, 3, seed);
            settings.faults = crashes(size, 1 + (seed as u32) % most, seed);
            assert_served(&run(kind, settings), &format!("{kind:?}, n = {size}, seed {seed}"));
        }
    }
}

/// Crashes one process more than the lock tolerates. All other processes must then wait forever,
/// and no process may enter.
#[test]
fn no_entry_without_majority() {
    for (size, seeds) in [(5, 100), (7, 100)] {
        for seed in 0..seeds {
            let mut settings = Settings { beyond_assumptions: true, ..busy(size, 1, seed) };
            let gone = size / 2 + 1;
            let down = Random::new(seed).permutation(size).into_iter().take(gone as usize);
            settings.faults = down.map(|it| crash(it, CrashTrigger::At(0))).collect();
            let report = run(QuorumKind::Majority, settings);
            let context = format!("n = {size}, seed {seed}");
            assert_eq!(report.metrics.entry_count, 0, "{context}");
            assert_eq!(report.blocked.len(), (size - gone) as usize, "{context}");
            assert!(is_violated(&report, "starvation-freedom"), "{context}");
        }
    }
    let mut blocked = 0;
    for seed in 0..300 {
        let mut settings = Settings { beyond_assumptions: true, ..busy(5, 3, seed) };
        settings.faults = crashes(5, 3, seed);
        let report = run(QuorumKind::Majority, settings);
        assert_hold(&report, &["mutual-exclusion", "fencing"], &format!("seed {seed}"));
        blocked += u32::from(!report.blocked.is_empty());
    }
    assert!(blocked > 200, "{blocked} of 300");
}

/// The root of the tree is down. A quorum must then consist of two paths, one below each child of
/// the root. A quorum has 4 of the 7 processes, including the requesting process.
#[test]
fn tree_without_root_costs_additional_path() {
    for seed in 0..100 {
        let sent = |down| {
            let mut settings = busy(7, 0, seed);
            (settings.workload, settings.down) = (Workload::sequential(30), down);
            let report = run(QuorumKind::Tree, settings);
            assert_eq!(report.failures().next(), None, "seed {seed}");
            (report.metrics.entry_count, report.metrics.sent)
        };
        assert_eq!(sent(Vec::new()), (30, 30 * 3 * 2), "seed {seed}");
        // The first process may request before it suspects the root. It then withdraws its requests
        // to the two other members of its quorum, which costs at most 6 further messages.
        let (entered, messages) = sent(vec![ProcessId(0)]);
        let range = entered * 9..=entered * 9 + 6;
        assert!(range.contains(&messages), "seed {seed}: {messages} for {entered}");
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct DifferentFences(BTreeSet<Fence>);

impl Monitor<Command, Event> for DifferentFences {
    fn property(&self) -> Property {
        Property::Custom("different-fences")
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observation<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observation::Event(Event::Entered { fence }) if !self.0.insert(*fence) => {
                let description = format!("{at} entered with fence {fence}, which another had");
                Err(Violation { at, message: description })
            }
            _ => Ok(()),
        }
    }
}

/// Returns eight false suspicions. In each of them, a random process suspects another random
/// process for a limited time.
fn suspicions(size: u32, random: &mut Random) -> Vec<Fault> {
    let suspicion = |_| {
        let pair = random.permutation(size);
        let from = random.below(100) * 1_000_000;
        let until = Some(from + (1 + random.below(20)) * 1_000_000);
        let (observer, peer) = (ProcessId(pair[0]), ProcessId(pair[1]));
        Fault::Suspicion { observer, peer, from, until }
    };
    (0..8).map(suspicion).collect()
}

#[test]
fn false_suspicions_admit_two_with_different_fences() {
    for (kind, size) in [
        (QuorumKind::Majority, 3),
        (QuorumKind::Majority, 5),
        (QuorumKind::Tree, 7),
        (QuorumKind::Plane, 7),
    ] {
        let mut two_inside = 0;
        for seed in 0..1000 {
            let mut random = Random::new(seed);
            let mut settings = busy(size, 3, seed);
            settings.workload.locking.as_mut().unwrap().hold =
                Distribution::time_units(random.below(20));
            settings.faults = suspicions(size, &mut random);
            settings.beyond_assumptions = true;
            let config = Config::with_quorum_kind(kind, size).unwrap();
            let simulation = simulation::<FaultTolerantMaekawa>(config, settings)
                .with_monitor("different-fences", DifferentFences::default());
            let report = simulation.run().unwrap();
            let context = format!("{kind:?}, n = {size}, seed {seed}");
            assert_hold(&report, &["different-fences", "starvation-freedom"], &context);
            assert_eq!(report.metrics.entry_count, u64::from(size) * 3, "{context}");
            two_inside += u32::from(is_violated(&report, "mutual-exclusion"));
        }
        assert!(two_inside > 0, "{kind:?}, n = {size}: the control");
    }
}
