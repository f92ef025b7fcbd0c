//! K. Raymond, *A tree-based algorithm for distributed mutual exclusion*, ACM TOCS 7(1), 1989.

use std::sync::Arc;

use tenure_algorithms::mutex::Raymond;
use tenure_algorithms::mutex::raymond::Config;
use tenure_claims::claims;
use tenure_core::service::mutex::Command;
use tenure_core::tree::{Shape, Tree};
use tenure_core::{Algorithm, Order, ProcessId, Property};

use crate::support::mutex::{NOBODY, Plan, enter_and_exit, entered, is_caught, run};
use crate::support::p;
use tenure_trace::{Dice, Stage};

const SHAPES: [Shape; 3] = [Shape::Star, Shape::Path, Shape::Heap];

fn stage(shape: Shape, size: u32) -> Stage<Raymond> {
    Stage::alike(size, Order::Fifo, Config::of(shape, size))
}

/// A tree in which everybody hangs below somebody, in an order drawn anew.
fn any_tree(size: u32, dice: &mut Dice) -> Config {
    let mut order: Vec<ProcessId> = (0..size).map(ProcessId).collect();
    dice.shuffle(&mut order);
    let edges: Vec<_> =
        (1..order.len()).map(|place| (order[place], order[dice.below(place)])).collect();
    Config { tree: Arc::new(Tree::with_edges(size, edges).expect("everybody hangs somewhere")) }
}

#[claims("A-MANY")]
#[test]
fn a_request_alone_costs_twice_its_distance_from_the_token() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let size = 1 + dice.below(9) as u32;
        let config = any_tree(size, &mut dice);
        let mut stage = Stage::<Raymond>::alike(size, Order::Fifo, config.clone());
        let mut holder = p(1);
        for _ in 0..20 {
            let at = ProcessId(dice.below(size as usize) as u32);
            let distance = u64::from(config.tree.distance(holder, at));
            assert_eq!(enter_and_exit(&mut stage, at.number()), 2 * distance, "seed {seed}");
            holder = at;
        }
    }
}

#[test]
fn the_token_starts_at_the_centre_the_end_or_the_root() {
    for (shape, cost) in [(Shape::Star, 2), (Shape::Path, 12), (Shape::Heap, 4)] {
        let mut stage = stage(shape, 7);
        assert_eq!(enter_and_exit(&mut stage, 1), 0);
        assert_eq!(enter_and_exit(&mut stage, 7), cost, "{shape:?}");
    }
}

#[test]
fn no_entry_costs_more_than_twice_the_diameter_on_average() {
    for seed in 0..600 {
        let mut dice = Dice(seed);
        let size = 1 + dice.below(6) as u32;
        let config = any_tree(size, &mut dice);
        let most = Raymond::card(&config, size).messages.most.unwrap();
        assert_eq!(most, 2 * u64::from(config.tree.diameter()));
        let plan = Plan::of(Order::Reordered, &vec![3; size as usize]).seeded(seed);
        let outcome = run::<Raymond>(config, &plan).unwrap();
        assert!(outcome.messages <= most * outcome.entries, "seed {seed}: {outcome:?}");
    }
}

#[test]
fn only_neighbours_talk_to_each_other() {
    for seed in 0..100 {
        let mut dice = Dice(seed);
        let config = any_tree(6, &mut dice);
        let mut stage = Stage::<Raymond>::alike(6, Order::Fifo, config.clone());
        (1..=6).for_each(|at| stage.command(p(at), Command::Enter));
        while let Some((from, to)) = stage.busy_links().first().copied() {
            assert_eq!(config.tree.distance(from, to), 1, "seed {seed}");
            stage.pass((from, to), 0);
        }
    }
}

#[test]
fn whoever_wants_the_token_for_many_asks_once() {
    let mut stage = stage(Shape::Star, 5);
    stage.command(p(5), Command::Enter);
    stage.drain(&mut Dice(0));
    for at in [2, 3, 4] {
        stage.command(p(at), Command::Enter);
        stage.pass((p(at), p(1)), 0);
    }
    assert_eq!(stage.queue((p(1), p(5))).len(), 1, "P1 asks P5 for all of them");
}

#[test]
fn whoever_hands_the_token_on_and_needs_it_again_asks_at_once() {
    let mut stage = stage(Shape::Star, 3);
    stage.command(p(1), Command::Enter);
    stage.command(p(2), Command::Enter);
    stage.command(p(3), Command::Enter);
    stage.drain(&mut Dice(0));
    let order = entered(&mut stage);
    stage.command(p(1), Command::Exit);
    let first = if stage.queue((p(1), p(2))).is_empty() { 3 } else { 2 };
    assert_eq!(
        (order, stage.queue((p(1), p(first))).len()),
        (vec![1], 2),
        "the token and a request"
    );
}

/// One round of the star: each leaf's entry costs a request and the token in both directions.
#[test]
fn under_heavy_load_an_entry_costs_about_four_messages() {
    let mut stage = stage(Shape::Star, 9);
    (1..=9).for_each(|at| stage.command(p(at), Command::Enter));
    stage.drain(&mut Dice(0));
    let (mut last, rounds) = (p(1), 10);
    for _ in 0..rounds * 9 {
        stage.command(last, Command::Exit);
        stage.command(last, Command::Enter);
        stage.drain(&mut Dice(0));
        last = p(*entered(&mut stage).last().expect("somebody enters"));
    }
    let per_entry = stage.total_sent() as f64 / f64::from(rounds * 9);
    assert!((3.4..=4.0).contains(&per_entry), "{per_entry}");
}

#[test]
fn requests_are_served_in_the_order_in_which_a_process_heard_of_them() {
    let mut stage = stage(Shape::Star, 4);
    stage.command(p(1), Command::Enter);
    for at in [3, 2, 4] {
        stage.command(p(at), Command::Enter);
        stage.pass((p(at), p(1)), 0);
    }
    let mut order = entered(&mut stage);
    for _ in 0..3 {
        stage.command(p(*order.last().unwrap()), Command::Exit);
        stage.drain(&mut Dice(0));
        order.extend(entered(&mut stage));
    }
    assert_eq!(order, [1, 3, 2, 4]);
}

#[test]
fn channels_need_no_order() {
    for shape in SHAPES {
        for seed in 0..1500 {
            let plan = Plan::of(Order::Reordered, &[3, 3, 3, 3]).seeded(seed);
            run::<Raymond>(Config::of(shape, 4), &plan).unwrap();
        }
    }
}

#[test]
fn the_holder_enters_as_often_as_it_likes_until_it_hears_of_a_request() {
    let mut stage = stage(Shape::Path, 2);
    stage.command(p(2), Command::Enter);
    for _ in 0..20 {
        stage.command(p(1), Command::Enter);
        stage.command(p(1), Command::Exit);
    }
    assert_eq!(entered(&mut stage), [1; 20]);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2]);
    let card = Raymond::card(&Config::of(Shape::Path, 2), 2);
    assert!(!card.promises.contains(&Property::Order) && card.most_bypass().is_none());
}

#[test]
fn a_duplicated_token_lets_two_in() {
    for shape in SHAPES {
        let plan = Plan::of(Order::Fifo, &[2, 2, 2]).duplicating(1);
        assert!(is_caught::<Raymond>(&Config::of(shape, 3), &plan, "exclusion"), "{shape:?}");
    }
}

#[test]
fn a_holder_that_crashes_takes_the_token_with_it() {
    let mut stage = stage(Shape::Heap, 3);
    stage.crash(p(1));
    stage.recover(p(1));
    for at in 1..=3 {
        stage.command(p(at), Command::Enter);
    }
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), NOBODY);
}

#[test]
#[should_panic(expected = "a process asks only when it neither waits nor is in")]
fn whoever_waits_does_not_ask_again() {
    let mut stage = stage(Shape::Path, 2);
    stage.command(p(2), Command::Enter);
    stage.command(p(2), Command::Enter);
}
