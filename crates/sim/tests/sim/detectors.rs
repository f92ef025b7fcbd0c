//! Failure detectors over many seeds: completeness, accuracy, and detection time.

use tenure_algorithms::compose::{WithDetector, with_detector};
use tenure_algorithms::detector::heartbeat_detector::{HeartbeatDetector, TimeoutPolicy};
use tenure_algorithms::detector::{heartbeat, phi_accrual};
use tenure_core::{
    Effects, Group, LocalTime, PeerVerdict, ProcessId, Protocol, TICKS_PER_TIME_UNIT, Timing,
};
use tenure_sim::{Chance, CrashTrigger, Distribution, Random, Settings, Simulation, Workload};

use crate::common::runs::{crash, seeded};

/// Protocol whose processes store the reports of their failure detectors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Witness {
    booted: LocalTime,
    /// Received reports: the time in units, the reported peer, and the verdict.
    heard: Vec<(u64, ProcessId, PeerVerdict)>,
}

impl Protocol for Witness {
    type Config = ();
    type Command = ();
    type Event = ();
    type Message = ();
    type Timer = ();
    type Stable = ();

    fn boot(_: Group, (): &(), _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        Witness { booted: fx.local_clock(), heard: Vec::new() }
    }

    fn stable(&self) {}

    fn on_command(&mut self, (): (), _: &mut impl Effects<Self>) {}

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        let units = (fx.local_clock() - self.booted) / TICKS_PER_TIME_UNIT;
        self.heard.push((units, peer, verdict));
    }
}

impl Witness {
    fn suspects(&self, peer: ProcessId) -> bool {
        let last = self.heard.iter().rfind(|(_, of, _)| *of == peer);
        last.is_some_and(|(_, _, verdict)| *verdict == PeerVerdict::Suspect)
    }

    fn suspicions(&self) -> impl Iterator<Item = u64> + '_ {
        let suspicions =
            self.heard.iter().filter(|(_, _, verdict)| *verdict == PeerVerdict::Suspect);
        suspicions.map(|(units, ..)| *units)
    }
}

/// Runs a detector for `units` units. Returns the processes. Each process contains the reports that
/// it has received.
fn run<C: TimeoutPolicy>(config: &C, mut settings: Settings, units: u64) -> Vec<Witness> {
    settings.detector = None;
    settings.limits.until = Some(units * TICKS_PER_TIME_UNIT);
    let config = with_detector::Config { detector: config.clone(), inner: () };
    let simulation =
        Simulation::<WithDetector<HeartbeatDetector<C>, Witness>>::new(config, settings);
    let (_, processes) = simulation.run_and_inspect().unwrap();
    processes.iter().map(|process| process.inner().clone()).collect()
}

fn settings(size: u32, seed: u64) -> Settings {
    let latency = Distribution::LogNormal { median: 10 * TICKS_PER_TIME_UNIT, sigma: 0.5 };
    seeded(size, seed, Workload::default(), latency)
}

fn complete<C: TimeoutPolicy>(config: &C) {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut settings = settings(5, seed);
        settings.network.loss = Chance::with_probability(0.05);
        let doomed = &random.permutation(5)[..1 + random.below(4) as usize];
        let mut time = || CrashTrigger::At(random.below(5_000) * TICKS_PER_TIME_UNIT);
        settings.faults = doomed.iter().map(|it| crash(*it, time())).collect();
        for (place, witness) in run(config, settings, 15_000).iter().enumerate() {
            for peer in doomed.iter().filter(|_| !doomed.contains(&(place as u32))) {
                assert!(witness.suspects(ProcessId(*peer)), "seed {seed}: P{}", place + 1);
            }
        }
    }
}

#[test]
fn crashed_processes_are_eventually_suspected_by_all() {
    complete(&heartbeat::Config::default());
    complete(&phi_accrual::Config::default());
}

/// Returns the number of false suspicions before and after the time `after`, in units.
fn mistakes(witnesses: &[Witness], after: u64) -> (usize, usize) {
    let all = || witnesses.iter().flat_map(Witness::suspicions);
    (all().filter(|it| *it < after).count(), all().filter(|it| *it >= after).count())
}

/// Returns the largest number of times that one process suspects another process. Counts only
/// suspicions after the time `after`, in units.
fn max_suspicions_of_peer(witnesses: &[Witness], after: u64) -> usize {
    let of = |witness: &Witness, of: ProcessId| {
        let late = |it: &&(u64, ProcessId, PeerVerdict)| it.0 >= after && it.1 == of;
        witness.heard.iter().filter(late).filter(|it| it.2 == PeerVerdict::Suspect).count()
    };
    let peers = 0..witnesses.len();
    let all = witnesses
        .iter()
        .flat_map(|it| peers.clone().map(|peer| of(it, ProcessId::from_index(peer))));
    all.max().unwrap_or(0)
}

/// From time 2,000 units on, delays are bounded, and no interval between two heartbeats exceeds 350
/// units. Each false suspicion raises the timeout of a detector by 100 units. A phi-accrual
/// detector starts with a timeout of 50 units, so it may still suspect a live peer at most three
/// times. A heartbeat detector starts with 300 units, so it may suspect a live peer at most once.
#[test]
fn mistakes_end_under_partial_synchrony() {
    let mut before = (0, 0);
    for seed in 0..40 {
        let mut settings = settings(4, seed);
        settings.time.timing = Some(Timing::Partial);
        settings.time.gst = 2_000 * TICKS_PER_TIME_UNIT;
        settings.network.latency = Distribution::between_time_units(0, 300).into();
        let phi = run(&phi_accrual::Config::default(), settings.clone(), 40_000);
        let beat = run(&heartbeat::Config::default(), settings, 40_000);
        assert!(
            max_suspicions_of_peer(&phi, 2_350) <= 3 && max_suspicions_of_peer(&beat, 2_350) <= 1,
            "seed {seed}"
        );
        before = (before.0 + mistakes(&phi, 2_350).0, before.1 + mistakes(&beat, 2_350).0);
    }
    assert!(before.0 > 0 && before.1 > 0, "there were none: {before:?}");
}

/// Runs a detector that does not adapt to the measured delays. In the last third of every run, it
/// must still suspect live processes.
#[test]
fn mistakes_continue_without_adaptation() {
    let config = phi_accrual::Config {
        increment: 0,
        threshold_phi_thousandths: 1_000,
        ..phi_accrual::Config::default()
    };
    let late =
        (0..20).filter(|seed| mistakes(&run(&config, settings(4, *seed), 60_000), 40_000).1 > 0);
    assert_eq!(late.count(), 20);
}

/// Returns the mean time from a crash until a peer suspects the crashed process, in units. The mean
/// covers all seeds and peers.
fn detection<C: TimeoutPolicy>(config: &C) -> f64 {
    let (mut sum, mut count) = (0, 0);
    for seed in 0..100 {
        let mut settings = settings(4, seed);
        settings.faults = vec![crash(0, CrashTrigger::At(10_000 * TICKS_PER_TIME_UNIT))];
        for witness in &run(config, settings, 20_000)[1..] {
            let last = witness.heard.iter().rfind(|(_, of, _)| *of == ProcessId(0));
            let (units, ..) = last.expect("it crashed");
            // If the peer was already suspected when it crashed, the detection time is 0.
            sum += units.saturating_sub(10_000);
            count += 1;
        }
    }
    sum as f64 / f64::from(count)
}

/// A phi accrual detector must suspect a crashed process sooner than a heartbeat detector. The
/// timeout of the heartbeat detector covers the worst case. The latency is log-normal with a median
/// of 10 units.
#[test]
fn phi_detects_crash_sooner_than_worst_case_heartbeat() {
    let learning = detection(&phi_accrual::Config::default());
    let pure = detection(&phi_accrual::Config { increment: 0, ..phi_accrual::Config::default() });
    let beat = detection(&heartbeat::Config::default());
    assert!(pure <= learning && learning < beat, "{pure}, {learning}, {beat}");
    assert!((60.0..80.0).contains(&pure) && beat > 250.0, "{pure}, {beat}");
}

#[test]
fn zero_threshold_always_suspects() {
    let config =
        phi_accrual::Config { threshold_phi_thousandths: 0, ..phi_accrual::Config::default() };
    for (place, witness) in run(&config, settings(4, 1), 5_000).iter().enumerate() {
        let peers = (0..4).filter(|peer| *peer != place as u32);
        assert!(peers.map(ProcessId).all(|peer| witness.suspects(peer)));
        assert!(witness.suspicions().count() > 250, "after every heartbeat");
    }
}

#[test]
fn higher_threshold_reduces_mistakes_under_loss() {
    let count = |loss, threshold| {
        let config = phi_accrual::Config {
            increment: 0,
            threshold_phi_thousandths: threshold,
            ..Default::default()
        };
        let runs = (0..40).map(|seed| {
            let mut settings = settings(4, seed);
            settings.network.loss = Chance::with_probability(loss);
            mistakes(&run(&config, settings, 20_000), 0).1
        });
        runs.sum::<usize>()
    };
    let (none, some) = (count(0.0, 8_000), count(0.1, 8_000));
    assert!(10 * none < some, "{none}, {some}");
    // With a loss of 30 %, the detector makes fewer mistakes than with 10 %: it has adapted to the
    // larger variation of the intervals.
    assert!(count(0.3, 8_000) < some);
    assert!(count(0.1, 16_000) < some && some < count(0.1, 4_000));
}
