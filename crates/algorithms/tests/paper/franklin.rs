//! W. R. Franklin, *On an improved algorithm for decentralized extrema finding in circular
//! configurations of processors*, CACM 25(5), 1982.

use tenure_algorithms::election::Franklin;
use tenure_algorithms::election::franklin::{Config, Message};
use tenure_core::Order;
use tenure_core::service::election::Command;

use crate::support::election::{beliefs, choices, elect, everybody, place_of, ranks};
use crate::support::{p, permutations};
use tenure_trace::{Dice, Stage};

fn ring(ids: &[u32]) -> Config {
    Config::of(ranks(ids))
}

/// All start at once: by phase, how many bids travel.
fn by_phase(ids: &[u32], order: Order, seed: u64) -> Vec<u64> {
    let size = ids.len() as u32;
    let mut stage = Stage::<Franklin>::alike(size, order, ring(ids));
    everybody(size).into_iter().for_each(|at| stage.command(at, Command::Elect));
    let mut bids = vec![0; 8];
    let mut dice = Dice(seed);
    while let Some(link) = dice.pick(&stage.busy_links()).copied() {
        if let Message::Bid { phase, .. } = stage.queue(link)[0] {
            bids[*phase as usize - 1] += 1;
            stage.pass(link, 0);
        } else {
            stage.deliver(link, &mut dice);
        }
    }
    assert_eq!(beliefs(&mut stage), vec![place_of(size, ids); ids.len()], "{ids:?} seed {seed}");
    assert_eq!(stage.sent_of("elected"), u64::from(size), "the announcement");
    assert_eq!(stage.sent_of("bid"), bids.iter().sum::<u64>());
    bids.retain(|count| *count > 0);
    bids
}

/// 2.13.
#[test]
fn every_phase_costs_two_laps_and_there_are_at_most_log_n_and_one() {
    for size in 2..=6_u32 {
        let mut seed = 0;
        permutations(size, |ids| {
            seed += 1;
            let bids = by_phase(ids, Order::Fifo, seed);
            assert!(bids.iter().all(|count| *count == 2 * u64::from(size)), "{ids:?}: {bids:?}");
            assert!(bids.len() as u32 <= size.ilog2() + 1, "{ids:?}: {bids:?}");
        });
    }
}

#[test]
fn some_ring_of_eight_takes_four_phases() {
    let most = (0..2000).map(|seed| {
        let mut ids: Vec<u32> = (1..=8).collect();
        Dice(seed).shuffle(&mut ids);
        by_phase(&ids, Order::Fifo, seed).len()
    });
    assert_eq!(most.max(), Some(4));
}

/// A neighbour that is ahead is heard when we are there, whether or not channels keep order.
#[test]
fn whoever_starts_and_whatever_the_schedule_it_costs_the_same() {
    let ids = [3, 1, 5, 2, 4];
    let cost = by_phase(&ids, Order::Fifo, 0).iter().sum::<u64>() + 5;
    for initiators in choices(5) {
        for seed in 0..40 {
            let (stage, beliefs) =
                elect::<Franklin>(5, Order::Reordered, ring(&ids), &initiators, 0, seed);
            assert_eq!(beliefs, [Some(p(3)); 5], "{initiators:?}, seed {seed}");
            assert_eq!(stage.total_sent(), cost, "{initiators:?}, seed {seed}");
        }
    }
}

#[test]
fn who_is_alone_leads_for_nothing_and_elections_may_follow_one_another() {
    let (stage, beliefs) = elect::<Franklin>(1, Order::Fifo, ring(&[7]), &[p(1)], 0, 0);
    assert_eq!((stage.total_sent(), beliefs), (0, vec![Some(p(1))]));
    for seed in 0..100 {
        let (mut stage, _) =
            elect::<Franklin>(3, Order::Reordered, ring(&[2, 3, 1]), &[p(1)], 0, seed);
        let first = stage.total_sent();
        stage.command(p(3), Command::Elect);
        stage.drain(&mut Dice(seed));
        assert_eq!(stage.total_sent(), 2 * first, "seed {seed}");
        assert_eq!(super::support::election::beliefs(&mut stage), [Some(p(2)); 3]);
    }
}

#[test]
fn duplicates_do_not_change_who_leads() {
    for seed in 0..1000 {
        let mut ids = vec![1, 2, 3, 4, 5];
        Dice(seed).shuffle(&mut ids);
        let (_, beliefs) =
            elect::<Franklin>(5, Order::Reordered, ring(&ids), &everybody(5), 4, seed);
        assert_eq!(beliefs, [place_of(5, &ids); 5], "seed {seed}");
    }
}
