//! Chang–Roberts whose initiator starts again.

use tenure_algorithms::Variants;
use tenure_algorithms::election::restarting_chang_roberts::{Config, Switch, Timer};
use tenure_algorithms::election::{ChangRoberts, RestartingChangRoberts, chang_roberts};
use tenure_core::service::election::Command;
use tenure_core::{Order, TICKS_PER_UNIT};

use crate::support::election::{beliefs, choices, elect, everybody, opinions, place_of, ranks};
use crate::support::{p, permutations};
use tenure_trace::{Dice, Stage};

fn ring(ids: &[u32]) -> Config {
    Config::of(ranks(ids), TICKS_PER_UNIT)
}

fn stage(ids: &[u32]) -> Stage<RestartingChangRoberts> {
    Stage::alike(ids.len() as u32, Order::Reordered, ring(ids))
}

#[test]
fn where_nothing_is_lost_it_sends_what_chang_roberts_sends_message_for_message() {
    for size in 1..=5 {
        permutations(size, |ids| {
            let plain = chang_roberts::Config::of(ranks(ids), Variants::none());
            for initiators in choices(size) {
                let (first, _) =
                    elect::<ChangRoberts>(size, Order::Fifo, plain.clone(), &initiators, 0, 1);
                let (second, beliefs) = elect::<RestartingChangRoberts>(
                    size,
                    Order::Fifo,
                    ring(ids),
                    &initiators,
                    0,
                    1,
                );
                assert_eq!(first.sent(), second.sent(), "{ids:?} {initiators:?}");
                assert_eq!(beliefs, vec![place_of(size, ids); size as usize]);
            }
        });
    }
}

/// Delivers in random order, loses what it may, and lets whoever waits in vain start again.
fn lossy(stage: &mut Stage<RestartingChangRoberts>, mut losses: u32, dice: &mut Dice) {
    loop {
        match dice.pick(&stage.busy_links()).copied() {
            Some(link) if losses > 0 && dice.one_in(3) => {
                losses -= 1;
                stage.lose(link);
            }
            Some(link) => stage.deliver(link, dice),
            None => match stage.next_timer() {
                Some((at, timer)) => stage.fire(at, timer),
                None => return,
            },
        }
    }
}

#[test]
fn whatever_is_lost_and_whoever_starts_all_agree_on_the_largest() {
    for seed in 0..2000 {
        let mut dice = Dice(seed);
        let mut ids = vec![1, 2, 3, 4, 5];
        dice.shuffle(&mut ids);
        let mut stage = stage(&ids);
        let starters: Vec<_> = choices(5).collect();
        for at in &starters[seed as usize % starters.len()] {
            stage.command(*at, Command::Elect);
        }
        lossy(&mut stage, 1 + (seed % 9) as u32, &mut dice);
        assert_eq!(beliefs(&mut stage), [place_of(5, &ids); 5], "seed {seed}");
    }
}

/// A loss before the rank has come round costs one more attempt: at most N(N + 1)/2 + N messages.
#[test]
fn a_lost_rank_costs_one_attempt() {
    let mut stage = stage(&[1, 2, 3, 4, 5]);
    stage.command(p(1), Command::Elect);
    stage.deliver((p(1), p(2)), &mut Dice(0));
    stage.lose((p(2), p(3)));
    stage.fire(p(1), Timer::Patience);
    stage.drain(&mut Dice(0));
    assert_eq!(beliefs(&mut stage), [Some(p(5)); 5]);
    assert_eq!(stage.total_sent(), 2 + 14, "two of the first attempt, 3N − 1 of the second");
}

#[test]
fn who_is_asked_while_it_takes_part_waits_too() {
    let mut stage = stage(&[1, 2, 3]);
    stage.command(p(1), Command::Elect);
    stage.deliver((p(1), p(2)), &mut Dice(0));
    assert_eq!(stage.armed_timers(), [(p(1), Timer::Patience)]);
    stage.command(p(2), Command::Elect);
    assert_eq!(stage.armed_timers().len(), 2);
    stage.drain(&mut Dice(0));
    assert_eq!(stage.armed_timers(), [], "nobody waits when all know");
}

#[test]
fn without_numbers_a_restart_is_swallowed() {
    let config = Config { variants: Variants::none().with(Switch::Unnumbered), ..ring(&[1, 2, 3]) };
    let mut stage = Stage::<RestartingChangRoberts>::alike(3, Order::Fifo, config);
    stage.command(p(1), Command::Elect);
    stage.deliver((p(1), p(2)), &mut Dice(0));
    stage.lose((p(2), p(3)));
    for _ in 0..10 {
        stage.fire(p(1), Timer::Patience);
        stage.drain(&mut Dice(0));
    }
    assert_eq!(opinions(&mut stage), [None; 3]);
}

/// Whoever had failed before the election is not on the ring.
#[test]
fn the_ring_is_one_of_those_who_are_alive() {
    let absent = [p(2), p(5)].into_iter().collect();
    let config = Config { absent, ..ring(&[1, 2, 3, 4, 5]) };
    let mut stage = Stage::<RestartingChangRoberts>::alike(5, Order::Fifo, config);
    for down in [2, 5] {
        stage.crash(p(down));
    }
    everybody(1).into_iter().for_each(|at| stage.command(at, Command::Elect));
    stage.drain(&mut Dice(0));
    assert_eq!(stage.total_sent(), 3 * 3 - 1);
    let leader = Some(p(4));
    assert_eq!(beliefs(&mut stage), [leader, None, leader, leader, None]);
}
