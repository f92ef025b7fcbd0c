//! Enter when all but k − 1 others have replied.

use std::num::NonZeroU32;

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::KMutex;
use tenure_algorithms::mutex::k_mutex::{Config, Switch};
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, Card, Order, Property};

use crate::support::mutex::{NOBODY, Plan, entered, run_as};
use crate::support::p;
use tenure_trace::Stage;

fn at_most(most: u32) -> Config {
    Config::at_most(NonZeroU32::new(most).unwrap())
}

fn stage(size: u32, most: u32) -> Stage<KMutex> {
    Stage::alike(size, Order::Reordered, at_most(most))
}

fn plan(entries: Vec<u32>, duplicates: u32, seed: u64) -> Plan {
    Plan { order: Order::Reordered, entries, duplicates, losses: 0, seed }
}

#[test]
fn a_process_enters_with_the_nth_minus_kth_reply() {
    let mut stage = stage(5, 2);
    stage.command(p(1), Command::Enter);
    for peer in 2..=5 {
        stage.pass((p(1), p(peer)), 0);
    }
    for peer in 2..=3 {
        stage.pass((p(peer), p(1)), 0);
        assert_eq!(entered(&mut stage), NOBODY);
    }
    stage.pass((p(4), p(1)), 0);
    assert_eq!(entered(&mut stage), [1], "N − k = 3 replies");
}

#[test]
fn two_of_three_are_inside_and_the_third_waits_for_one_to_leave() {
    let mut stage = stage(3, 2);
    (1..=3).for_each(|at| stage.command(p(at), Command::Enter));
    stage.settle();
    assert_eq!(entered(&mut stage), [1, 2]);
    stage.command(p(1), Command::Exit);
    stage.settle();
    assert_eq!(entered(&mut stage), [3]);
}

#[test]
fn an_entry_costs_at_most_two_messages_for_each_other_and_k_minus_one_fewer_at_least() {
    for size in 1..=6_u32 {
        for most in 1..=4_u32 {
            let cost = KMutex::card(&at_most(most), size).messages;
            let mut mixed = false;
            for seed in 0..100 {
                let plan = plan(vec![3; size as usize], 0, seed);
                let card = KMutex::card(&at_most(most), size);
                let told = format!("n = {size}, k = {most}, seed {seed}");
                let outcome = run_as::<KMutex>(&card, at_most(most), &plan).expect(&told);
                assert!(outcome.messages >= cost.least * outcome.entries, "{told}: {outcome:?}");
                let ceiling = cost.most.unwrap() * outcome.entries;
                assert!(outcome.messages <= ceiling, "{told}: {outcome:?}");
                mixed |= outcome.messages < ceiling;
            }
            assert_eq!(mixed, most > 1 && size > 1, "n = {size}, k = {most}: a reply is saved");
        }
    }
}

/// The fewest: every process waits until the one before it asks again, so that nobody is ever
/// owed a reply that it needs no more.
#[test]
fn the_fewest_messages_are_2n_minus_k_minus_1() {
    let mut stage = stage(4, 3);
    stage.command(p(1), Command::Enter);
    stage.settle();
    stage.command(p(2), Command::Enter);
    stage.settle();
    stage.command(p(3), Command::Enter);
    stage.settle();
    assert_eq!(entered(&mut stage), [1, 2, 3]);
    // P3 has had one reply: N − 1 requests and N − k replies.
    assert_eq!(stage.total_sent(), (3 + 3) + (3 + 2) + (3 + 1));
}

#[test]
fn a_process_that_crashed_takes_one_place_with_it_and_no_more() {
    let mut stage = stage(3, 2);
    stage.command(p(3), Command::Enter);
    stage.settle();
    stage.crash(p(3));
    for at in [1, 2, 1] {
        stage.command(p(at), Command::Enter);
        stage.settle();
        stage.command(p(at), Command::Exit);
    }
    assert_eq!(entered(&mut stage), [3, 1, 2, 1]);
    stage.command(p(1), Command::Enter);
    stage.command(p(2), Command::Enter);
    stage.settle();
    assert_eq!(entered(&mut stage), [1], "the place of P3 is gone, the other one is not");
}

#[test]
fn with_one_place_it_is_the_algorithm_of_ricart_and_agrawala() {
    let card = KMutex::card(&at_most(1), 5);
    assert!(card.promises.contains(&Property::MutualExclusion));
    assert_eq!((card.messages.least, card.messages.most), (8, Some(8)));
    for seed in 0..300 {
        let outcome = run_as::<KMutex>(&card, at_most(1), &plan(vec![3; 4], 0, seed));
        let outcome = outcome.unwrap_or_else(|says| panic!("seed {seed}: {says}"));
        assert_eq!(outcome.messages, 2 * 3 * outcome.entries, "seed {seed}");
    }
}

#[test]
fn never_more_than_k_are_inside_whatever_is_duplicated() {
    for seed in 0..500 {
        let card = KMutex::card(&at_most(2), 4);
        let plan = plan(vec![3; 4], 4, seed);
        run_as::<KMutex>(&card, at_most(2), &plan)
            .unwrap_or_else(|says| panic!("{plan:?}: {says}"));
    }
}

#[test]
fn mutual_exclusion_is_not_promised_and_does_not_hold() {
    let card = KMutex::card(&at_most(2), 3);
    assert_eq!(card.promises, [Property::AtMost(2), Property::StarvationFreedom]);
    let stricter = Card { promises: vec![Property::MutualExclusion], ..card };
    let plans = (0..50).map(|seed| plan(vec![1; 3], 0, seed));
    let mut told = plans.filter_map(|plan| run_as::<KMutex>(&stricter, at_most(2), &plan).err());
    assert!(told.any(|says| says.contains("mutual-exclusion")));
}

#[test]
fn a_surplus_reply_that_serves_the_next_request_lets_too_many_in() {
    let variants = Variants::none().with(Switch::UntaggedReply);
    let config = Config { variants, ..at_most(2) };
    let card = KMutex::card(&config, 3);
    let caught = (0..3000)
        .find_map(|seed| run_as::<KMutex>(&card, config.clone(), &plan(vec![2; 3], 0, seed)).err());
    assert!(caught.is_some());
}
