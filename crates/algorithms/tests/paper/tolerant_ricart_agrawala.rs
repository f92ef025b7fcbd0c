//! Ricart–Agrawala with a failure detector.

use tenure_algorithms::mutex::TolerantRicartAgrawala;
use tenure_algorithms::mutex::tolerant_ricart_agrawala::Message;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Algorithm, Crashes, Fence, Order, Property, Stamp, Verdict};

use crate::support::mutex::{NOBODY, Plan, dies, enter_and_exit, entered, fences, run};
use crate::support::p;
use tenure_trace::{Dice, Seen, Stage};

fn stage(size: u32) -> Stage<TolerantRicartAgrawala> {
    Stage::alike(size, Order::Fifo, ())
}

/// A process comes back, and all the others get to know.
fn comes_back(stage: &mut Stage<TolerantRicartAgrawala>, process: u32) {
    stage.recover(p(process));
    for peer in stage.live().into_iter().filter(|peer| *peer != p(process)) {
        stage.suspicion(peer, p(process), Verdict::Trust);
    }
}

#[test]
fn without_a_crash_an_entry_costs_what_it_costs_in_the_plain_algorithm() {
    for size in 1..=6_u32 {
        let cost = u64::from(2 * (size - 1));
        assert_eq!(enter_and_exit(&mut stage(size), size), cost);
        for seed in 0..200 {
            let plan = Plan::of(Order::Reordered, &vec![3; size as usize]).seeded(seed);
            let outcome = run::<TolerantRicartAgrawala>((), &plan).unwrap();
            assert_eq!(outcome.messages, cost * outcome.entries, "seed {seed}");
        }
    }
}

#[test]
fn the_reply_of_a_crashed_process_is_awaited_until_it_is_suspected() {
    let mut stage = stage(3);
    stage.crash(p(3));
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), NOBODY);
    stage.suspicion(p(1), p(3), Verdict::Suspect);
    assert_eq!(entered(&mut stage), [1]);
}

#[test]
fn who_is_known_to_have_crashed_is_awaited_by_nobody() {
    let mut stage = stage(3);
    for process in [3, 2] {
        dies(&mut stage, process);
        enter_and_exit(&mut stage, 1);
    }
}

#[test]
fn whoever_crashes_inside_lets_the_next_in_with_a_higher_fence() {
    let mut stage = stage(3);
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.command(p(2), Command::Enter);
    stage.command(p(3), Command::Enter);
    stage.drain(&mut Dice(0));
    dies(&mut stage, 1);
    stage.command(p(2), Command::Exit);
    stage.drain(&mut Dice(0));
    assert_eq!(fences(&mut stage), [Fence(1, 1), Fence(2, 2), Fence(2, 3)]);
}

#[test]
fn a_suspicion_lets_nobody_past_a_peer_that_is_not_suspected() {
    let mut stage = stage(3);
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    dies(&mut stage, 3);
    assert_eq!(entered(&mut stage), [2], "P1 still awaits P2");
    stage.command(p(2), Command::Exit);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
}

/// "Owes a reply again": a suspicion is no reply.
#[test]
fn whoever_is_trusted_again_before_the_entry_is_awaited_again() {
    let mut stage = stage(3);
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2]);
    stage.command(p(1), Command::Enter);
    stage.suspicion(p(1), p(2), Verdict::Suspect);
    stage.suspicion(p(1), p(2), Verdict::Trust);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), NOBODY, "P3 has replied, and P2 is inside");
    stage.command(p(2), Command::Exit);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
}

#[test]
fn a_reply_that_was_given_before_a_suspicion_stays_given() {
    let mut stage = stage(3);
    stage.command(p(1), Command::Enter);
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(1)), 0);
    stage.suspicion(p(1), p(2), Verdict::Suspect);
    stage.suspicion(p(1), p(2), Verdict::Trust);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
    assert_eq!(stage.sent_of("request"), 2, "and nobody was asked twice");
}

#[test]
fn whoever_comes_back_is_asked_again_by_those_who_wait_for_it() {
    let mut stage = stage(2);
    stage.crash(p(2));
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.recover(p(2));
    assert_eq!(entered(&mut stage), NOBODY, "nobody has suspected P2 meanwhile");
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
    assert_eq!(stage.sent_of("recovered"), 1);
}

#[test]
fn who_has_replied_and_crashes_is_not_asked_again() {
    let mut stage = stage(3);
    stage.command(p(1), Command::Enter);
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(1)), 0);
    stage.crash(p(2));
    stage.recover(p(2));
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
    assert_eq!(stage.sent_of("request"), 2);
}

/// 3.15: P2 has let P1 pass, and must not come before it with a smaller stamp.
#[test]
fn whoever_comes_back_reuses_no_stamp_and_takes_none_that_it_has_let_pass() {
    let mut stage = stage(3);
    enter_and_exit(&mut stage, 2);
    stage.command(p(1), Command::Enter);
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(1)), 0);
    stage.crash(p(2));
    comes_back(&mut stage, 2);
    stage.command(p(2), Command::Enter);
    let asks = stage.queue((p(2), p(1)));
    let stamp = Stamp { clock: 3, process: p(2) };
    assert_eq!(
        asks.last(),
        Some(&&Message::Request { stamp }),
        "(1, P2) was used, (2, P1) let pass"
    );
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [1]);
}

#[test]
fn a_request_of_somebody_suspected_is_answered_when_it_is_trusted() {
    let mut stage = stage(2);
    dies(&mut stage, 2);
    stage.recover(p(2));
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.command(p(1), Command::Enter);
    assert_eq!(entered(&mut stage), [1], "P1 does not await P2, so P2 has to await P1");
    stage.command(p(1), Command::Exit);
    assert_eq!(stage.queue((p(1), p(2))).len(), 1, "only the request");
    stage.suspicion(p(1), p(2), Verdict::Trust);
    assert_eq!(stage.queue((p(1), p(2))).len(), 2, "and the reply");
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2]);
}

/// P1 enters while P2 is suspected; P2's request has the smaller stamp, for it knows nothing of it.
#[test]
fn a_place_that_was_passed_in_the_absence_is_given_up_for_one_with_a_higher_fence() {
    let mut stage = stage(2);
    enter_and_exit(&mut stage, 1);
    dies(&mut stage, 2);
    for _ in 0..3 {
        enter_and_exit(&mut stage, 1);
    }
    stage.take_seen();
    stage.command(p(1), Command::Enter);
    comes_back(&mut stage, 2);
    stage.command(p(2), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.command(p(1), Command::Exit);
    stage.drain(&mut Dice(0));
    assert_eq!(fences(&mut stage), [Fence(5, 1), Fence(6, 2)]);
}

/// What no lock can prevent, the fence tells apart.
#[test]
fn after_a_suspicion_in_vain_two_are_inside_with_different_fences() {
    let mut stage = stage(2);
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    stage.command(p(2), Command::Enter);
    assert_eq!(fences(&mut stage), [Fence(1, 1), Fence(2, 2)], "the resource refuses P1");
}

/// P1 is only slow: its place is before that of P2, which does not await it.
#[test]
fn whoever_was_passed_by_mistake_gets_a_higher_fence_than_whoever_passed_it() {
    let mut stage = stage(2);
    stage.command(p(1), Command::Enter);
    stage.command(p(2), Command::Enter);
    stage.suspicion(p(2), p(1), Verdict::Suspect);
    stage.drain(&mut Dice(0));
    assert_eq!(fences(&mut stage), [Fence(1, 2)], "P2's, and P1 waits for P2");
    stage.command(p(2), Command::Exit);
    stage.suspicion(p(2), p(1), Verdict::Trust);
    stage.drain(&mut Dice(0));
    assert_eq!(fences(&mut stage), [Fence(2, 1)], "(1, P1) would have been refused");
}

#[test]
fn whoever_takes_a_later_place_lets_those_go_first_who_are_now_before_it() {
    let mut stage = stage(3);
    let ask = |clock, process| Message::Request { stamp: Stamp { clock, process } };
    stage.command(p(1), Command::Enter);
    stage.inject(p(3), p(1), ask(1, p(3)));
    assert_eq!(stage.queue((p(1), p(3))).len(), 1, "our request, which is before that of P3");
    stage.inject(p(2), p(1), Message::Reply { to: 1, clock: 4, entered: 4 });
    assert_eq!(stage.sent_of("reply"), 1, "our new one is not");
    assert_eq!(stage.queue((p(1), p(3)))[1], &ask(5, p(1)));
}

#[test]
fn duplicates_and_reordering_are_harmless() {
    for seed in 0..2000 {
        let plan = Plan::of(Order::Reordered, &[3, 3, 3]).duplicating(4).seeded(seed);
        run::<TolerantRicartAgrawala>((), &plan).unwrap();
    }
}

#[test]
fn a_peer_is_owed_one_reply_to_its_last_request() {
    let mut stage = stage(2);
    stage.command(p(1), Command::Enter);
    stage.drain(&mut Dice(0));
    for clock in [3, 2, 3] {
        let stamp = Stamp { clock, process: p(2) };
        stage.inject(p(2), p(1), Message::Request { stamp });
    }
    stage.take_seen();
    stage.command(p(1), Command::Exit);
    assert_eq!(stage.queue((p(1), p(2))).len(), 1);
    assert_eq!(stage.queue((p(1), p(2)))[0], &Message::Reply { to: 3, clock: 3, entered: 1 });
    let exited = (p(1), Seen::Event(Event::Exited));
    assert!(stage.take_seen().contains(&exited));
}

#[test]
fn replies_to_other_requests_and_to_nobody_do_nothing() {
    let mut stage = stage(2);
    stage.inject(p(2), p(1), Message::Reply { to: 1, clock: 0, entered: 0 });
    stage.command(p(1), Command::Enter);
    stage.inject(p(2), p(1), Message::Reply { to: 0, clock: 0, entered: 9 });
    assert_eq!(entered(&mut stage), NOBODY);
    assert_eq!(stage.queue((p(1), p(2))).len(), 1);
    stage.inject(p(2), p(1), Message::Reply { to: 1, clock: 0, entered: 0 });
    assert_eq!(entered(&mut stage), [1]);
}

#[test]
fn its_card_promises_what_holds_without_a_return() {
    let card = TolerantRicartAgrawala::card(&(), 3);
    assert_eq!(card.faults.crashes, Crashes::Stop);
    assert!(card.promises.contains(&Property::Fencing) && card.promises.contains(&Property::Order));
}
