//! Ask the coordinator.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::central::{Config, Switch};
use tenure_algorithms::mutex::{Central, RicartAgrawala, ricart_agrawala};
use tenure_claims::claims;
use tenure_core::Order;
use tenure_core::service::mutex::Command;

use crate::support::mutex::{NOBODY, Plan, entered, run};
use crate::support::{Dice, World, p};

/// P5 coordinates.
fn world(size: u32) -> World<Central> {
    let config = Config { coordinator: p(5), ..Config::default() };
    World::new(size, Order::Reordered, config)
}

#[claims("W-05", "A-CEN")]
#[test]
fn an_entry_to_an_empty_section_takes_a_request_a_grant_and_a_release() {
    let mut world = world(5);
    world.command(p(2), Command::Enter);
    world.pass(2, 5);
    assert_eq!(entered(&mut world), NOBODY);
    world.pass(5, 2);
    assert_eq!(entered(&mut world), [2]);
    world.command(p(2), Command::Exit);
    world.drain(&mut Dice(0));
    for kind in ["request", "grant", "release"] {
        assert_eq!(world.sent_of(kind), 1, "{kind}");
    }
    assert_eq!(world.total_sent(), 3);
}

#[claims("W-06", "A-CEN")]
#[test]
fn whoever_asks_first_enters_first_whatever_the_ids() {
    let mut world = world(6);
    for (at, before) in [(2, 1), (6, 0), (1, 0)] {
        world.command(p(at), Command::Enter);
        world.pass(at, 5);
        assert_eq!(world.under_way(5, at), before);
    }
    world.pass(5, 2);
    let mut order = entered(&mut world);
    while let Some(last) = order.last().copied().filter(|_| order.len() < 3) {
        world.command(p(last), Command::Exit);
        world.drain(&mut Dice(0));
        order.extend(entered(&mut world));
        if order == [2, 6] {
            let desk = format!("{:?}", world.process(p(5)));
            assert!(
                desk.contains("queue: [Claim { process: P1, ")
                    && desk.matches("process:").count() == 2,
                "P1 alone is in the queue: {desk}"
            );
        }
    }
    assert_eq!(order, [2, 6, 1]);
    world.command(p(1), Command::Exit);
    assert_eq!(world.total_sent(), 9);
}

#[test]
fn the_coordinators_own_entry_costs_no_message() {
    let mut world = world(5);
    world.command(p(5), Command::Enter);
    assert_eq!(entered(&mut world), [5]);
    world.command(p(5), Command::Exit);
    assert_eq!(world.total_sent(), 0);
}

#[claims("7-C3")]
#[test]
fn duplicates_are_harmless_unless_a_grant_may_serve_another_request() {
    let plan = |seed| Plan {
        order: Order::Reordered,
        entries: vec![0, 3, 3],
        duplicates: 4,
        losses: 0,
        seed,
    };
    let config = |variants| Config { variants, ..Config::default() };
    for seed in 0..2000 {
        run::<Central>(config(Variants::none()), &plan(seed)).unwrap();
    }
    let untagged = Variants::none().with(Switch::UntaggedGrant);
    let caught = (0..2000).filter_map(|seed| run::<Central>(config(untagged), &plan(seed)).err());
    assert!(caught.into_iter().any(|says| says.contains("mutual-exclusion")));
}

/// Two messages to enter, none to leave, two from exit to the next entry.
#[claims("I-32")]
#[test]
fn from_exit_to_the_next_entry_it_takes_a_release_and_a_grant() {
    let mut world = world(5);
    world.command(p(1), Command::Enter);
    world.drain(&mut Dice(0));
    world.command(p(2), Command::Enter);
    world.drain(&mut Dice(0));
    world.command(p(1), Command::Exit);
    world.pass(1, 5);
    world.pass(5, 2);
    assert_eq!(entered(&mut world), [1, 2]);
}

/// What the application says overtakes what the lock says.
#[claims("7-C2")]
#[test]
fn a_later_request_on_a_faster_link_is_granted_first() {
    let mut world = world(5);
    world.command(p(1), Command::Enter);
    // Here P1 tells P2 that it has asked, on another connection; then P2 asks.
    world.command(p(2), Command::Enter);
    world.pass(2, 5);
    world.pass(1, 5);
    world.drain(&mut Dice(0));
    assert_eq!(entered(&mut world), [2]);
}

/// The same for Ricart–Agrawala: its clocks know of its own messages only.
#[test]
fn a_clock_that_the_application_does_not_carry_does_not_order_what_it_causes() {
    let config = ricart_agrawala::Config::default();
    let mut world = World::<RicartAgrawala>::new(3, Order::Fifo, config);
    world.command(p(3), Command::Enter);
    world.pass(3, 1);
    world.command(p(1), Command::Enter);
    // Here P1 tells P2 that it has asked; then P2, whose clock is still 0, asks.
    world.command(p(2), Command::Enter);
    let mut order: Vec<u32> = Vec::new();
    for _ in 0..3 {
        world.drain(&mut Dice(0));
        let inside = entered(&mut world);
        order.extend(&inside);
        world.command(p(inside[0]), Command::Exit);
    }
    assert_eq!(order, [2, 3, 1], "P2 entered before P1, which had asked before");
}
