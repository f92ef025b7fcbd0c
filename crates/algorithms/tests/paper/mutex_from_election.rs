//! Each entry is an election among those who wait.

use tenure_algorithms::Variants;
use tenure_algorithms::election::{
    Bully, ChangRoberts, DolevKlaweRodeh, Franklin, HirschbergSinclair, LeLann, bully,
    chang_roberts, dolev_klawe_rodeh, franklin, hirschberg_sinclair, lelann,
};
use tenure_algorithms::reduction::MutexFromElection;
use tenure_algorithms::reduction::mutex_from_election::{Config, Switch};
use tenure_claims::claims;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, Election, Order, TICKS_PER_UNIT};

use crate::support::mutex::{NOBODY, Plan, entered, run};
use crate::support::p;
use tenure_trace::{Dice, Stage};

fn elections<C>(election: C) -> Config<C> {
    Config { election, variants: Variants::none() }
}

fn plan(entries: &[u32], seed: u64) -> Plan {
    Plan { order: Order::Fifo, entries: entries.to_vec(), duplicates: 0, losses: 0, seed }
}

fn stage(size: u32, variants: Variants<Switch>) -> Stage<MutexFromElection<ChangRoberts>> {
    let election = chang_roberts::Config::plain(size);
    Stage::alike(size, Order::Fifo, Config { election, variants })
}

#[test]
fn whatever_the_election_one_enters_at_a_time_and_everybody_in_the_end() {
    fn counts<E: Election + Algorithm>(config: impl Fn(u32) -> E::Config) {
        for seed in 0..200 {
            let size = 1 + (seed % 5) as u32;
            let entries = vec![3; size as usize];
            let config = elections(config(size));
            let cost = <MutexFromElection<E>>::card(&config, size).messages;
            let outcome = run::<MutexFromElection<E>>(config, &plan(&entries, seed));
            let outcome = outcome.unwrap_or_else(|told| panic!("seed {seed}: {told}"));
            assert_eq!(outcome.entries, u64::from(size) * 3, "seed {seed}");
            let most = cost.most.expect("an election ends");
            assert!(outcome.messages <= most * outcome.entries, "seed {seed}");
            assert!(outcome.messages >= cost.least * outcome.entries, "seed {seed}");
        }
    }
    counts::<ChangRoberts>(chang_roberts::Config::plain);
    counts::<LeLann>(lelann::Config::plain);
    counts::<HirschbergSinclair>(hirschberg_sinclair::Config::plain);
    counts::<DolevKlaweRodeh>(dolev_klawe_rodeh::Config::plain);
    counts::<Franklin>(franklin::Config::plain);
}

/// Timeouts decide in a bully, so its delays are kept: whoever waits is asked in time.
#[test]
fn a_bully_elects_the_next_as_well() {
    let config = elections(bully::Config::plain(3, TICKS_PER_UNIT));
    let mut stage = Stage::<MutexFromElection<Bully>>::alike(3, Order::Fifo, config);
    (1..=3).for_each(|at| stage.command(p(at), Command::Enter));
    let mut order = Vec::new();
    for _ in 0..3 {
        stage.settle();
        let inside = entered(&mut stage);
        assert_eq!(inside.len(), 1, "{inside:?}");
        stage.command(p(inside[0]), Command::Exit);
        order.extend(inside);
    }
    assert_eq!(order, [1, 2, 3], "in the order of their requests' stamps");
}

#[test]
fn an_entry_that_nobody_contests_costs_a_request_and_an_election() {
    let mut stage = stage(5, Variants::none());
    stage.command(p(3), Command::Enter);
    stage.drain(&mut Dice(1));
    assert_eq!(entered(&mut stage), [3]);
    // P1 calls; two hops to P3, a lap for its rank and one to announce.
    assert_eq!((stage.sent_of("request"), stage.sent_of("election")), (4, 2 + 5));
    assert_eq!(stage.sent_of("elected"), 5);
}

#[test]
fn who_left_calls_no_election_before_somebody_waits() {
    let mut stage = stage(3, Variants::none());
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(1));
    stage.command(p(2), Command::Exit);
    stage.drain(&mut Dice(1));
    let before = stage.total_sent();
    assert_eq!(entered(&mut stage), [2]);
    stage.command(p(3), Command::Enter);
    assert_eq!(entered(&mut stage), NOBODY);
    stage.pass((p(3), p(2)), 0);
    assert_eq!(stage.total_sent(), before + 2 + 1, "two requests, and P2 begins an election");
    stage.drain(&mut Dice(1));
    assert_eq!(entered(&mut stage), [3]);
}

/// Fairness comes from the ranks alone.
#[claims("Q-26")]
#[test]
fn with_ranks_that_never_change_two_large_ids_take_turns_and_the_smallest_waits() {
    let greedy = |variants| {
        let mut stage = stage(3, variants);
        stage.command(p(3), Command::Enter);
        stage.drain(&mut Dice(7));
        let mut order = entered(&mut stage);
        stage.command(p(2), Command::Enter);
        stage.command(p(1), Command::Enter);
        while !order.contains(&1) && order.len() < 20 {
            stage.drain(&mut Dice(7));
            let left = p(order[order.len() - 1]);
            stage.command(left, Command::Exit);
            stage.command(left, Command::Enter);
            stage.drain(&mut Dice(7));
            order.extend(entered(&mut stage));
        }
        order
    };
    assert_eq!(greedy(Variants::none()), [3, 1], "the earlier request, by clock and then by id");
    let unfair = greedy(Variants::none().with(Switch::StaticRanks));
    assert_eq!(unfair, [3, 2].repeat(10), "P1 waits all the time");
}
