//! Laws about the messages of elections on rings, over many seeds.

use tenure_algorithms::catalogue::{Parameters, predicted_messages};
use tenure_core::theory::WorkloadKind;
use tenure_core::{ProcessId, Rank};
use tenure_sim::{Chance, Distribution, Moments, Random, RunReport, Settings, Workload};

use super::{RINGS, ring, run};
use crate::common::runs::{busy, shuffled};

/// Returns settings for a ring of `size` processes in a random order, with random delays. At least
/// one process starts.
fn any_ring(size: u32, seed: u64) -> Settings {
    let mut settings = ring(&shuffled(size, &mut Random::new(seed)));
    let mut random = Random::new(seed ^ 0x5eed);
    let first = random.below(u64::from(size)) as u32;
    let starters = (0..size).filter(|place| *place == first || random.below(3) == 0);
    settings.workload = Workload::elect_by(starters.map(ProcessId).collect::<Vec<_>>());
    settings.network.latency = Distribution::between_time_units(0, 7).into();
    settings.seed = seed;
    settings
}

fn held(name: &str, settings: Settings) -> RunReport {
    let context = format!("{name}, n = {}, seed {}", settings.size, settings.seed);
    let report = run(name, settings);
    assert_eq!(report.failures().next(), None, "{context}");
    assert!(report.beliefs.iter().all(Option::is_some), "{context}");
    report
}

#[test]
fn lelann_costs_n_squared_for_any_initiators() {
    for (seed, size) in (0..400).map(|seed| (seed, 2 + (seed % 15) as u32)) {
        let report = held("lelann", any_ring(size, seed));
        assert_eq!(report.metrics.sent, u64::from(size * size), "seed {seed}");
    }
}

/// If each message takes one unit, an election takes N units if all processes start, and 2N − 1
/// units if one process starts.
#[test]
fn lelann_takes_one_to_two_laps() {
    for size in 2..12_u32 {
        let took = |workload| {
            let ids = shuffled(size, &mut Random::new(size.into()));
            run("lelann", Settings { workload, ..ring(&ids) }).finished_at_units()
        };
        assert_eq!(took(Workload::elect_by_all()), f64::from(size));
        assert_eq!(took(Workload::elect_by([ProcessId(0)])), f64::from(2 * size - 1));
    }
}

fn bound(name: &str, size: u32) -> u64 {
    let expected = predicted_messages(
        name,
        &Parameters::with_defaults(size),
        WorkloadKind::AllStartRandomRanks,
    )
    .unwrap();
    expected.expect("theory has a bound").messages.numerator
}

/// An election consists of complete phases of 2N messages each, and of an announcement. The number
/// of phases must not exceed the number of times that N can be halved.
#[test]
fn number_of_phases_is_logarithmic() {
    for (seed, size) in (0..400).map(|seed| (seed, 2 + (seed % 30) as u32)) {
        let n = u64::from(size);
        let dolev = held("dolev-klawe-rodeh", any_ring(size, seed)).metrics.sent;
        assert_eq!((dolev - 2 * n) % (2 * n), 0, "a last phase and an announcement, seed {seed}");
        assert!(dolev <= bound("dolev-klawe-rodeh", size), "seed {seed}: {dolev}");
        let franklin = held("franklin", any_ring(size, seed)).metrics.sent;
        assert_eq!((franklin - n) % (2 * n), 0, "seed {seed}");
        assert!(franklin <= bound("franklin", size), "seed {seed}: {franklin}");
    }
}

#[test]
fn phase_cost_depends_only_on_ring() {
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

/// Returns the mean number of rounds of the Itai–Rodeh election, if all `n` processes start at the
/// same time on FIFO channels. In each round, every active process draws a number from 1 to `n`. If
/// several processes draw the highest number, they run another round.
fn mean_rounds(n: u32) -> f64 {
    let mut means = vec![0.0, 0.0];
    for active in 2..=n {
        let ties = |tied| highest_drawn_by(tied, active, n);
        let fewer: f64 = (2..active).map(|tied| ties(tied) * means[tied as usize]).sum();
        means.push((1.0 + fewer) / (1.0 - ties(active)));
    }
    means[n as usize]
}

/// Returns the probability that exactly `tied` of `active` processes draw the highest number. Each
/// process draws a number from 1 to `n`.
fn highest_drawn_by(tied: u32, active: u32, n: u32) -> f64 {
    let ways = (0..tied).fold(1.0, |ways, i| ways * f64::from(active - i) / f64::from(i + 1));
    let lower = |highest: u32| (f64::from(highest - 1) / f64::from(n)).powi((active - tied) as i32);
    let all: f64 = (1..=n).map(lower).sum();
    ways * all / f64::from(n).powi(tied as i32)
}

/// The expected values were computed by hand. If two processes draw, their numbers are equal in
/// half of the draws. If three processes draw from 1 to 3, 15 of the 27 draws have one winner, 9
/// draws have two winners, and 3 draws have three winners.
#[test]
fn mean_rounds_formula_matches_hand_calculation() {
    assert!((highest_drawn_by(1, 3, 3) + highest_drawn_by(2, 3, 3) - 24.0 / 27.0).abs() < 1e-9);
    assert_eq!(mean_rounds(2), 2.0);
    // If two of three processes draw again from 1 to 3, their numbers differ in 6 of 9 draws. They
    // therefore need 1.5 further rounds on average.
    let three = (1.0 + 9.0 / 27.0 * 1.5) / (1.0 - 3.0 / 27.0);
    assert!((mean_rounds(3) - three).abs() < 1e-9);
}

/// Checks the mean number of rounds. If each message takes one unit, a round takes one lap of the
/// ring, and the announcement takes one more lap.
#[test]
fn itai_rodeh_rounds_match_theory() {
    for size in [2, 3, 5, 12] {
        let mut rounds = Moments::new();
        for seed in 0..3000 {
            let settings =
                Settings { workload: Workload::elect_by_all(), seed, ..Settings::new(size) };
            let report = held("itai-rodeh", settings);
            rounds.add(report.finished_at_units() / f64::from(size) - 1.0);
        }
        let predicted = mean_rounds(size);
        assert!(rounds.agrees_with(predicted, 4.0), "n = {size}: {rounds:?}, not {predicted}");
    }
}

/// The election prefers no process. Each of three processes must win a third of the elections, up
/// to four standard errors.
#[test]
fn itai_rodeh_is_fair() {
    let mut wins = [0_u32; 3];
    for seed in 0..3000 {
        let settings = Settings { workload: Workload::elect_by_all(), seed, ..Settings::new(3) };
        wins[held("itai-rodeh", settings).leaders[0].index()] += 1;
    }
    let error = (3000.0_f64 / 3.0 * 2.0 / 3.0).sqrt();
    assert!(wins.iter().all(|won| (f64::from(*won) - 1000.0).abs() < 4.0 * error), "{wins:?}");
}

#[test]
fn every_ring_elects_over_fifo() {
    for name in RINGS {
        for seed in 0..60 {
            let mut settings = any_ring(4, seed);
            settings.network.loss = Chance::with_probability(0.1);
            settings.network.duplication = Chance::with_probability(0.1);
            held(&format!("fifo:{name}"), settings);
        }
    }
}

#[test]
fn lock_at_ring_leader_serves_all() {
    for name in RINGS {
        for seed in 0..60 {
            let mut settings = busy(4, 3, seed);
            let ids = shuffled(4, &mut Random::new(seed));
            settings.ranks = ids.iter().map(|id| Rank::from_id(*id)).collect();
            let report = run(&format!("coordinated:{name}"), settings);
            assert_eq!(report.failures().next(), None, "{name}, seed {seed}");
            assert_eq!(report.metrics.entry_count, 12, "{name}, seed {seed}");
        }
    }
}
