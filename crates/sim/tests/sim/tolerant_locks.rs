//! Laws over many seeds of the locks that survive crashes, beside those that they are made from.

use tenure_algorithms::mutex::{
    NishioLiManning, RepairedRing, RicartAgrawala, SuzukiKasami, TokenRing, TolerantRicartAgrawala,
};
use tenure_core::{Algorithm, Mutex, ProcessId};
use tenure_sim::{
    Ended, Fault, Judgement, Random, Report, Settings, Simulation, Span, When, Workload,
};

/// Everybody at once, three times, over random delays.
fn busy(size: u32, seed: u64) -> Settings {
    let mut settings = Settings::new(size);
    settings.seed = seed;
    settings.workload = Workload::entries(3);
    settings.network.latency = Span::between_units(1, 5).into();
    settings
}

/// All but one crash, at any moment, in an order that goes round.
fn all_but_one(size: u32, seed: u64) -> Vec<Fault> {
    let mut random = Random::new(seed);
    let first = u32::try_from(random.below(u64::from(size))).unwrap();
    (0..size - 1)
        .map(|step| Fault::Crash {
            process: ProcessId((first + step) % size),
            when: match random.below(4) {
                0 => When::Inside { entry: 1 + random.below(2), after: 0 },
                1 => When::Waiting { request: 1, after: random.below(9) * 1_000_000 },
                2 => When::OnMessage(1 + random.below(9)),
                _ => When::At(random.below(60) * 1_000_000),
            },
            recovery: None,
        })
        .collect()
}

/// One of them is suspected by all the others in vain, for a while.
fn suspected_in_vain(size: u32, seed: u64) -> Vec<Fault> {
    let mut random = Random::new(seed);
    let peer = ProcessId(u32::try_from(random.below(u64::from(size))).unwrap());
    let from = random.below(90) * 1_000_000;
    let others = (0..size).map(ProcessId).filter(|observer| *observer != peer);
    let until = Some(from + 20_000_000);
    others.map(|observer| Fault::Suspicion { observer, peer, from, until }).collect()
}

fn run<P: Mutex + Algorithm<Config: Default>>(settings: Settings) -> Report {
    let seed = settings.seed;
    let ran = Simulation::<P>::of(P::Config::default(), settings).and_then(|it| it.run());
    ran.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

/// How many seeds of `seeds` leave somebody waiting for ever, in groups of five and of seven.
fn blocked<P: Mutex + Algorithm<Config: Default>>(seeds: u64) -> u64 {
    let one = |size, seed| {
        let mut settings = busy(size, seed);
        settings.faults = all_but_one(size, seed);
        settings.beyond_assumptions = true;
        let report = run::<P>(settings);
        assert_eq!(report.verdict("mutual-exclusion"), Some(Judgement::Holds), "seed {seed}");
        u64::from(report.verdict("starvation-freedom") == Some(Judgement::Violated))
    };
    (0..seeds).map(|seed| one(if seed % 2 == 0 { 5 } else { 7 }, seed)).sum()
}

fn survives_the_crash_of_all_but_one<P: Mutex + Algorithm<Config: Default>>(seeds: u64) {
    for size in [3, 5, 7] {
        for seed in 0..seeds {
            let mut settings = busy(size, seed);
            settings.faults = all_but_one(size, seed);
            let report = run::<P>(settings);
            assert_eq!(report.failures().next(), None, "n = {size}, seed {seed}");
            assert_eq!(report.ended, Ended::Served, "n = {size}, seed {seed}");
            assert!(report.metrics.entered >= 3, "n = {size}, seed {seed}: the survivor's");
        }
    }
}

#[test]
fn they_survive_the_crash_of_all_but_one_wherever_it_hits() {
    survives_the_crash_of_all_but_one::<RepairedRing>(100);
    survives_the_crash_of_all_but_one::<TolerantRicartAgrawala>(1000);
    survives_the_crash_of_all_but_one::<NishioLiManning>(1000);
}

#[test]
fn the_plain_ones_do_not_survive_the_same_crashes() {
    assert_eq!(blocked::<RicartAgrawala>(60), 60);
    // Once, whoever survives has had the token all along.
    assert_eq!(blocked::<SuzukiKasami>(60), 59);
}

/// In groups of five and of seven, seed by seed.
fn costs_the_same<P, Q>()
where
    P: Mutex + Algorithm<Config: Default>,
    Q: Mutex + Algorithm<Config: Default>,
{
    for size in [5, 7] {
        for seed in 0..100 {
            let (tolerant, plain) = (run::<P>(busy(size, seed)), run::<Q>(busy(size, seed)));
            assert_eq!(tolerant.failures().next(), None, "n = {size}, seed {seed}");
            assert_eq!(tolerant.metrics.entered, u64::from(3 * size), "n = {size}, seed {seed}");
            assert_eq!(tolerant.metrics.sent, plain.metrics.sent, "n = {size}, seed {seed}");
            assert_eq!(tolerant.finished_at, plain.finished_at, "n = {size}, seed {seed}");
        }
    }
}

#[test]
fn without_a_crash_they_cost_what_the_plain_ones_cost() {
    costs_the_same::<TolerantRicartAgrawala, RicartAgrawala>();
    costs_the_same::<NishioLiManning, SuzukiKasami>();
    costs_the_same::<RepairedRing, TokenRing>();
}

/// How often two are inside, of 500 seeds in which somebody is suspected in vain for a while.
fn two_inside<P: Mutex + Algorithm<Config: Default>>() -> usize {
    let one = |seed: &u64| {
        let mut settings = busy(5, *seed);
        // Longer than it takes to inquire of everybody.
        settings.workload.locking.as_mut().expect("they lock").hold = Span::units(12);
        settings.faults = suspected_in_vain(5, *seed);
        settings.beyond_assumptions = true;
        let report = run::<P>(settings);
        assert_eq!(report.verdict("starvation-freedom"), Some(Judgement::Holds), "seed {seed}");
        assert_eq!(report.metrics.entered, 15, "seed {seed}");
        report.verdict("mutual-exclusion") == Some(Judgement::Violated)
    };
    (0..500).filter(one).count()
}

#[test]
fn a_suspicion_in_vain_may_let_two_in_and_blocks_nobody() {
    for found in [two_inside::<TolerantRicartAgrawala>(), two_inside::<NishioLiManning>()] {
        assert!((1..500).contains(&found), "{found} of 500");
    }
}
