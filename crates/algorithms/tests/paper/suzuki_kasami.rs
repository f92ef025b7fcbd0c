//! I. Suzuki, T. Kasami, *A distributed mutual exclusion algorithm*, ACM TOCS 3(4), 1985.

use tenure_algorithms::mutex::SuzukiKasami;
use tenure_algorithms::mutex::suzuki_kasami::Message;
use tenure_claims::claims;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, Order, Property};

use crate::support::mutex::{NOBODY, Plan, enter_and_exit, entered, is_caught, run};
use crate::support::p;
use tenure_trace::{Dice, Stage};

fn stage(size: u32) -> Stage<SuzukiKasami> {
    Stage::alike(size, Order::Fifo, ())
}

#[claims("A-MANY")]
#[test]
fn an_entry_costs_nothing_with_the_token_and_n_messages_without() {
    for size in 2..=7 {
        let mut stage = stage(size);
        assert_eq!(enter_and_exit(&mut stage, 1), 0, "P1 has the token at first");
        for _ in 0..3 {
            assert_eq!(enter_and_exit(&mut stage, 2), u64::from(size));
            assert_eq!(enter_and_exit(&mut stage, 2), 0, "the token stays");
            assert_eq!(enter_and_exit(&mut stage, 1), u64::from(size));
        }
        assert_eq!(stage.sent_of("request"), stage.sent_of("token") * u64::from(size - 1));
    }
}

#[test]
fn whatever_the_schedule_each_entry_costs_nothing_or_n_messages() {
    for size in 1..=6_u32 {
        for order in [Order::Fifo, Order::Reordered] {
            for seed in 0..200 {
                let plan = Plan::of(order, &vec![3; size as usize]).seeded(seed);
                let outcome = run::<SuzukiKasami>((), &plan).unwrap();
                let most = SuzukiKasami::card(&(), size).messages.most.unwrap();
                assert!(outcome.messages <= most * outcome.entries, "seed {seed}: {outcome:?}");
                assert_eq!(outcome.messages % u64::from(size), 0, "seed {seed}: {outcome:?}");
            }
        }
    }
}

#[test]
fn the_token_goes_round_among_those_who_wait_from_the_next_process_on() {
    let mut stage = stage(4);
    stage.command(p(1), Command::Enter);
    the_others_ask(&mut stage);
    assert_eq!(entered(&mut stage), [1]);
    for (leaves, enters) in [(1, 2), (2, 3), (3, 4)] {
        stage.command(p(leaves), Command::Exit);
        assert_eq!(stage.queue((p(leaves), p(enters))).len(), 1, "one message from exit to entry");
        stage.drain(&mut Dice(0));
        assert_eq!(entered(&mut stage), [enters]);
    }
}

/// P4, P3 and P2 ask, in this order, and are heard of in this order.
fn the_others_ask(stage: &mut Stage<SuzukiKasami>) {
    for late in [4, 3, 2] {
        stage.command(p(late), Command::Enter);
        stage.drain(&mut Dice(0));
    }
}

#[test]
fn a_request_that_was_served_does_nothing_when_it_arrives_again() {
    let mut stage = stage(3);
    enter_and_exit(&mut stage, 2);
    enter_and_exit(&mut stage, 1);
    let before = stage.total_sent();
    stage.inject(p(2), p(1), Message::Request { number: 1 });
    assert_eq!(stage.total_sent(), before, "P1 keeps the token");
    stage.inject(p(2), p(1), Message::Request { number: 2 });
    assert_eq!(stage.total_sent(), before + 1, "and sends it for a new request");
}

#[test]
fn a_request_reaches_the_token_wherever_it_goes() {
    for seed in 0..3000 {
        let plan = Plan::of(Order::Reordered, &[3, 3, 3]).seeded(seed);
        run::<SuzukiKasami>((), &plan).unwrap();
    }
}

#[test]
fn a_duplicated_token_lets_two_in() {
    let mut stage = stage(2);
    stage.command(p(2), Command::Enter);
    stage.pass((p(2), p(1)), 0);
    stage.duplicate((p(1), p(2)));
    stage.pass((p(1), p(2)), 0);
    stage.command(p(2), Command::Exit);
    stage.command(p(1), Command::Enter);
    stage.pass((p(1), p(2)), 1);
    stage.pass((p(2), p(1)), 0);
    stage.command(p(2), Command::Enter);
    assert_eq!(entered(&mut stage), [2, 1], "P1 is inside, and P2 waits");
    stage.pass((p(1), p(2)), 0);
    assert_eq!(entered(&mut stage), [2], "for a token that has already been");
    let plan = Plan::of(Order::Fifo, &[2, 2, 2]).duplicating(1);
    assert!(is_caught::<SuzukiKasami>(&(), &plan, "exclusion"));
}

#[test]
fn a_token_that_nobody_waits_for_is_ignored() {
    let mut stage = stage(2);
    stage.command(p(2), Command::Enter);
    stage.pass((p(2), p(1)), 0);
    stage.duplicate((p(1), p(2)));
    stage.pass((p(1), p(2)), 0);
    stage.command(p(2), Command::Exit);
    stage.pass((p(1), p(2)), 0);
    assert_eq!(enter_and_exit(&mut stage, 1), 2);
    assert_eq!(enter_and_exit(&mut stage, 2), 2, "P2 has no token of its own");
}

/// P3 hears of P2's request, asks, and is heard of by P1 before P2 is.
#[claims("7-SK1")]
#[test]
fn a_request_that_happened_later_may_enter_first() {
    let mut stage = stage(3);
    stage.command(p(2), Command::Enter);
    stage.pass((p(2), p(3)), 0);
    stage.command(p(3), Command::Enter);
    stage.pass((p(3), p(1)), 0);
    stage.pass((p(1), p(3)), 0);
    assert_eq!(entered(&mut stage), [3]);
    assert!(!SuzukiKasami::card(&(), 3).promises.contains(&Property::Order));
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
