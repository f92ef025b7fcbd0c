//! What elections on rings cost, over seeds.

use tenure_claims::claims;
use tenure_core::{ProcessId, Rank};
use tenure_sim::{Chance, Moments, Random, Report, Settings, Span, Workload, theory};

use super::{ring, run};

const RINGS: [&str; 6] = [
    "lelann",
    "chang-roberts",
    "hirschberg-sinclair",
    "dolev-klawe-rodeh",
    "franklin",
    "itai-rodeh",
];

fn shuffled(size: u32, seed: u64) -> Vec<u32> {
    Random::new(seed).permutation(size).iter().map(|id| id + 1).collect()
}

/// A ring of that many in any order, where some start, at least one, over random delays.
fn any_ring(size: u32, seed: u64) -> Settings {
    let mut settings = ring(&shuffled(size, seed));
    let mut random = Random::new(seed ^ 0x5eed);
    let first = random.below(u64::from(size)) as u32;
    let starters = (0..size).filter(|place| *place == first || random.below(3) == 0);
    settings.workload = Workload::elect_by(starters.map(ProcessId).collect::<Vec<_>>());
    settings.network.latency = Span::between_units(0, 7).into();
    settings.seed = seed;
    settings
}

fn held(name: &str, settings: Settings) -> Report {
    let told = format!("{name}, n = {}, seed {}", settings.size, settings.seed);
    let report = run(name, settings);
    assert_eq!(report.failures().next(), None, "{told}");
    assert!(report.beliefs.iter().all(Option::is_some), "{told}");
    report
}

#[claims("A-LL")]
#[test]
fn lelann_costs_n_squared_whoever_starts() {
    for (seed, size) in (0..400).map(|seed| (seed, 2 + (seed % 15) as u32)) {
        let report = held("lelann", any_ring(size, seed));
        assert_eq!(report.metrics.sent, u64::from(size * size), "seed {seed}");
    }
}

/// 2.8: N if all start at once, 2N − 1 at most if one does.
#[test]
fn lelann_takes_one_lap_or_nearly_two() {
    for size in 2..12_u32 {
        let took = |workload| {
            let settings = Settings { workload, ..ring(&shuffled(size, u64::from(size))) };
            run("lelann", settings).finished_at_units()
        };
        assert_eq!(took(Workload::elect()), f64::from(size));
        assert_eq!(took(Workload::elect_by([ProcessId(0)])), f64::from(2 * size - 1));
    }
}

/// 2.13: whole phases, and no more of them than there are halvings.
#[test]
fn phases_cost_whole_laps_and_their_number_is_logarithmic() {
    for (seed, size) in (0..400).map(|seed| (seed, 2 + (seed % 30) as u32)) {
        let n = u64::from(size);
        let dolev = held("dolev-klawe-rodeh", any_ring(size, seed)).metrics.sent;
        assert_eq!((dolev - 2 * n) % (2 * n), 0, "a last phase and an announcement, seed {seed}");
        assert!(dolev <= theory::dolev_klawe_rodeh_bound(size), "seed {seed}: {dolev}");
        let franklin = held("franklin", any_ring(size, seed)).metrics.sent;
        assert_eq!((franklin - n) % (2 * n), 0, "seed {seed}");
        assert!(franklin <= theory::franklin_bound(size), "seed {seed}: {franklin}");
    }
}

#[test]
fn what_phases_cost_depends_on_the_ring_and_not_on_the_schedule() {
    for name in ["dolev-klawe-rodeh", "franklin"] {
        for seed in 0..100 {
            let sent = |seed| {
                let settings = Settings { seed, ..any_ring(11, 5) };
                held(name, settings).metrics.sent
            };
            assert_eq!(sent(seed), sent(0), "{name}, seed {seed}");
        }
    }
}

/// With unit delays a round is a lap, and the announcement one more.
#[test]
fn lots_are_drawn_as_often_as_theory_says() {
    for size in [2, 3, 5, 12] {
        let mut rounds = Moments::new();
        for seed in 0..3000 {
            let mut settings = Settings::new(size);
            settings.workload = Workload::elect();
            settings.seed = seed;
            let report = held("itai-rodeh", settings);
            rounds.add(report.finished_at_units() / f64::from(size) - 1.0);
        }
        let predicted = theory::itai_rodeh_rounds_mean(size);
        assert!(rounds.agrees_with(predicted, 4.0), "n = {size}: {rounds:?}, not {predicted}");
    }
}

/// Nobody is preferred: each of three wins a third of the elections, within four errors.
#[test]
fn by_lot_everybody_is_as_likely_to_lead() {
    let mut wins = [0_u32; 3];
    for seed in 0..3000 {
        let mut settings = Settings::new(3);
        settings.workload = Workload::elect();
        settings.seed = seed;
        wins[held("itai-rodeh", settings).leaders[0].index()] += 1;
    }
    let error = (3000.0_f64 / 3.0 * 2.0 / 3.0).sqrt();
    assert!(wins.iter().all(|won| (f64::from(*won) - 1000.0).abs() < 4.0 * error), "{wins:?}");
}

#[test]
fn over_a_channel_that_was_made_reliable_every_ring_elects() {
    for name in RINGS {
        for seed in 0..60 {
            let mut settings = any_ring(4, seed);
            settings.network.loss = Chance::of(0.1);
            settings.network.duplication = Chance::of(0.1);
            held(&format!("fifo:{name}"), settings);
        }
    }
}

#[test]
fn the_lock_at_the_leader_of_any_ring_serves_everybody() {
    for name in RINGS {
        for seed in 0..60 {
            let mut settings = super::busy(4, 3, seed);
            settings.ranks = shuffled(4, seed).iter().map(|id| Rank::of_id(*id)).collect();
            let report = run(&format!("coordinated:{name}"), settings);
            assert_eq!(report.failures().next(), None, "{name}, seed {seed}");
            assert_eq!(report.metrics.entered, 12, "{name}, seed {seed}");
        }
    }
}
