//! M. Maekawa, *A √N algorithm for mutual exclusion in decentralized systems*, TOCS 3(2), 1985;
//! B. A. Sanders, *The information structure of distributed mutual exclusion algorithms*, TOCS
//! 5(3), 1987.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::maekawa::{Config, Message, Switch};
use tenure_algorithms::mutex::{Ballot, Maekawa};
use tenure_claims::claims;
use tenure_core::quorum::Kind;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, Order, Stamp};

use crate::support::mutex::{NOBODY, Plan, entered, run};
use crate::support::p;
use tenure_trace::{Dice, Stage};

const SYSTEMS: [(Kind, u32); 8] = [
    (Kind::Pairs, 3),
    (Kind::Plane, 7),
    (Kind::Grid, 1),
    (Kind::Grid, 4),
    (Kind::Grid, 5),
    (Kind::Grid, 9),
    (Kind::Majority, 5),
    (Kind::Tree, 7),
];

fn config(kind: Kind, size: u32) -> Config {
    Config::of(kind, size).unwrap()
}

fn with(switch: Switch, config: Config) -> Config {
    Config { variants: Variants::none().with(switch), ..config }
}

fn plan(order: Order, entries: u32, size: u32, duplicates: u32, seed: u64) -> Plan {
    Plan { order, entries: vec![entries; size as usize], duplicates, losses: 0, seed }
}

/// How many of so many seeds end in a violation or a dead end.
fn failures(config: &Config, order: Order, entries: u32, seeds: u64) -> usize {
    let size = config.quorums.size();
    let run = |seed| run::<Maekawa>(config.clone(), &plan(order, entries, size, 0, seed));
    (0..seeds).filter(|seed| run(*seed).is_err()).count()
}

#[claims("A-MAE")]
#[test]
fn uncontended_an_entry_costs_three_messages_per_other_voter() {
    let costs = [
        (Kind::Pairs, 3, 3),
        (Kind::Plane, 7, 6),
        (Kind::Grid, 4, 6),
        (Kind::Grid, 9, 12),
        (Kind::Grid, 16, 18),
    ];
    for (kind, size, messages) in costs {
        let mut stage = Stage::<Maekawa>::alike(size, Order::Fifo, config(kind, size));
        for at in 1..=size {
            let before = stage.total_sent();
            stage.command(p(at), Command::Enter);
            stage.drain(&mut Dice(0));
            assert_eq!(entered(&mut stage), [at]);
            stage.command(p(at), Command::Exit);
            stage.drain(&mut Dice(0));
            assert_eq!(stage.total_sent() - before, messages, "{kind:?} {size}");
        }
        assert_eq!(Maekawa::card(&config(kind, size), size).messages.least, messages);
    }
}

#[claims("A-MAE")]
#[test]
fn under_contention_it_stays_within_six_messages_per_other_voter() {
    for (kind, size) in SYSTEMS {
        let config = config(kind, size);
        let cost = Maekawa::card(&config, size).messages;
        for seed in 0..200 {
            let plan = plan(Order::Fifo, 2, size, 0, seed);
            let outcome = run::<Maekawa>(config.clone(), &plan).unwrap();
            let range = cost.least * outcome.entries..=cost.most.unwrap() * outcome.entries;
            assert!(range.contains(&outcome.messages), "{kind:?} {size} seed {seed}");
        }
    }
}

#[test]
fn duplicates_are_harmless() {
    for (kind, size) in SYSTEMS {
        for seed in 0..300 {
            run::<Maekawa>(config(kind, size), &plan(Order::Fifo, 2, size, 4, seed)).unwrap();
        }
    }
}

#[claims("7-M1")]
#[test]
fn without_asking_votes_back_three_wait_for_each_other_in_a_circle() {
    let mut stage = Stage::alike(3, Order::Fifo, with(Switch::Basic, config(Kind::Pairs, 3)));
    (1..=3).for_each(|at| stage.command(p(at), Command::Enter));
    stage.drain(&mut Dice(0));
    assert_eq!(entered::<Maekawa>(&mut stage), NOBODY);
    assert_eq!(stage.total_sent(), 3);
}

#[claims("7-M2")]
#[test]
fn the_algorithm_of_1985_is_right_on_pairs() {
    let original = with(Switch::Original1985, config(Kind::Pairs, 3));
    assert_eq!(failures(&original, Order::Fifo, 2, 3000), 0);
}

#[claims("7-M3")]
#[test]
fn the_algorithm_of_1985_deadlocks_on_a_grid_and_the_correction_does_not() {
    let grid = config(Kind::Grid, 4);
    assert!(failures(&with(Switch::Original1985, grid.clone()), Order::Fifo, 1, 3000) > 0);
    assert_eq!(failures(&grid, Order::Fifo, 1, 3000), 0);
}

#[test]
fn without_first_in_first_out_the_correction_deadlocks() {
    assert!(failures(&config(Kind::Grid, 4), Order::Reordered, 2, 1000) > 0);
}

/// The two messages from exit to the next entry: a release and a vote.
#[test]
fn from_exit_to_the_next_entry_it_takes_a_release_and_a_vote() {
    let mut stage = Stage::<Maekawa>::alike(3, Order::Fifo, config(Kind::Pairs, 3));
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    // P2 needs P3, which is free, and itself, whose vote P1 has.
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
    stage.command(p(1), Command::Exit);
    stage.pass((p(1), p(2)), 0);
    assert_eq!(entered(&mut stage), [2], "P2's vote for itself is no message");
}

#[test]
fn a_vote_for_a_request_that_is_over_is_given_back_at_once() {
    let mut stage = Stage::<Maekawa>::alike(3, Order::Fifo, config(Kind::Pairs, 3));
    let ballot = Ballot { request: Stamp { clock: 9, process: p(1) }, number: 1 };
    stage.inject(p(2), p(1), Message::Locked { ballot, fence: 0 });
    assert_eq!((stage.queue((p(1), p(2))).len(), stage.sent_of("release")), (1, 1));
}

#[test]
fn an_old_vote_does_not_serve_the_next_request() {
    let mut stage = Stage::<Maekawa>::alike(3, Order::Fifo, config(Kind::Pairs, 3));
    stage.command(p(3), Command::Enter);
    let request = Stamp { clock: 1, process: p(3) };
    let ballot = |number| Ballot { request, number };
    stage.inject(p(1), p(3), Message::Locked { ballot: ballot(1), fence: 0 });
    assert_eq!(entered(&mut stage), [3]);
    stage.command(p(3), Command::Exit);
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.command(p(3), Command::Enter);
    stage.inject(p(1), p(3), Message::Locked { ballot: ballot(1), fence: 0 });
    assert_eq!(entered(&mut stage), [2]);
}

#[test]
fn a_vote_that_comes_twice_hides_no_inquiry_and_is_not_back_once_it_is_given_away() {
    let mut stage = Stage::<Maekawa>::alike(4, Order::Fifo, config(Kind::Grid, 4));
    stage.command(p(1), Command::Enter);
    let request = Stamp { clock: 1, process: p(1) };
    let ballot = Ballot { request, number: 1 };
    let vote = || Message::Locked { ballot, fence: 0 };
    stage.inject(p(2), p(1), vote());
    stage.inject(p(2), p(1), Message::Inquire { ballot });
    stage.inject(p(2), p(1), vote());
    stage.inject(p(3), p(1), Message::Failed { request });
    assert_eq!(stage.sent_of("relinquish"), 1, "it was inquired after, and P1 has failed");
    stage.inject(p(2), p(1), vote());
    stage.inject(p(3), p(1), vote());
    assert_eq!(entered(&mut stage), NOBODY, "P2 has its vote back");
}
