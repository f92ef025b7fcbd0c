//! Worked examples without locks and elections: the race for a counter, and two generals.

use std::collections::BTreeMap;

use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT};
use tenure_sim::scenario::counter::{Atomicity, CounterRace};
use tenure_sim::scenario::generals::{
    Config, simulate_coordinated_attack, simulate_coordinated_attack_with_settings,
};
use tenure_sim::{Chance, Distribution, Settings};

/// Returns a race of two threads over a counter with the value 5. One thread increments the
/// counter, and the other decrements it.
fn up_and_down() -> CounterRace {
    CounterRace::new(5, [1, -1])
}

#[test]
fn counts_lost_updates_of_all_interleavings() {
    assert_eq!(up_and_down().all_schedules(Atomicity::Interruptible).len(), 20);
    let finals = up_and_down().final_values(Atomicity::Interruptible);
    assert_eq!(finals, BTreeMap::from([(4, 9), (5, 2), (6, 9)]));
}

fn transcript(schedule: &[usize]) -> Vec<String> {
    up_and_down().run(schedule).iter().map(ToString::to_string).collect()
}

#[test]
fn last_store_wins() {
    let printed = ["r1=5", "r1=6", "r2=5", "r2=4", "counter=6", "counter=4"];
    assert_eq!(transcript(&[1, 1, 2, 2, 1, 2]), printed);
    let mirrored = ["r2=5", "r2=4", "r1=5", "r1=6", "counter=4", "counter=6"];
    assert_eq!(transcript(&[2, 2, 1, 1, 2, 1]), mirrored);
}

#[test]
fn atomic_statements_lose_no_update() {
    let serial = [vec![1, 1, 1, 2, 2, 2], vec![2, 2, 2, 1, 1, 1]];
    assert_eq!(up_and_down().all_schedules(Atomicity::Atomic), serial);
    assert_eq!(up_and_down().final_values(Atomicity::Atomic), BTreeMap::from([(5, 2)]));
    let last = serial.map(|schedule| transcript(&schedule).pop());
    assert_eq!(last, [Some("counter=5".to_owned()), Some("counter=5".to_owned())]);
}

#[test]
fn handles_three_and_zero_threads() {
    let three = CounterRace::new(0, [1, 1, 1]);
    let finals = three.final_values(Atomicity::Interruptible);
    assert_eq!(finals.values().sum::<usize>(), 1680, "9! / 3!³");
    assert_eq!(finals.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(three.final_values(Atomicity::Atomic), BTreeMap::from([(3, 6)]));
    assert_eq!(
        CounterRace::new(5, []).final_values(Atomicity::Interruptible),
        BTreeMap::from([(5, 1)])
    );
}

#[test]
#[should_panic(expected = "each thread has three instructions")]
fn rejects_incomplete_schedule() {
    up_and_down().run(&[1, 1, 2, 2, 1]);
}

/// Minimum latency of a message, in units.
const MIN: u64 = 2;
const MAX: u64 = 10;

/// Returns the time between the attack of the leading army and the attack of the other army, in
/// ticks. The result is negative if the other army attacks first. The leading army waits for `wait`
/// ticks.
fn skew(wait: u64, latency: Distribution, seed: u64) -> i64 {
    let attack =
        simulate_coordinated_attack(Config { strengths: [3, 2], wait }, latency, seed).unwrap();
    assert_eq!(attack.leader, ProcessId(0));
    attack.skew.expect("messages are reliable")
}

fn ticks(units: u64) -> u64 {
    units * TICKS_PER_TIME_UNIT
}

/// Returns the longest time between the two attacks, in ticks. The longest time results from the
/// minimum or the maximum message delay. Asserts that random delays never cause a longer time.
fn worst(wait: u64) -> u64 {
    let ends = [MIN, MAX].map(|end| skew(wait, Distribution::time_units(end), 0).unsigned_abs());
    let worst = ends[0].max(ends[1]);
    for seed in 0..50 {
        let between = skew(wait, Distribution::between_time_units(MIN, MAX), seed).unsigned_abs();
        assert!(between <= worst, "seed {seed}: {between} beyond {worst}");
    }
    worst
}

#[test]
fn waiting_for_minimum_delay_bounds_skew() {
    let wait = ticks(MIN);
    let range = ticks(MAX - MIN) as i64;
    assert_eq!(skew(wait, Distribution::time_units(MIN), 0), 0);
    assert_eq!(skew(wait, Distribution::time_units(MAX), 0), range);
    for seed in 0..2000 {
        let skew = skew(wait, Distribution::between_time_units(MIN, MAX), seed);
        assert!((0..=range).contains(&skew), "seed {seed}: {skew}");
    }
    for (strengths, leader) in [([3, 2], 0), ([2, 2], 0), ([2, 3], 1)] {
        let attack = simulate_coordinated_attack(
            Config { strengths, wait },
            Distribution::time_units(MAX),
            0,
        )
        .unwrap();
        assert_eq!((attack.leader, attack.skew), (ProcessId(leader), Some(range)));
    }
}

#[test]
fn waiting_for_mean_delay_halves_worst_skew() {
    let middle = ticks(MIN + MAX) / 2;
    assert_eq!(worst(ticks(MIN)), ticks(MAX - MIN));
    assert_eq!(worst(middle), ticks(MAX - MIN) / 2);
    assert!(skew(middle, Distribution::time_units(MIN), 0) < 0, "either may be the first");
    assert!(skew(middle, Distribution::time_units(MAX), 0) > 0, "either may be the first");
    for half_units in 0..=2 * MAX + 4 {
        let wait = half_units * TICKS_PER_TIME_UNIT / 2;
        assert!(worst(wait) >= worst(middle), "{wait}");
        assert_eq!(worst(wait) == worst(middle), wait == middle, "{wait}");
    }
}

#[test]
fn unbounded_delay_gives_unbounded_skew() {
    for wait in [0, MIN, MAX, 1000] {
        for bound in [10, 1000, 100_000] {
            let late = skew(ticks(wait), Distribution::time_units(wait + bound + 1), 0);
            assert!(late > ticks(bound) as i64, "{wait}: {late} beyond {bound} units");
        }
    }
}

#[test]
fn lost_message_leaves_army_alone() {
    let mut settings = Settings { beyond_assumptions: true, ..Settings::new(2) };
    settings.network.loss = Chance::with_probability(1.0);
    let config = Config { strengths: [1, 1], wait: ticks(MIN) };
    assert_eq!(simulate_coordinated_attack_with_settings(config, settings).unwrap().skew, None);
}
