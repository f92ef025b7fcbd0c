//! L. Lamport, *Time, clocks, and the ordering of events in a distributed system*, CACM 21(7),
//! 1978.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::Lamport;
use tenure_algorithms::mutex::lamport::{Config, Message, Switch};
use tenure_claims::claims;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, Order};

use crate::support::mutex::{NOBODY, Plan, entered, run};
use crate::support::p;
use tenure_trace::{Dice, Stage};

fn config(switches: &[Switch]) -> Config {
    Config { variants: switches.iter().fold(Variants::none(), |all, one| all.with(*one)) }
}

fn stage(size: u32, switches: &[Switch]) -> Stage<Lamport> {
    Stage::alike(size, Order::Fifo, config(switches))
}

/// Both ask, and everything is delivered: who is inside?
fn both_ask(switches: &[Switch]) -> Vec<u32> {
    let mut stage = stage(2, switches);
    stage.command(p(1), Command::Enter);
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    entered(&mut stage)
}

/// P1 has asked with (1, P1); the replies are (3, P2) and (4, P3).
#[claims("W-07")]
#[test]
fn a_process_enters_when_everybody_has_replied_later_and_nobody_is_before_it() {
    let mut stage = stage(3, &[]);
    stage.command(p(1), Command::Enter);
    stage.inject(p(2), p(1), Message::Reply { clock: 3 });
    assert_eq!(entered(&mut stage), NOBODY, "P3 has not replied yet");
    stage.inject(p(3), p(1), Message::Reply { clock: 4 });
    assert_eq!(entered(&mut stage), [1]);
}

#[test]
fn a_reply_that_is_not_later_than_the_request_does_not_count() {
    let mut stage = stage(2, &[]);
    stage.command(p(1), Command::Enter);
    stage.inject(p(2), p(1), Message::Reply { clock: 0 });
    assert_eq!(entered(&mut stage), NOBODY);
    stage.inject(p(2), p(1), Message::Reply { clock: 1 });
    assert_eq!(entered(&mut stage), [1], "(1, P2) comes after (1, P1)");
}

#[claims("A-LAM", "I-37")]
#[test]
fn every_entry_costs_three_messages_per_peer() {
    for size in 1..=6_u32 {
        for switches in [&[][..], &[Switch::AnyMessage]] {
            for seed in 0..150 {
                let entries = vec![3; size as usize];
                let plan = Plan { order: Order::Fifo, entries, duplicates: 0, losses: 0, seed };
                let outcome = run::<Lamport>(config(switches), &plan).unwrap();
                assert_eq!(outcome.messages, 3 * u64::from(size - 1) * outcome.entries);
                assert!(outcome.bypass <= 2, "seed {seed}");
            }
        }
    }
}

#[test]
fn suppressed_replies_save_up_to_a_third() {
    let config = config(&[Switch::SuppressedReplies]);
    let mut saved = 0;
    for seed in 0..1000 {
        let plan = Plan { order: Order::Fifo, entries: vec![3; 4], duplicates: 0, losses: 0, seed };
        let outcome = run::<Lamport>(config.clone(), &plan).unwrap();
        let cost = Lamport::card(&config, 4).messages;
        let range = cost.least * outcome.entries..=cost.most.unwrap() * outcome.entries;
        assert!(range.contains(&outcome.messages), "seed {seed}");
        saved += range.end() - outcome.messages;
    }
    assert!(saved > 0);
    // Both ask at once: P2's request serves as its reply to P1.
    let mut stage = stage(2, &[Switch::SuppressedReplies]);
    stage.command(p(1), Command::Enter);
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!((entered(&mut stage), stage.sent_of("reply")), (vec![1], 1));
}

#[claims("Q-36")]
#[test]
fn from_exit_to_the_next_entry_it_takes_one_release() {
    let mut stage = stage(3, &[]);
    stage.command(p(1), Command::Enter);
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
    stage.command(p(1), Command::Exit);
    stage.pass((p(1), p(2)), 0);
    assert_eq!(entered(&mut stage), [2]);
}

#[test]
fn duplicates_on_first_in_first_out_links_are_harmless() {
    for seed in 0..2000 {
        let plan = Plan { order: Order::Fifo, entries: vec![3; 3], duplicates: 5, losses: 0, seed };
        for switches in [&[][..], &[Switch::AnyMessage], &[Switch::SuppressedReplies]] {
            run::<Lamport>(config(switches), &plan).unwrap();
        }
    }
}

#[claims("7-L1")]
#[test]
fn ids_are_no_stamps() {
    let mut stage = stage(2, &[Switch::IdsAsStamps]);
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2, 1], "both are inside");
}

#[claims("7-L2", "7-L3")]
#[test]
fn clocks_alone_are_no_total_order() {
    assert_eq!(both_ask(&[Switch::ClockOnlyOwnFirst]).len(), 2);
    assert_eq!(both_ask(&[Switch::ClockOnlyOtherFirst]), NOBODY);
    assert_eq!(both_ask(&[]), [1]);
}

#[test]
fn without_a_tie_break_the_smaller_clock_still_enters_first() {
    for switch in [Switch::ClockOnlyOwnFirst, Switch::ClockOnlyOtherFirst] {
        let mut stage = stage(2, &[switch]);
        stage.inject(p(2), p(1), Message::Reply { clock: 6 });
        stage.command(p(1), Command::Enter);
        stage.command(p(2), Command::Enter);
        stage.drain(&mut Dice(0));
        assert_eq!(entered(&mut stage), [2], "{switch:?}");
    }
}

#[test]
fn a_later_request_counts_as_a_reply_only_where_any_message_does() {
    let enters = |switches: &[Switch]| {
        let mut stage = stage(2, switches);
        stage.command(p(1), Command::Enter);
        stage.command(p(2), Command::Enter);
        stage.pass((p(2), p(1)), 0);
        entered(&mut stage)
    };
    assert_eq!(enters(&[]), NOBODY);
    assert_eq!(enters(&[Switch::AnyMessage]), [1]);
}

/// With "any message": four steps to two inside.
#[claims("7-L4")]
#[test]
fn a_reply_that_overtakes_a_request_lets_two_in() {
    let mut stage = stage(2, &[Switch::AnyMessage]);
    stage.command(p(1), Command::Enter);
    stage.command(p(2), Command::Enter);
    stage.pass((p(2), p(1)), 0);
    assert_eq!(entered(&mut stage), [1], "P2's request counts as a reply");
    stage.pass((p(1), p(2)), 1);
    assert_eq!(entered(&mut stage), [2], "P1's reply has overtaken P1's request");
}

/// With replies only.
#[claims("7-L4")]
#[test]
fn without_first_in_first_out_two_may_be_inside() {
    let caught = (0..3000).filter_map(|seed| {
        let plan =
            Plan { order: Order::Reordered, entries: vec![1; 2], duplicates: 0, losses: 0, seed };
        run::<Lamport>(config(&[]), &plan).err()
    });
    assert!(caught.into_iter().any(|says| says.contains("mutual-exclusion")));
}

#[claims("7-L5", "7-L6")]
#[test]
fn neither_of_the_two_conditions_is_enough_alone() {
    assert_eq!(both_ask(&[Switch::OwnRequestOnTop]).len(), 2);
    assert_eq!(both_ask(&[Switch::ReplyFromAll]).len(), 2);
}
