//! D. Dolev, M. Klawe, M. Rodeh, *An O(n log n) unidirectional distributed algorithm for extrema
//! finding in a circle*, Journal of Algorithms 3(3), 1982.

use tenure_algorithms::election::DolevKlaweRodeh;
use tenure_algorithms::election::dolev_klawe_rodeh::{Config, Message};
use tenure_core::service::election::Command;
use tenure_core::{Order, ProcessId};

use crate::support::election::{beliefs, choices, elect, everybody, place_of, ranks};
use crate::support::{p, permutations};
use tenure_trace::{Dice, Stage};

fn ring(ids: &[u32]) -> Config {
    Config::of(ranks(ids))
}

/// All start at once: the phases, the messages without the announcement, and who announced.
fn run(ids: &[u32], seed: u64) -> (u32, u64, ProcessId) {
    let size = ids.len() as u32;
    let mut stage = Stage::<DolevKlaweRodeh>::alike(size, Order::Fifo, ring(ids));
    everybody(size).into_iter().for_each(|at| stage.command(at, Command::Elect));
    let (mut phases, mut detector) = (0, None);
    let mut dice = Dice(seed);
    while let Some(link) = dice.pick(&stage.busy_links()).copied() {
        match stage.queue(link)[0] {
            Message::First { phase, .. } | Message::Second { phase, .. } => {
                phases = phases.max(*phase);
            }
            Message::Elected { .. } => drop(detector.get_or_insert(link.0)),
        }
        stage.deliver(link, &mut dice);
    }
    assert_eq!(beliefs(&mut stage), vec![place_of(size, ids); ids.len()], "{ids:?} seed {seed}");
    assert_eq!(stage.sent_of("elected"), u64::from(size), "the announcement");
    (phases, stage.total_sent() - u64::from(size), detector.expect("somebody announced"))
}

/// 2.13.
#[test]
fn it_costs_two_laps_a_phase_and_one_in_the_last() {
    for size in 2..=6_u32 {
        let mut seed = 0;
        permutations(size, |ids| {
            seed += 1;
            let (phases, messages, _) = run(ids, seed);
            let n = u64::from(size);
            assert_eq!(messages, n * (2 * (u64::from(phases) - 1) + 1), "{ids:?}");
            assert!(phases <= size.ilog2() + 1, "{ids:?}: {phases} phases");
        });
    }
}

/// The bound is tight where N is a power of two.
#[test]
fn some_ring_of_eight_takes_four_phases() {
    let most = (0..2000).map(|seed| {
        let mut ids: Vec<u32> = (1..=8).collect();
        Dice(seed).shuffle(&mut ids);
        run(&ids, seed).0
    });
    assert_eq!(most.max(), Some(4));
}

/// 2.13.
#[test]
fn whoever_finds_the_largest_is_never_its_owner() {
    for size in 2..=6_u32 {
        permutations(size, |ids| {
            let (.., detector) = run(ids, 1);
            assert_ne!(Some(detector), place_of(size, ids), "{ids:?}");
        });
    }
}

#[test]
fn candidates_survive_a_phase_as_local_maxima() {
    for seed in 0..200 {
        let mut ids: Vec<u32> = (1..=9).collect();
        Dice(seed).shuffle(&mut ids);
        let highest = |at: usize| ids[at] > ids[(at + 1) % 9] && ids[at] > ids[(at + 8) % 9];
        let maxima = (0..9).filter(|at| highest(*at)).count();
        let mut stage = Stage::<DolevKlaweRodeh>::alike(9, Order::Fifo, ring(&ids));
        everybody(9).into_iter().for_each(|at| stage.command(at, Command::Elect));
        let mut survivors = std::collections::BTreeSet::new();
        while let Some(link) = stage.busy_links().first().copied() {
            if let Message::First { phase: 2, candidate, .. } = stage.queue(link)[0] {
                survivors.insert(candidate.process);
            }
            stage.deliver(link, &mut Dice(0));
        }
        assert_eq!(survivors.len(), maxima, "{ids:?}");
        assert!(survivors.iter().all(|at| highest(at.index())), "{ids:?}: {survivors:?}");
    }
}

/// Whoever hears of an election takes part from the start.
#[test]
fn whoever_starts_and_whatever_the_schedule_it_costs_the_same() {
    let ids = [3, 1, 5, 2, 4];
    let cost = run(&ids, 0).1 + 5;
    for initiators in choices(5) {
        for seed in 0..20 {
            let (stage, beliefs) =
                elect::<DolevKlaweRodeh>(5, Order::Fifo, ring(&ids), &initiators, 0, seed);
            assert_eq!(beliefs, [Some(p(3)); 5], "{initiators:?}, seed {seed}");
            assert_eq!(stage.total_sent(), cost, "{initiators:?}, seed {seed}");
        }
    }
}

#[test]
fn who_is_alone_leads_for_nothing_and_elections_may_follow_one_another() {
    let (stage, beliefs) = elect::<DolevKlaweRodeh>(1, Order::Fifo, ring(&[7]), &[p(1)], 0, 0);
    assert_eq!((stage.total_sent(), beliefs), (0, vec![Some(p(1))]));
    let (mut stage, _) = elect::<DolevKlaweRodeh>(3, Order::Fifo, ring(&[2, 3, 1]), &[p(1)], 0, 0);
    let first = stage.total_sent();
    stage.command(p(3), Command::Elect);
    stage.drain(&mut Dice(0));
    assert_eq!(stage.total_sent(), 2 * first);
    assert_eq!(super::support::election::beliefs(&mut stage), [Some(p(2)); 3]);
}

#[test]
fn duplicates_do_not_change_who_leads() {
    for seed in 0..1000 {
        let mut ids = vec![1, 2, 3, 4, 5];
        Dice(seed).shuffle(&mut ids);
        let (_, beliefs) =
            elect::<DolevKlaweRodeh>(5, Order::Fifo, ring(&ids), &everybody(5), 4, seed);
        assert_eq!(beliefs, [place_of(5, &ids); 5], "seed {seed}");
    }
}
