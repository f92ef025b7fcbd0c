//! Comparisons over many seeds. Each lock that tolerates crashes is compared with the lock on which
//! it is based.

use tenure_algorithms::catalogue::SumTypeMember;
use tenure_algorithms::mutex::{
    FaultTolerantRicartAgrawala, FaultTolerantTokenRing, NishioLiManning, RicartAgrawala,
    SuzukiKasami, TokenRing,
};
use tenure_core::ProcessId;
use tenure_sim::{CrashTrigger, Distribution, Fault, Random, RunReport, Settings};
use tenure_trace::RecordableProtocol;

use crate::by_service::simulate;
use crate::common::runs::{assert_hold, assert_served, busy, crash, is_violated};

/// Returns faults in which all processes except one crash, at random times. The seed selects the
/// process that survives.
fn all_but_one(size: u32, seed: u64) -> Vec<Fault> {
    let mut random = Random::new(seed);
    let first = u32::try_from(random.below(u64::from(size))).unwrap();
    (0..size - 1)
        .map(|step| {
            let when = match random.below(4) {
                0 => CrashTrigger::Inside { entry: 1 + random.below(2), after: 0 },
                1 => CrashTrigger::Waiting { request: 1, after: random.below(9) * 1_000_000 },
                2 => CrashTrigger::OnMessage(1 + random.below(9)),
                _ => CrashTrigger::At(random.below(60) * 1_000_000),
            };
            crash((first + step) % size, when)
        })
        .collect()
}

fn false_suspicions_of_one(size: u32, seed: u64) -> Vec<Fault> {
    let mut random = Random::new(seed);
    let peer = ProcessId(u32::try_from(random.below(u64::from(size))).unwrap());
    let from = random.below(90) * 1_000_000;
    let others = (0..size).map(ProcessId).filter(|observer| *observer != peer);
    let until = Some(from + 20_000_000);
    others.map(|observer| Fault::Suspicion { observer, peer, from, until }).collect()
}

fn run<P: SumTypeMember<Sum: RecordableProtocol, Config: Default>>(
    settings: Settings,
) -> RunReport {
    simulate::<P>(P::Config::default(), settings)
}

/// Returns the number of runs in which a process waits forever. Runs have five or seven processes.
fn blocked<P: SumTypeMember<Sum: RecordableProtocol, Config: Default>>(seeds: u64) -> u64 {
    let one = |size, seed| {
        let mut settings = busy(size, 3, seed);
        settings.faults = all_but_one(size, seed);
        settings.beyond_assumptions = true;
        let report = run::<P>(settings);
        assert_hold(&report, &["mutual-exclusion"], &format!("seed {seed}"));
        u64::from(is_violated(&report, "starvation-freedom"))
    };
    (0..seeds).map(|seed| one(if seed % 2 == 0 { 5 } else { 7 }, seed)).sum()
}

fn survives_the_crash_of_all_but_one<P: SumTypeMember<Sum: RecordableProtocol, Config: Default>>(
    seeds: u64,
) {
    for size in [3, 5, 7] {
        for seed in 0..seeds {
            let mut settings = busy(size, 3, seed);
            settings.faults = all_but_one(size, seed);
            let report = run::<P>(settings);
            assert_served(&report, &format!("n = {size}, seed {seed}"));
            assert!(report.metrics.entry_count >= 3, "n = {size}, seed {seed}: the survivor's");
        }
    }
}

#[test]
fn tolerant_locks_survive_all_but_one_crash() {
    survives_the_crash_of_all_but_one::<FaultTolerantTokenRing>(100);
    survives_the_crash_of_all_but_one::<FaultTolerantRicartAgrawala>(1000);
    survives_the_crash_of_all_but_one::<NishioLiManning>(1000);
}

#[test]
fn plain_locks_block_after_same_crashes() {
    assert_eq!(blocked::<RicartAgrawala>(60), 60);
    // In one run the survivor has held the token all along.
    assert_eq!(blocked::<SuzukiKasami>(60), 59);
}

/// Asserts that two algorithms send equally many messages and end at the same time. Compares runs
/// with five and seven processes, for each seed.
fn assert_same_cost<P, Q>()
where
    P: SumTypeMember<Sum: RecordableProtocol, Config: Default>,
    Q: SumTypeMember<Sum: RecordableProtocol, Config: Default>,
{
    for size in [5, 7] {
        for seed in 0..100 {
            let (tolerant, plain) = (run::<P>(busy(size, 3, seed)), run::<Q>(busy(size, 3, seed)));
            assert_eq!(tolerant.failures().next(), None, "n = {size}, seed {seed}");
            assert_eq!(
                tolerant.metrics.entry_count,
                u64::from(3 * size),
                "n = {size}, seed {seed}"
            );
            assert_eq!(tolerant.metrics.sent, plain.metrics.sent, "n = {size}, seed {seed}");
            assert_eq!(tolerant.finished_at, plain.finished_at, "n = {size}, seed {seed}");
        }
    }
}

#[test]
fn tolerant_locks_cost_same_without_crash() {
    assert_same_cost::<FaultTolerantRicartAgrawala, RicartAgrawala>();
    assert_same_cost::<NishioLiManning, SuzukiKasami>();
    assert_same_cost::<FaultTolerantTokenRing, TokenRing>();
}

/// Simulates 500 runs with a false suspicion. Returns the number of runs in which two processes are
/// inside the critical section at the same time.
fn count_runs_with_two_inside<P: SumTypeMember<Sum: RecordableProtocol, Config: Default>>() -> usize
{
    let one = |seed: &u64| {
        let mut settings = busy(5, 3, *seed);
        // A hold takes longer than an inquiry to all processes.
        settings.workload.locking.as_mut().expect("they lock").hold = Distribution::time_units(12);
        settings.faults = false_suspicions_of_one(5, *seed);
        settings.beyond_assumptions = true;
        let report = run::<P>(settings);
        assert_hold(&report, &["starvation-freedom"], &format!("seed {seed}"));
        assert_eq!(report.metrics.entry_count, 15, "seed {seed}");
        is_violated(&report, "mutual-exclusion")
    };
    (0..500).filter(one).count()
}

#[test]
fn false_suspicion_can_admit_two_but_blocks_none() {
    for found in [
        count_runs_with_two_inside::<FaultTolerantRicartAgrawala>(),
        count_runs_with_two_inside::<NishioLiManning>(),
    ] {
        assert!((1..500).contains(&found), "{found} of 500");
    }
}
