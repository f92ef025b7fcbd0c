//! G. Ricart, A. K. Agrawala, *An optimal algorithm for mutual exclusion in computer networks*,
//! CACM 24(1), 1981.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::RicartAgrawala;
use tenure_algorithms::mutex::ricart_agrawala::{Config, Message, Switch};
use tenure_claims::claims;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, Order, Property, Stamp};

use crate::support::mutex::{self, NOBODY, Plan, entered, run};
use crate::support::p;
use tenure_trace::{Dice, Stage};

fn config(switches: &[Switch]) -> Config {
    Config { variants: switches.iter().fold(Variants::none(), |all, one| all.with(*one)) }
}

fn stage(size: u32, switches: &[Switch]) -> Stage<RicartAgrawala> {
    Stage::alike(size, Order::Fifo, config(switches))
}

fn is_caught(switches: &[Switch], plan: &Plan, says: &str) -> bool {
    mutex::is_caught::<RicartAgrawala>(&config(switches), plan, says)
}

fn plan(order: Order, entries: &[u32], duplicates: u32) -> Plan {
    Plan::of(order, entries).duplicating(duplicates)
}

#[claims("W-08")]
#[test]
fn when_nobody_wants_to_enter_everybody_replies_at_once() {
    let mut stage = stage(3, &[]);
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
    assert_eq!((stage.sent_of("request"), stage.sent_of("reply")), (2, 2));
}

#[claims("W-08")]
#[test]
fn whoever_is_inside_replies_when_it_leaves() {
    let mut stage = stage(3, &[]);
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
    stage.command(p(1), Command::Exit);
    assert_eq!(stage.queue((p(1), p(2))).len(), 1, "one message from exit to the next entry");
    stage.pass((p(1), p(2)), 0);
    assert_eq!(entered(&mut stage), [2]);
}

/// P2 asks with clock 15 and P3 with clock 7, at once.
#[claims("W-09")]
#[test]
fn of_two_that_ask_at_once_the_smaller_stamp_enters_first() {
    let mut stage = stage(3, &[]);
    stage.inject(p(1), p(2), Message::Reply { to: 0, clock: 14 });
    stage.inject(p(1), p(3), Message::Reply { to: 0, clock: 6 });
    stage.command(p(2), Command::Enter);
    stage.command(p(3), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [3]);
    assert_eq!(stage.sent_of("reply"), 3, "P1 to both, P2 to P3; P3 defers P2, and P2 nobody");
    stage.command(p(3), Command::Exit);
    assert_eq!((stage.queue((p(3), p(2))).len(), stage.queue((p(3), p(1))).len()), (1, 0));
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2]);
    stage.command(p(2), Command::Exit);
    assert_eq!((stage.sent_of("request"), stage.sent_of("reply")), (4, 4));
}

#[claims("I-38")]
#[test]
fn equal_clocks_go_to_the_smaller_process() {
    let mut stage = stage(2, &[]);
    stage.command(p(2), Command::Enter);
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
}

#[claims("A-RA", "I-39")]
#[test]
fn every_entry_costs_twice_as_many_messages_as_there_are_peers() {
    for size in 1..=6_u32 {
        for order in [Order::Fifo, Order::Reordered] {
            for seed in 0..200 {
                let entries = vec![3; size as usize];
                let plan = Plan { order, entries, duplicates: 0, losses: 0, seed };
                let outcome = run::<RicartAgrawala>(config(&[]), &plan).unwrap();
                let cost = RicartAgrawala::card(&config(&[]), size).messages;
                assert_eq!(cost.most, Some(cost.least));
                assert_eq!(outcome.messages, cost.least * outcome.entries, "seed {seed}");
            }
        }
    }
}

/// Literally "nobody enters twice while another waits" does not hold; thrice does.
#[test]
fn nobody_enters_three_times_while_another_waits() {
    let worst = (0..3000).map(|seed| {
        let plan = Plan { seed, ..plan(Order::Fifo, &[4, 4, 4], 0) };
        run::<RicartAgrawala>(config(&[]), &plan).unwrap().bypass
    });
    assert_eq!(worst.max(), Some(2));
}

#[test]
fn duplicates_and_reordering_are_harmless() {
    for seed in 0..3000 {
        let plan = Plan { seed, ..plan(Order::Reordered, &[3, 3, 3], 4) };
        run::<RicartAgrawala>(config(&[]), &plan).unwrap();
    }
}

#[claims("7-R2")]
#[test]
fn ids_are_no_stamps() {
    let ids = [Switch::IdsAsStamps];
    assert!(is_caught(&ids, &plan(Order::Fifo, &[2, 2, 2], 0), "fencing"));
    let mut stage = stage(3, &ids);
    stage.command(p(2), Command::Enter);
    stage.pass((p(2), p(1)), 0);
    stage.pass((p(1), p(2)), 0);
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2, 1], "both are inside");
}

#[claims("7-R3")]
#[test]
fn without_a_tie_break_that_lets_both_go_both_enter() {
    let mut stage = stage(2, &[Switch::ClockOnlyStrict]);
    stage.command(p(1), Command::Enter);
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage).len(), 2);
}

#[claims("7-R4")]
#[test]
fn without_a_tie_break_that_lets_neither_go_both_wait_for_ever() {
    let mut stage = stage(2, &[Switch::ClockOnlyDefer]);
    stage.command(p(1), Command::Enter);
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), NOBODY);
}

#[test]
fn without_a_tie_break_the_smaller_clock_still_enters_first() {
    for switch in [Switch::ClockOnlyStrict, Switch::ClockOnlyDefer] {
        let mut stage = stage(2, &[switch]);
        stage.inject(p(2), p(1), Message::Reply { to: 0, clock: 6 });
        stage.command(p(1), Command::Enter);
        stage.command(p(2), Command::Enter);
        stage.drain(&mut Dice(0));
        assert_eq!(entered(&mut stage), [2], "{switch:?}");
    }
}

#[claims("7-R5")]
#[test]
fn a_request_that_does_not_advance_the_clock_lets_a_later_one_overtake_an_entry() {
    // Replies would advance the clock instead, so they carry none here.
    let still = [Switch::NoClockOnRequest, Switch::UnstampedReply];
    assert!(is_caught(&still, &plan(Order::Reordered, &[2, 2], 0), "mutual-exclusion"));
    assert!(is_caught(&still, &plan(Order::Fifo, &[2, 2, 2], 0), "mutual-exclusion"));
}

/// P1's second request happens after P2's, of which P3's reply to P1 knows.
#[claims("7-R6")]
#[test]
fn a_reply_carries_the_clock_so_that_a_later_request_has_the_larger_stamp() {
    let enters_next = |switches: &[Switch]| {
        let mut stage = stage(3, switches);
        stage.command(p(1), Command::Enter);
        stage.pass((p(1), p(2)), 0);
        stage.command(p(2), Command::Enter);
        for (from, to) in [(2, 3), (1, 3), (2, 1), (3, 1)] {
            stage.pass((p(from), p(to)), 0);
        }
        assert_eq!(entered(&mut stage), [1]);
        stage.command(p(1), Command::Exit);
        stage.command(p(1), Command::Enter);
        stage.drain(&mut Dice(0));
        entered(&mut stage)
    };
    assert_eq!(enters_next(&[]), [2]);
    assert_eq!(enters_next(&[Switch::UnstampedReply]), [1], "against happened-before");
    let promises = |switches| RicartAgrawala::card(&config(switches), 3).promises;
    assert!(promises(&[]).contains(&Property::Order));
    assert!(!promises(&[Switch::UnstampedReply]).contains(&Property::Order));
    assert!(!promises(&[Switch::Reference]).contains(&Property::Order));
}

#[claims("7-R7", "7-R8")]
#[test]
fn replies_are_told_apart_by_sender_and_by_request() {
    let twice = plan(Order::Reordered, &[2, 2], 3);
    assert!(is_caught(&[Switch::BareCounter], &twice, "mutual-exclusion"));
    assert!(is_caught(&[Switch::UntaggedReply], &twice, "mutual-exclusion"));
    let once = plan(Order::Reordered, &[1, 1, 1], 3);
    assert!(is_caught(&[Switch::BareCounter], &once, "mutual-exclusion"));
}

/// P1 is inside, and finds both an old request of P2, duplicated, and its new one.
#[test]
fn where_replies_name_no_request_a_process_is_owed_one_reply_and_not_two() {
    let owed = |switches: &[Switch]| {
        let mut stage = stage(2, switches);
        stage.command(p(1), Command::Enter);
        stage.drain(&mut Dice(0));
        for clock in [2, 3] {
            stage.inject(p(2), p(1), Message::Request { stamp: Stamp { clock, process: p(2) } });
        }
        stage.command(p(1), Command::Exit);
        stage.queue((p(1), p(2))).len()
    };
    assert_eq!(owed(&[]), 2, "one for each, which P2 tells apart");
    assert_eq!(owed(&[Switch::UntaggedReply]), 1, "P2 could not tell a second one apart");
}

#[test]
fn a_process_that_replies_while_inside_lets_others_in() {
    let inside = [Switch::ReplyWhileInside];
    assert!(is_caught(&inside, &plan(Order::Fifo, &[1, 1], 0), "mutual-exclusion"));
}

#[test]
fn the_algorithm_of_1981_needs_no_order_of_channels() {
    for seed in 0..2000 {
        let plan = Plan { seed, ..plan(Order::Reordered, &[3, 3, 3], 0) };
        run::<RicartAgrawala>(config(&[Switch::Reference]), &plan).unwrap();
    }
}
