//! Ask the coordinator.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::central::{Config, Switch};
use tenure_algorithms::mutex::{Central, RicartAgrawala, ricart_agrawala};
use tenure_claims::claims;
use tenure_core::Order;
use tenure_core::service::mutex::Command;

use crate::support::mutex::{NOBODY, Plan, entered, run};
use crate::support::p;
use tenure_trace::{Dice, Stage};

/// P5 coordinates.
fn stage(size: u32) -> Stage<Central> {
    let config = Config { coordinator: p(5), ..Config::default() };
    Stage::alike(size, Order::Reordered, config)
}

#[claims("W-05", "A-CEN")]
#[test]
fn an_entry_to_an_empty_section_takes_a_request_a_grant_and_a_release() {
    let mut stage = stage(5);
    stage.command(p(2), Command::Enter);
    stage.pass((p(2), p(5)), 0);
    assert_eq!(entered(&mut stage), NOBODY);
    stage.pass((p(5), p(2)), 0);
    assert_eq!(entered(&mut stage), [2]);
    stage.command(p(2), Command::Exit);
    stage.drain(&mut Dice(0));
    for kind in ["request", "grant", "release"] {
        assert_eq!(stage.sent_of(kind), 1, "{kind}");
    }
    assert_eq!(stage.total_sent(), 3);
}

#[claims("W-06", "A-CEN")]
#[test]
fn whoever_asks_first_enters_first_whatever_the_ids() {
    let mut stage = stage(6);
    for (at, before) in [(2, 1), (6, 0), (1, 0)] {
        stage.command(p(at), Command::Enter);
        stage.pass((p(at), p(5)), 0);
        assert_eq!(stage.queue((p(5), p(at))).len(), before);
    }
    stage.pass((p(5), p(2)), 0);
    let mut order = entered(&mut stage);
    while let Some(last) = order.last().copied().filter(|_| order.len() < 3) {
        stage.command(p(last), Command::Exit);
        stage.drain(&mut Dice(0));
        order.extend(entered(&mut stage));
        if order == [2, 6] {
            let desk = format!("{:?}", stage.process(p(5)).unwrap());
            assert!(
                desk.contains("queue: [Claim { process: P1, ")
                    && desk.matches("process:").count() == 2,
                "P1 alone is in the queue: {desk}"
            );
        }
    }
    assert_eq!(order, [2, 6, 1]);
    stage.command(p(1), Command::Exit);
    assert_eq!(stage.total_sent(), 9);
}

#[test]
fn the_coordinators_own_entry_costs_no_message() {
    let mut stage = stage(5);
    stage.command(p(5), Command::Enter);
    assert_eq!(entered(&mut stage), [5]);
    stage.command(p(5), Command::Exit);
    assert_eq!(stage.total_sent(), 0);
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
    let mut stage = stage(5);
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.command(p(1), Command::Exit);
    stage.pass((p(1), p(5)), 0);
    stage.pass((p(5), p(2)), 0);
    assert_eq!(entered(&mut stage), [1, 2]);
}

/// What the application says overtakes what the lock says.
#[claims("7-C2")]
#[test]
fn a_later_request_on_a_faster_link_is_granted_first() {
    let mut stage = stage(5);
    stage.command(p(1), Command::Enter);
    // Here P1 tells P2 that it has asked, on another connection; then P2 asks.
    stage.command(p(2), Command::Enter);
    stage.pass((p(2), p(5)), 0);
    stage.pass((p(1), p(5)), 0);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2]);
}

/// The same for Ricart–Agrawala: its clocks know of its own messages only.
#[test]
fn a_clock_that_the_application_does_not_carry_does_not_order_what_it_causes() {
    let config = ricart_agrawala::Config::default();
    let mut stage = Stage::<RicartAgrawala>::alike(3, Order::Fifo, config);
    stage.command(p(3), Command::Enter);
    stage.pass((p(3), p(1)), 0);
    stage.command(p(1), Command::Enter);
    // Here P1 tells P2 that it has asked; then P2, whose clock is still 0, asks.
    stage.command(p(2), Command::Enter);
    let mut order: Vec<u32> = Vec::new();
    for _ in 0..3 {
        stage.drain(&mut Dice(0));
        let inside = entered(&mut stage);
        order.extend(&inside);
        stage.command(p(inside[0]), Command::Exit);
    }
    assert_eq!(order, [2, 3, 1], "P2 entered before P1, which had asked before");
}
