//! The token ring that mends itself.

use tenure_algorithms::catalogue::{self, Parameters};
use tenure_algorithms::mutex::RepairedRing;
use tenure_algorithms::mutex::repaired_ring::{Config, Message, Timer};
use tenure_claims::claims;
use tenure_core::service::mutex::Command;
use tenure_core::{Crashes, Order, Term, Verdict};

use crate::support::mutex::{NOBODY, dies, entered, fences};
use crate::support::p;
use tenure_trace::Stage;

fn stage(size: u32) -> Stage<RepairedRing> {
    Stage::alike(size, Order::Reordered, Config::default())
}

/// Delivers, and fires timers, until so many hops are done or nothing is left to do.
fn turn(stage: &mut Stage<RepairedRing>, hops: u32) {
    for _ in 0..hops {
        stage.drain(&mut tenure_trace::Dice(0));
        if let Some((at, timer)) = stage.next_timer() {
            stage.fire(at, timer);
        }
    }
    stage.drain(&mut tenure_trace::Dice(0));
}

#[claims("4-token", "I-52")]
#[test]
fn a_holder_that_dies_takes_its_token_with_it_and_another_is_made() {
    let mut stage = stage(4);
    stage.command(p(1), Command::Enter);
    stage.command(p(3), Command::Enter);
    dies(&mut stage, 1);
    turn(&mut stage, 4);
    let fences = fences(&mut stage);
    assert_eq!(fences.len(), 2, "P1, and after it P3");
    assert!(fences[0] < fences[1]);
}

/// 3.4: f adjacent crashes survive, and here f is N − 1.
#[test]
fn adjacent_crashes_are_skipped_to_the_last_that_is_left() {
    let mut stage = stage(5);
    stage.command(p(5), Command::Enter);
    for process in 1..=4 {
        dies(&mut stage, process);
    }
    turn(&mut stage, 5);
    assert_eq!(entered(&mut stage), [5]);
    stage.command(p(5), Command::Exit);
    stage.command(p(5), Command::Enter);
    assert_eq!(entered(&mut stage), [5], "alone with the token");
}

#[test]
fn a_token_that_was_passed_to_the_dead_is_missed_by_whoever_passed_it() {
    let mut stage = stage(3);
    stage.crash(p(2));
    stage.suspicion(p(3), p(2), Verdict::Suspect);
    stage.drain(&mut tenure_trace::Dice(0));
    // P1 has not heard of it yet, and passes the token on.
    stage.command(p(3), Command::Enter);
    turn(&mut stage, 2);
    assert_eq!(entered(&mut stage), NOBODY);
    stage.suspicion(p(1), p(2), Verdict::Suspect);
    turn(&mut stage, 3);
    assert_eq!(entered(&mut stage), [3]);
}

#[test]
fn who_is_inside_answers_when_it_leaves_and_nobody_enters_before() {
    let mut stage = stage(3);
    stage.command(p(3), Command::Enter);
    turn(&mut stage, 2);
    assert_eq!(entered(&mut stage), [3]);
    stage.command(p(2), Command::Enter);
    dies(&mut stage, 1);
    turn(&mut stage, 5);
    assert_eq!(entered(&mut stage), NOBODY);
    stage.command(p(3), Command::Exit);
    turn(&mut stage, 2);
    assert_eq!(entered(&mut stage), [2]);
}

#[claims("4-token")]
#[test]
fn a_token_of_an_older_generation_is_discarded() {
    let mut stage = stage(3);
    stage.fire(p(1), Timer::Pass);
    // The token is under way to P2 when P3 is suspected in vain, and a new one is made.
    stage.suspicion(p(1), p(3), Verdict::Suspect);
    stage.pass((p(1), p(2)), 1);
    stage.pass((p(2), p(1)), 0);
    assert_eq!(stage.armed_timers(), [(p(1), Timer::Pass)], "P1 has the new one");
    stage.pass((p(1), p(2)), 0);
    assert_eq!(stage.armed_timers(), [(p(1), Timer::Pass)], "and P2 discards the old one");
}

/// P1 would take an answer to its older inquiry, which comes late, for one to its newer.
#[test]
fn an_older_inquiry_of_the_same_maker_is_not_answered_from_inside() {
    let mut stage = stage(3);
    stage.command(p(2), Command::Enter);
    turn(&mut stage, 2);
    let inquire = |number, maker| {
        let generation = Term { number, leader: p(maker) };
        Message::Inquire { generation }
    };
    stage.inject(p(1), p(2), inquire(2, 1));
    stage.inject(p(1), p(2), inquire(1, 1));
    assert_eq!(stage.sent_of("answer"), 0, "P2 is inside");
    stage.inject(p(3), p(2), inquire(1, 3));
    assert_eq!(stage.queue((p(2), p(3))).len(), 1, "but P3 is told that it was overtaken");
    stage.command(p(2), Command::Exit);
    assert_eq!(stage.queue((p(2), p(1))).len(), 1);
}

#[test]
fn a_generation_that_was_overtaken_is_left_to_its_maker() {
    let mut stage = stage(3);
    let doubt = || Message::Doubt { generation: Term { number: 0, leader: p(1) } };
    stage.inject(p(3), p(1), doubt());
    stage.inject(p(3), p(2), doubt());
    stage.drain(&mut tenure_trace::Dice(0));
    assert_eq!(stage.armed_timers(), [(p(2), Timer::Pass)], "1 of P2 is higher than 1 of P1");
}

/// What no lock can prevent, the fence tells apart.
#[test]
fn after_a_suspicion_in_vain_two_are_inside_with_different_fences() {
    let mut stage = stage(2);
    stage.command(p(1), Command::Enter);
    stage.command(p(2), Command::Enter);
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    let fences = fences(&mut stage);
    assert_eq!(fences.len(), 2);
    assert!(fences[0] < fences[1], "the resource refuses P1 from now on");
}

#[test]
fn what_survives_crashes_is_a_variant_of_what_does_not() {
    let variants = vec!["fault-tolerant".to_string()];
    let parameters = Parameters { variants, ..Parameters::plain(4) };
    for (name, found) in [
        ("token-ring", "repaired-ring"),
        ("ricart-agrawala", "tolerant-ricart-agrawala"),
        ("suzuki-kasami", "nishio-li-manning"),
    ] {
        let prefixed = |name| format!("fifo:{name}");
        for (name, found) in [
            (name.to_string(), found.to_string()),
            (found.to_string(), found.to_string()),
            (prefixed(name), prefixed(found)),
        ] {
            assert_eq!(catalogue::card(&name, &parameters).unwrap().name, found);
        }
        let plain = catalogue::card(name, &Parameters::plain(4)).unwrap();
        assert_eq!(plain.name, name);
        assert_eq!(plain.faults.crashes, Crashes::None);
        assert!(plain.variants.iter().any(|variant| variant.name == "fault-tolerant"));
    }
    assert!(catalogue::card("central", &parameters).is_err());
}
