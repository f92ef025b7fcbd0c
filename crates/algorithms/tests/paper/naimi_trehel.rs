//! M. Naimi, M. Trehel, A. Arnold, *A log(N) distributed mutual exclusion algorithm based on path
//! reversal*, JPDC 34(1), 1996.

use tenure_algorithms::mutex::NaimiTrehel;
use tenure_algorithms::mutex::naimi_trehel::Message;
use tenure_claims::claims;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, Order};

use crate::support::mutex::{NOBODY, Plan, enter_and_exit, entered, is_caught, run};
use crate::support::p;
use tenure_trace::{Dice, Stage};

fn stage(size: u32) -> Stage<NaimiTrehel> {
    Stage::alike(size, Order::Fifo, ())
}

#[test]
fn the_root_enters_without_a_message_and_its_neighbour_with_two() {
    let mut stage = stage(5);
    assert_eq!(enter_and_exit(&mut stage, 1), 0);
    assert_eq!(enter_and_exit(&mut stage, 4), 2, "a request to P1, and the token");
    assert_eq!(enter_and_exit(&mut stage, 4), 0);
    assert_eq!(enter_and_exit(&mut stage, 2), 3, "by P1 to P4, and the token");
}

/// Who passed a request on points to its maker: P1 and P4 need no more than two messages now.
#[test]
fn a_request_turns_the_path_that_it_took() {
    let mut stage = stage(5);
    enter_and_exit(&mut stage, 4);
    enter_and_exit(&mut stage, 2);
    assert_eq!(enter_and_exit(&mut stage, 1), 2);
    enter_and_exit(&mut stage, 2);
    assert_eq!(enter_and_exit(&mut stage, 4), 2);
}

/// P4 → P1 → P2 → P3, which has the token.
#[test]
fn a_path_through_everybody_costs_n_messages() {
    let mut stage = stage(4);
    for (at, cost) in [(3, 2), (2, 3), (3, 2), (4, 4)] {
        assert_eq!(enter_and_exit(&mut stage, at), cost, "P{at}");
    }
}

#[claims("A-MANY")]
#[test]
fn one_at_a_time_no_entry_costs_more_than_n_messages_and_some_cost_n() {
    for size in 2..=5_u32 {
        let mut worst = 0;
        for seed in 0..2000 {
            let (mut stage, mut dice) = (stage(size), Dice(seed));
            for _ in 0..20 {
                let at = dice.below(size as usize) as u32 + 1;
                worst = worst.max(enter_and_exit(&mut stage, at));
            }
        }
        assert_eq!(worst, u64::from(size));
    }
}

#[test]
fn whatever_the_schedule_entries_cost_at_most_n_messages_on_average() {
    for size in 1..=6_u32 {
        for order in [Order::Fifo, Order::Reordered] {
            for seed in 0..200 {
                let plan = Plan::of(order, &vec![3; size as usize]).seeded(seed);
                let outcome = run::<NaimiTrehel>((), &plan).unwrap();
                let most = NaimiTrehel::card(&(), size).messages.most.unwrap();
                assert!(outcome.messages <= most * outcome.entries, "seed {seed}: {outcome:?}");
            }
        }
    }
}

#[test]
fn those_who_wait_form_a_queue_and_each_hands_the_token_to_the_next() {
    let mut stage = stage(4);
    stage.command(p(1), Command::Enter);
    for at in [3, 2, 4] {
        stage.command(p(at), Command::Enter);
        stage.drain(&mut Dice(0));
    }
    assert_eq!(entered(&mut stage), [1]);
    for (leaves, enters) in [(1, 3), (3, 2), (2, 4)] {
        stage.command(p(leaves), Command::Exit);
        assert_eq!(stage.queue((p(leaves), p(enters))).len(), 1, "one message from exit to entry");
        stage.drain(&mut Dice(0));
        assert_eq!(entered(&mut stage), [enters]);
    }
}

#[test]
fn channels_need_no_order() {
    for seed in 0..3000 {
        let plan = Plan::of(Order::Reordered, &[3, 3, 3, 3]).seeded(seed);
        run::<NaimiTrehel>((), &plan).unwrap();
    }
}

#[test]
fn the_holder_enters_as_often_as_it_likes_until_it_hears_of_a_request() {
    let mut stage = stage(2);
    stage.command(p(2), Command::Enter);
    for _ in 0..20 {
        stage.command(p(1), Command::Enter);
        stage.command(p(1), Command::Exit);
    }
    assert_eq!(entered(&mut stage), [1; 20]);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2]);
    assert!(NaimiTrehel::card(&(), 2).most_bypass().is_none());
}

#[test]
fn a_duplicated_message_lets_two_in() {
    let plan = Plan::of(Order::Fifo, &[2, 2, 2]).duplicating(1);
    assert!(is_caught::<NaimiTrehel>(&(), &plan, "exclusion"));
}

#[test]
fn a_request_that_comes_back_and_a_token_that_nobody_waits_for_are_ignored() {
    let mut stage = stage(3);
    enter_and_exit(&mut stage, 2);
    let before = stage.total_sent();
    stage.inject(p(1), p(2), Message::Request { requester: p(2) });
    stage.inject(p(1), p(3), Message::Token { entries: 7 });
    assert_eq!(stage.total_sent(), before);
    assert_eq!(enter_and_exit(&mut stage, 2), 0);
    assert_eq!(enter_and_exit(&mut stage, 3), 3);
}

#[test]
fn a_holder_that_crashes_takes_the_token_with_it() {
    let mut stage = stage(3);
    stage.crash(p(1));
    stage.recover(p(1));
    for at in 1..=3 {
        stage.command(p(at), Command::Enter);
    }
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), NOBODY);
}
