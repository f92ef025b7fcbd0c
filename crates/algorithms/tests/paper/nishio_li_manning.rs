//! S. Nishio, K. F. Li, E. G. Manning, *A resilient mutual exclusion algorithm for computer
//! networks*, IEEE TPDS 1(3), 1990.

use tenure_algorithms::mutex::NishioLiManning;
use tenure_algorithms::mutex::nishio_li_manning::Message;
use tenure_claims::claims;
use tenure_core::service::mutex::Command;
use tenure_core::{Algorithm, Crashes, Fence, Order, Property, Term, Verdict};

use crate::support::mutex::{NOBODY, Plan, dies, enter_and_exit, entered, fences, run};
use crate::support::p;
use tenure_trace::{Dice, Stage};

fn stage(size: u32) -> Stage<NishioLiManning> {
    Stage::alike(size, Order::Fifo, ())
}

/// The n-th entry with the token of a generation.
fn fence(number: u64, maker: u32, entries: u64) -> Fence {
    Fence(Term { number, leader: p(maker) }.packed(), entries)
}

/// How many messages there were about generations: doubts, inquiries and answers.
fn about_generations(stage: &Stage<NishioLiManning>) -> [u64; 3] {
    ["doubt", "inquire", "answer"].map(|kind| stage.sent_of(kind))
}

fn ask(stage: &mut Stage<NishioLiManning>, processes: &[u32]) {
    for process in processes {
        stage.command(p(*process), Command::Enter);
        stage.drain(&mut Dice(0));
    }
}

fn leave(stage: &mut Stage<NishioLiManning>, process: u32) {
    stage.command(p(process), Command::Exit);
    stage.drain(&mut Dice(0));
}

#[test]
fn without_a_crash_an_entry_costs_what_it_costs_in_the_plain_algorithm() {
    for size in 2..=6 {
        let mut stage = stage(size);
        assert_eq!(enter_and_exit(&mut stage, 1), 0, "P1 has the token at first");
        for _ in 0..3 {
            assert_eq!(enter_and_exit(&mut stage, 2), u64::from(size));
            assert_eq!(enter_and_exit(&mut stage, 2), 0, "the token stays");
            assert_eq!(enter_and_exit(&mut stage, 1), u64::from(size));
        }
        assert_eq!(about_generations(&stage), [0; 3]);
    }
    for seed in 0..1000 {
        let plan = Plan::of(Order::Reordered, &[3, 3, 3, 3]).seeded(seed);
        let outcome = run::<NishioLiManning>((), &plan).unwrap();
        assert_eq!(outcome.messages % 4, 0, "seed {seed}: {outcome:?}");
        assert!(outcome.messages <= 4 * outcome.entries, "seed {seed}: {outcome:?}");
    }
}

#[test]
fn the_token_goes_round_among_those_who_wait_from_the_next_process_on() {
    let mut stage = stage(4);
    ask(&mut stage, &[2, 1, 4, 3]);
    for (leaves, enters) in [(2, 3), (3, 4), (4, 1)] {
        stage.take_seen();
        stage.command(p(leaves), Command::Exit);
        assert_eq!(stage.queue((p(leaves), p(enters))).len(), 1, "one message from exit to entry");
        stage.drain(&mut Dice(0));
        assert_eq!(entered(&mut stage), [enters]);
    }
}

#[test]
fn whoever_dies_inside_takes_the_token_with_it_and_another_is_made() {
    let mut stage = stage(3);
    ask(&mut stage, &[1, 2, 3]);
    dies(&mut stage, 1);
    stage.drain(&mut Dice(0));
    leave(&mut stage, 2);
    leave(&mut stage, 3);
    assert_eq!(fences(&mut stage), [fence(0, 1, 1), fence(1, 2, 1), fence(1, 2, 2)]);
    assert_eq!(stage.sent_of("request"), 4, "nobody who waits has to ask again");
    assert_eq!(about_generations(&stage), [1, 1, 1], "of P3, P2 and P3");
    assert_eq!(enter_and_exit(&mut stage, 3), 0, "P3 has the token");
    assert_eq!(enter_and_exit(&mut stage, 2), 3, "P1 is asked, and in vain");
}

#[test]
fn a_holder_that_dies_idle_is_noticed_before_anybody_asks() {
    let mut stage = stage(3);
    enter_and_exit(&mut stage, 2);
    dies(&mut stage, 2);
    stage.drain(&mut Dice(0));
    assert_eq!(enter_and_exit(&mut stage, 3), 3, "of P1, who has made a token");
    assert_eq!(about_generations(&stage), [1, 1, 1]);
}

#[test]
fn whoever_waits_and_dies_is_passed_over() {
    let mut stage = stage(4);
    ask(&mut stage, &[1, 3, 4]);
    dies(&mut stage, 3);
    stage.drain(&mut Dice(0));
    leave(&mut stage, 1);
    assert_eq!(fences(&mut stage), [fence(0, 1, 1), fence(0, 1, 2)]);
    assert_eq!(about_generations(&stage), [2, 0, 0], "P1 has the token, and asks nobody");
}

#[test]
fn who_is_in_the_queue_of_the_token_and_dies_is_passed_over() {
    let mut stage = stage(4);
    ask(&mut stage, &[1, 2, 3, 4]);
    leave(&mut stage, 1);
    stage.crash(p(3));
    stage.suspicion(p(2), p(3), Verdict::Suspect);
    stage.command(p(2), Command::Exit);
    assert_eq!((stage.queue((p(2), p(3))).len(), stage.queue((p(2), p(4))).len()), (0, 1));
}

#[test]
fn a_token_that_was_sent_to_the_dead_is_missed_by_whoever_sent_it() {
    let mut stage = stage(3);
    ask(&mut stage, &[1, 2]);
    stage.crash(p(2));
    leave(&mut stage, 1);
    ask(&mut stage, &[3]);
    assert_eq!(entered(&mut stage), [1]);
    stage.suspicion(p(3), p(2), Verdict::Suspect);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), NOBODY, "P1, which P3 asks, still awaits the answer of P2");
    stage.suspicion(p(1), p(2), Verdict::Suspect);
    stage.drain(&mut Dice(0));
    assert_eq!(fences(&mut stage), [fence(1, 1, 1)]);
    assert_eq!(about_generations(&stage), [1, 2, 1]);
}

/// "All who are live must answer no."
#[test]
fn who_is_inside_answers_when_it_leaves_and_there_is_no_token_before() {
    let mut stage = stage(3);
    enter_and_exit(&mut stage, 2);
    ask(&mut stage, &[3, 2]);
    dies(&mut stage, 1);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [3]);
    assert_eq!(about_generations(&stage), [1, 1, 0]);
    leave(&mut stage, 3);
    assert_eq!(fences(&mut stage), [fence(1, 2, 1)], "P2, with its own");
}

#[test]
fn a_maker_that_is_inside_with_an_older_token_waits_for_itself() {
    let mut stage = stage(3);
    ask(&mut stage, &[2, 3]);
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    stage.drain(&mut Dice(0));
    assert_eq!(about_generations(&stage), [0; 3], "P2 has the token itself");
    let doubted = Term { number: 4, leader: p(3) };
    stage.inject(p(3), p(2), Message::Doubt { generation: doubted });
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2]);
    leave(&mut stage, 2);
    assert_eq!(fences(&mut stage), [fence(5, 2, 1)], "P3 with the next token");
}

#[claims("4-token")]
#[test]
fn a_maker_that_dies_is_replaced_and_one_token_is_made() {
    let mut stage = stage(4);
    ask(&mut stage, &[1, 3, 4]);
    dies(&mut stage, 1);
    stage.pass((p(2), p(3)), 0);
    dies(&mut stage, 2);
    stage.drain(&mut Dice(0));
    leave(&mut stage, 3);
    leave(&mut stage, 4);
    assert_eq!(fences(&mut stage), [fence(0, 1, 1), fence(2, 3, 1), fence(2, 3, 2)]);
}

#[test]
fn a_generation_that_was_overtaken_is_begun_again_with_a_higher_number() {
    let mut stage = stage(3);
    enter_and_exit(&mut stage, 3);
    // Each takes the other for dead, and P3, who has the token, is asked by both.
    stage.suspicion(p(1), p(2), Verdict::Suspect);
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    stage.pass((p(2), p(3)), 0);
    stage.pass((p(1), p(3)), 0);
    stage.pass((p(3), p(1)), 0);
    stage.drain(&mut Dice(0));
    ask(&mut stage, &[3]);
    assert_eq!(fences(&mut stage).last(), Some(&fence(2, 1, 1)), "higher than 1 of P2");
}

#[test]
fn a_generation_that_was_overtaken_is_left_to_its_maker_if_that_is_not_suspected() {
    let mut stage = stage(3);
    enter_and_exit(&mut stage, 3);
    let doubt = || Message::Doubt { generation: Term { number: 0, leader: p(1) } };
    stage.inject(p(3), p(1), doubt());
    stage.inject(p(3), p(2), doubt());
    stage.drain(&mut Dice(0));
    ask(&mut stage, &[3]);
    assert_eq!(fences(&mut stage).last(), Some(&fence(1, 2, 1)), "higher than 1 of P1");
}

/// P1 would take an answer to its older inquiry, which comes late, for one to its newer.
#[test]
fn an_older_inquiry_of_the_same_maker_is_not_answered_from_inside() {
    let mut stage = stage(3);
    ask(&mut stage, &[2]);
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

#[claims("4-token")]
#[test]
fn a_token_of_an_older_generation_is_discarded() {
    let mut stage = stage(3);
    stage.command(p(3), Command::Enter);
    stage.pass((p(3), p(1)), 0);
    // The token is under way to P3 when P2 is suspected in vain, and a new one is made.
    stage.suspicion(p(1), p(2), Verdict::Suspect);
    stage.pass((p(1), p(3)), 1);
    stage.pass((p(3), p(1)), 0);
    stage.pass((p(1), p(3)), 0);
    assert_eq!(entered(&mut stage), NOBODY, "it is the old one");
    stage.pass((p(1), p(3)), 0);
    assert_eq!(fences(&mut stage), [fence(1, 1, 1)]);
}

#[test]
fn requests_that_were_served_are_not_served_again_by_a_new_token() {
    let mut stage = stage(3);
    for process in [2, 3, 2, 3, 1] {
        enter_and_exit(&mut stage, process);
    }
    ask(&mut stage, &[3]);
    dies(&mut stage, 3);
    stage.drain(&mut Dice(0));
    let sent = stage.total_sent();
    stage.inject(p(3), p(1), Message::Request { number: 2 });
    stage.inject(p(2), p(1), Message::Request { number: 2 });
    assert_eq!(stage.total_sent(), sent, "P1 keeps its new token");
    assert_eq!(enter_and_exit(&mut stage, 1), 0);
    assert_eq!(enter_and_exit(&mut stage, 2), 3);
}

#[test]
fn all_but_one_may_die() {
    for survivor in 1..=5 {
        let mut stage = stage(5);
        for process in (1..=5).filter(|it| *it != survivor) {
            ask(&mut stage, &[process]);
            dies(&mut stage, process);
            stage.drain(&mut Dice(0));
        }
        enter_and_exit(&mut stage, survivor);
    }
}

/// What no lock can prevent, the fence tells apart.
#[test]
fn after_a_suspicion_in_vain_two_are_inside_with_different_fences() {
    let mut stage = stage(2);
    ask(&mut stage, &[1, 2]);
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    assert_eq!(fences(&mut stage), [fence(0, 1, 1), fence(1, 2, 1)], "the resource refuses P1");
}

#[test]
fn whoever_is_trusted_again_is_told_and_gives_up_its_older_token() {
    let mut stage = stage(2);
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    enter_and_exit(&mut stage, 2);
    assert_eq!(enter_and_exit(&mut stage, 1), 0, "P1 knows of no other token");
    stage.suspicion(p(2), p(1), Verdict::Trust);
    stage.drain(&mut Dice(0));
    stage.take_seen();
    ask(&mut stage, &[2, 1]);
    assert_eq!(fences(&mut stage), [fence(2, 1, 1)], "and P1 waits");
    leave(&mut stage, 2);
    assert_eq!(fences(&mut stage), [fence(2, 1, 2)]);
}

#[test]
fn a_token_with_the_same_news_begins_no_generation() {
    let mut stage = stage(2);
    stage.inject(p(2), p(1), Message::Doubt { generation: Term { number: 0, leader: p(1) } });
    assert_eq!(about_generations(&stage), [0; 3]);
}

/// P1 is inside when it is suspected, is trusted again, and gets the next token before it leaves.
#[test]
fn whoever_gets_a_newer_token_inside_keeps_the_others_out_until_it_leaves() {
    let mut stage = stage(3);
    enter_and_exit(&mut stage, 2);
    ask(&mut stage, &[3, 2, 1]);
    stage.suspicion(p(1), p(3), Verdict::Suspect);
    stage.drain(&mut Dice(0));
    let inside = [fence(0, 1, 2), fence(1, 1, 1)];
    assert_eq!(fences(&mut stage), inside, "P3 and P1, by mistake");
    leave(&mut stage, 1);
    assert_eq!(entered(&mut stage), [2], "P3 is passed over");
    leave(&mut stage, 2);
    stage.suspicion(p(1), p(3), Verdict::Trust);
    stage.drain(&mut Dice(0));
    leave(&mut stage, 3);
    enter_and_exit(&mut stage, 3);
}

#[test]
fn a_process_that_comes_back_makes_no_second_token() {
    let mut stage = stage(2);
    stage.crash(p(1));
    stage.recover(p(1));
    ask(&mut stage, &[1, 2]);
    assert_eq!(entered(&mut stage), NOBODY, "nobody has noticed");
    let card = NishioLiManning::card(&(), 2);
    assert_eq!(card.faults.crashes, Crashes::Stop);
    assert!(card.promises.contains(&Property::Fencing));
}
