//! I. Suzuki, T. Kasami, *A distributed mutual exclusion algorithm*, ACM TOCS 3(4), 1985.

use tenure_algorithms::mutex::SuzukiKasami;
use tenure_algorithms::mutex::suzuki_kasami::Message;
use tenure_claims::claims;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, Order, Property};

use crate::support::mutex::{NOBODY, Plan, enter_and_exit, entered, is_caught, run};
use crate::support::{Dice, World, p};

fn world(size: u32) -> World<SuzukiKasami> {
    World::new(size, Order::Fifo, ())
}

#[claims("A-MANY")]
#[test]
fn an_entry_costs_nothing_with_the_token_and_n_messages_without() {
    for size in 2..=7 {
        let mut world = world(size);
        assert_eq!(enter_and_exit(&mut world, 1), 0, "P1 has the token at first");
        for _ in 0..3 {
            assert_eq!(enter_and_exit(&mut world, 2), u64::from(size));
            assert_eq!(enter_and_exit(&mut world, 2), 0, "the token stays");
            assert_eq!(enter_and_exit(&mut world, 1), u64::from(size));
        }
        assert_eq!(world.sent_of("request"), world.sent_of("token") * u64::from(size - 1));
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
    let mut world = world(4);
    world.command(p(1), Command::Enter);
    the_others_ask(&mut world);
    assert_eq!(entered(&mut world), [1]);
    for (leaves, enters) in [(1, 2), (2, 3), (3, 4)] {
        world.command(p(leaves), Command::Exit);
        assert_eq!(world.under_way(leaves, enters), 1, "one message from exit to entry");
        world.drain(&mut Dice(0));
        assert_eq!(entered(&mut world), [enters]);
    }
}

/// P4, P3 and P2 ask, in this order, and are heard of in this order.
fn the_others_ask(world: &mut World<SuzukiKasami>) {
    for late in [4, 3, 2] {
        world.command(p(late), Command::Enter);
        world.drain(&mut Dice(0));
    }
}

#[test]
fn a_request_that_was_served_does_nothing_when_it_arrives_again() {
    let mut world = world(3);
    enter_and_exit(&mut world, 2);
    enter_and_exit(&mut world, 1);
    let before = world.total_sent();
    world.inject(p(2), p(1), Message::Request { number: 1 });
    assert_eq!(world.total_sent(), before, "P1 keeps the token");
    world.inject(p(2), p(1), Message::Request { number: 2 });
    assert_eq!(world.total_sent(), before + 1, "and sends it for a new request");
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
    let mut world = world(2);
    world.command(p(2), Command::Enter);
    world.pass(2, 1);
    world.duplicate((p(1), p(2)));
    world.pass(1, 2);
    world.command(p(2), Command::Exit);
    world.command(p(1), Command::Enter);
    world.pass_nth(1, 2, 1);
    world.pass(2, 1);
    world.command(p(2), Command::Enter);
    assert_eq!(entered(&mut world), [2, 1], "P1 is inside, and P2 waits");
    world.pass(1, 2);
    assert_eq!(entered(&mut world), [2], "for a token that has already been");
    let plan = Plan::of(Order::Fifo, &[2, 2, 2]).duplicating(1);
    assert!(is_caught::<SuzukiKasami>(&(), &plan, "exclusion"));
}

#[test]
fn a_token_that_nobody_waits_for_is_ignored() {
    let mut world = world(2);
    world.command(p(2), Command::Enter);
    world.pass(2, 1);
    world.duplicate((p(1), p(2)));
    world.pass(1, 2);
    world.command(p(2), Command::Exit);
    world.pass(1, 2);
    assert_eq!(enter_and_exit(&mut world, 1), 2);
    assert_eq!(enter_and_exit(&mut world, 2), 2, "P2 has no token of its own");
}

/// P3 hears of P2's request, asks, and is heard of by P1 before P2 is.
#[claims("7-SK1")]
#[test]
fn a_request_that_happened_later_may_enter_first() {
    let mut world = world(3);
    world.command(p(2), Command::Enter);
    world.pass(2, 3);
    world.command(p(3), Command::Enter);
    world.pass(3, 1);
    world.pass(1, 3);
    assert_eq!(entered(&mut world), [3]);
    assert!(!SuzukiKasami::card(&(), 3).promises.contains(&Property::Order));
}

#[test]
fn the_holder_enters_as_often_as_it_likes_until_it_hears_of_a_request() {
    let mut world = world(2);
    world.command(p(2), Command::Enter);
    for _ in 0..20 {
        world.command(p(1), Command::Enter);
        world.command(p(1), Command::Exit);
    }
    assert_eq!(entered(&mut world), [1; 20]);
    world.drain(&mut Dice(0));
    assert_eq!(entered(&mut world), [2]);
}

#[test]
fn a_holder_that_crashes_takes_the_token_with_it() {
    let mut world = world(3);
    world.crash(p(1));
    world.recover(p(1));
    for at in 1..=3 {
        world.command(p(at), Command::Enter);
    }
    world.drain(&mut Dice(0));
    assert_eq!(entered(&mut world), NOBODY);
}
