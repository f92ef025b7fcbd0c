//! A. Itai, M. Rodeh, *Symmetry breaking in distributed networks*, Information and Computation
//! 88(1), 1990.

use tenure_algorithms::Variants;
use tenure_algorithms::election::itai_rodeh::Message;
use tenure_algorithms::election::{ChangRoberts, ItaiRodeh, chang_roberts};
use tenure_claims::claims;
use tenure_core::service::election::Command;
use tenure_core::{Algorithm, Order, ProcessId, Rank};

use crate::support::election::{beliefs, choices, everybody, opinions};
use crate::support::p;
use tenure_trace::{Dice, Stage};

/// A ring whose processes will draw these lots, the first of them in the order of asking.
fn stage(size: u32, order: Order, lots: &[u32], seed: u64) -> Stage<ItaiRodeh> {
    let mut stage = Stage::alike(size, order, ());
    stage.will_draw(lots.iter().map(|lot| lot - 1), seed);
    stage
}

/// All who are listed start at once; the stage in the end, in which all agree.
fn elect(
    size: u32,
    order: Order,
    initiators: &[ProcessId],
    lots: &[u32],
    seed: u64,
) -> Stage<ItaiRodeh> {
    let mut stage = stage(size, order, lots, seed);
    initiators.iter().for_each(|at| stage.command(*at, Command::Elect));
    stage.drain(&mut Dice(seed));
    stage
}

#[test]
fn whoever_alone_draws_the_highest_leads() {
    let mut stage = elect(4, Order::Fifo, &everybody(4), &[2, 4, 1, 3], 0);
    assert_eq!(beliefs(&mut stage), [Some(p(2)); 4]);
    // P1's token goes 1 hop, P2's 4, P3's 1 and P4's 2; then the announcement.
    assert_eq!((stage.sent_of("token"), stage.sent_of("elected")), (1 + 4 + 1 + 2, 4));
}

#[test]
fn whoever_draws_the_same_draws_again_and_the_others_are_out() {
    let mut stage = elect(4, Order::Fifo, &everybody(4), &[3, 1, 3, 2, 1, 2], 0);
    let leader = beliefs(&mut stage)[0].expect("somebody leads");
    assert!(leader == p(1) || leader == p(3), "only these two drew the highest: {leader}");
    let told = format!("{:?}", stage.process(p(2)).unwrap());
    assert!(told.contains("Settled"), "{told}");
}

/// Without chance, equal processes stay equal for ever.
#[claims("I-57")]
#[test]
fn if_all_draw_alike_nobody_ever_leads() {
    let mut stage = stage(3, Order::Fifo, &[2; 300], 0);
    everybody(3).into_iter().for_each(|at| stage.command(at, Command::Elect));
    for _ in 0..99 {
        for _ in 0..3 {
            (1..=3).for_each(|at| stage.pass((p(at), p(at % 3 + 1)), 0));
        }
    }
    assert_eq!(opinions(&mut stage), [None; 3]);
    let Message::Token { lot, .. } = stage.queue((p(1), p(2)))[0] else { panic!("a token") };
    assert_eq!(lot.round, 100);
}

#[test]
fn all_agree_on_one_whoever_starts_and_in_whatever_order_messages_arrive() {
    for order in [Order::Fifo, Order::Reordered] {
        for initiators in choices(5) {
            for seed in 0..100 {
                let mut stage = elect(5, order, &initiators, &[], 1000 * seed);
                let beliefs = beliefs(&mut stage);
                let leader = beliefs[0].expect("somebody leads");
                let told = format!("{initiators:?}, seed {seed}");
                assert!(beliefs.iter().all(|belief| *belief == Some(leader)), "{told}");
                assert!(initiators.contains(&leader), "{told}: who did not start only passes on");
            }
        }
    }
}

#[test]
fn a_single_initiator_needs_one_lap_and_one_to_announce() {
    for size in 1..=6_u32 {
        let stage = elect(size, Order::Fifo, &[p(size)], &[], 0);
        let least = ItaiRodeh::card(&(), size).messages.least;
        assert_eq!(stage.total_sent(), least);
        assert_eq!(least, if size == 1 { 0 } else { 2 * u64::from(size) });
    }
}

/// No message names a process: a ring that is turned sends the very same ones.
/// Whoever has no name takes a token for its own by how far it has come, and so must know how far
/// that is. Whoever has one does the same on a ring of any size.
#[claims("I-58")]
#[test]
fn the_size_of_the_ring_decides_without_names_and_means_nothing_with_them() {
    let unnamed = |size| {
        let mut stage = stage(size, Order::Fifo, &[1], 0);
        stage.command(p(1), Command::Elect);
        let Message::Token { election, lot, .. } = *stage.queue((p(1), p(2)))[0] else {
            panic!("a token")
        };
        stage.inject(p(size), p(1), Message::Token { election, lot, hops: 3, unique: true });
        opinions(&mut stage)[0]
    };
    assert_eq!([3, 5].map(unnamed), [Some(p(1)), None]);
    let named = |size| {
        let ranks = (0..size).map(|place| Rank::of_id(9 - place)).collect();
        let config = chang_roberts::Config::of(ranks, Variants::none());
        let mut stage = Stage::<ChangRoberts>::alike(size, Order::Fifo, config);
        stage.command(p(1), Command::Elect);
        let own = stage.queue((p(1), p(2)))[0].clone();
        stage.inject(p(size), p(1), own);
        opinions(&mut stage)[0]
    };
    assert_eq!([3, 5].map(named), [Some(p(1)); 2]);
}

#[test]
fn nobody_is_named_and_the_leader_is_known_by_its_distance() {
    let messages = |first: u32| {
        let lots = [1, 3, 2];
        let order: Vec<ProcessId> = (0..3).map(|at| ProcessId((first + at) % 3)).collect();
        let mut stage = stage(3, Order::Fifo, &lots, 0);
        order.iter().for_each(|at| stage.command(*at, Command::Elect));
        let mut sent = Vec::new();
        while !stage.busy_links().is_empty() {
            for at in &order {
                let link = (*at, ProcessId((at.0 + 1) % 3));
                if !stage.queue(link).is_empty() {
                    sent.push(stage.queue(link)[0].clone());
                    stage.deliver(link, &mut Dice(0));
                }
            }
        }
        let turned = |leader: ProcessId| (leader.0 + 3 - first) % 3;
        let leaders = beliefs(&mut stage);
        (sent, turned(leaders[0].expect("somebody leads")))
    };
    assert_eq!(messages(0), messages(1));
    assert_eq!(messages(0), messages(2));
    assert_eq!(messages(0).1, 1);
}

/// The next election may have another leader, and its term says that it is the later one.
#[test]
fn a_second_election_has_a_higher_term() {
    for seed in 0..200 {
        let mut stage = elect(3, Order::Reordered, &everybody(3), &[], 1000 * seed);
        stage.command(p(2), Command::Elect);
        stage.drain(&mut Dice(seed));
        assert_eq!(beliefs(&mut stage), [Some(p(2)); 3], "seed {seed}");
    }
}

#[test]
fn duplicates_do_no_harm() {
    for seed in 0..1000 {
        let mut stage = stage(4, Order::Reordered, &[], 1000 * seed);
        everybody(4).into_iter().for_each(|at| stage.command(at, Command::Elect));
        let (mut dice, mut left) = (Dice(seed), 4);
        while let Some(link) = dice.pick(&stage.busy_links()).copied() {
            if left > 0 && dice.one_in(3) {
                left -= 1;
                stage.duplicate(link);
            }
            stage.deliver(link, &mut dice);
        }
        let beliefs = beliefs(&mut stage);
        assert!(beliefs[0].is_some(), "seed {seed}");
        assert!(beliefs.iter().all(|belief| *belief == beliefs[0]), "seed {seed}");
    }
}
