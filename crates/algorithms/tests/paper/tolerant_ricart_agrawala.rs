//! Ricart–Agrawala with a failure detector.

use tenure_algorithms::mutex::TolerantRicartAgrawala;
use tenure_algorithms::mutex::tolerant_ricart_agrawala::Message;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Algorithm, Crashes, Fence, Order, Property, Stamp, Verdict};

use crate::support::mutex::{NOBODY, Plan, dies, enter_and_exit, entered, fences, run};
use crate::support::{Dice, Seen, World, p};

fn world(size: u32) -> World<TolerantRicartAgrawala> {
    World::new(size, Order::Fifo, ())
}

/// A process comes back, and all the others get to know.
fn comes_back(world: &mut World<TolerantRicartAgrawala>, process: u32) {
    world.recover(p(process));
    for peer in world.live().into_iter().filter(|peer| *peer != p(process)) {
        world.suspicion(peer, p(process), Verdict::Trust);
    }
}

#[test]
fn without_a_crash_an_entry_costs_what_it_costs_in_the_plain_algorithm() {
    for size in 1..=6_u32 {
        let cost = u64::from(2 * (size - 1));
        assert_eq!(enter_and_exit(&mut world(size), size), cost);
        for seed in 0..200 {
            let plan = Plan::of(Order::Reordered, &vec![3; size as usize]).seeded(seed);
            let outcome = run::<TolerantRicartAgrawala>((), &plan).unwrap();
            assert_eq!(outcome.messages, cost * outcome.entries, "seed {seed}");
        }
    }
}

#[test]
fn the_reply_of_a_crashed_process_is_awaited_until_it_is_suspected() {
    let mut world = world(3);
    world.crash(p(3));
    world.command(p(1), Command::Enter);
    world.drain(&mut Dice(0));
    assert_eq!(entered(&mut world), NOBODY);
    world.suspicion(p(1), p(3), Verdict::Suspect);
    assert_eq!(entered(&mut world), [1]);
}

#[test]
fn who_is_known_to_have_crashed_is_awaited_by_nobody() {
    let mut world = world(3);
    for process in [3, 2] {
        dies(&mut world, process);
        enter_and_exit(&mut world, 1);
    }
}

#[test]
fn whoever_crashes_inside_lets_the_next_in_with_a_higher_fence() {
    let mut world = world(3);
    world.command(p(1), Command::Enter);
    world.drain(&mut Dice(0));
    world.command(p(2), Command::Enter);
    world.command(p(3), Command::Enter);
    world.drain(&mut Dice(0));
    dies(&mut world, 1);
    world.command(p(2), Command::Exit);
    world.drain(&mut Dice(0));
    assert_eq!(fences(&mut world), [Fence(1, 1), Fence(2, 2), Fence(2, 3)]);
}

#[test]
fn a_suspicion_lets_nobody_past_a_peer_that_is_not_suspected() {
    let mut world = world(3);
    world.command(p(2), Command::Enter);
    world.drain(&mut Dice(0));
    world.command(p(1), Command::Enter);
    world.drain(&mut Dice(0));
    dies(&mut world, 3);
    assert_eq!(entered(&mut world), [2], "P1 still awaits P2");
    world.command(p(2), Command::Exit);
    world.drain(&mut Dice(0));
    assert_eq!(entered(&mut world), [1]);
}

/// "Owes a reply again": a suspicion is no reply.
#[test]
fn whoever_is_trusted_again_before_the_entry_is_awaited_again() {
    let mut world = world(3);
    world.command(p(2), Command::Enter);
    world.drain(&mut Dice(0));
    assert_eq!(entered(&mut world), [2]);
    world.command(p(1), Command::Enter);
    world.suspicion(p(1), p(2), Verdict::Suspect);
    world.suspicion(p(1), p(2), Verdict::Trust);
    world.drain(&mut Dice(0));
    assert_eq!(entered(&mut world), NOBODY, "P3 has replied, and P2 is inside");
    world.command(p(2), Command::Exit);
    world.drain(&mut Dice(0));
    assert_eq!(entered(&mut world), [1]);
}

#[test]
fn a_reply_that_was_given_before_a_suspicion_stays_given() {
    let mut world = world(3);
    world.command(p(1), Command::Enter);
    world.pass(1, 2);
    world.pass(2, 1);
    world.suspicion(p(1), p(2), Verdict::Suspect);
    world.suspicion(p(1), p(2), Verdict::Trust);
    world.drain(&mut Dice(0));
    assert_eq!(entered(&mut world), [1]);
    assert_eq!(world.sent_of("request"), 2, "and nobody was asked twice");
}

#[test]
fn whoever_comes_back_is_asked_again_by_those_who_wait_for_it() {
    let mut world = world(2);
    world.crash(p(2));
    world.command(p(1), Command::Enter);
    world.drain(&mut Dice(0));
    world.recover(p(2));
    assert_eq!(entered(&mut world), NOBODY, "nobody has suspected P2 meanwhile");
    world.drain(&mut Dice(0));
    assert_eq!(entered(&mut world), [1]);
    assert_eq!(world.sent_of("recovered"), 1);
}

#[test]
fn who_has_replied_and_crashes_is_not_asked_again() {
    let mut world = world(3);
    world.command(p(1), Command::Enter);
    world.pass(1, 2);
    world.pass(2, 1);
    world.crash(p(2));
    world.recover(p(2));
    world.drain(&mut Dice(0));
    assert_eq!(entered(&mut world), [1]);
    assert_eq!(world.sent_of("request"), 2);
}

/// 3.15: P2 has let P1 pass, and must not come before it with a smaller stamp.
#[test]
fn whoever_comes_back_reuses_no_stamp_and_takes_none_that_it_has_let_pass() {
    let mut world = world(3);
    enter_and_exit(&mut world, 2);
    world.command(p(1), Command::Enter);
    world.pass(1, 2);
    world.pass(2, 1);
    world.crash(p(2));
    comes_back(&mut world, 2);
    world.command(p(2), Command::Enter);
    let asks = world.queue((p(2), p(1))).back();
    let stamp = Stamp { clock: 3, process: p(2) };
    assert_eq!(asks, Some(&Message::Request { stamp }), "(1, P2) was used, (2, P1) let pass");
    world.drain(&mut Dice(0));
    assert_eq!(entered(&mut world), [1]);
}

#[test]
fn a_request_of_somebody_suspected_is_answered_when_it_is_trusted() {
    let mut world = world(2);
    dies(&mut world, 2);
    world.recover(p(2));
    world.command(p(2), Command::Enter);
    world.drain(&mut Dice(0));
    world.command(p(1), Command::Enter);
    assert_eq!(entered(&mut world), [1], "P1 does not await P2, so P2 has to await P1");
    world.command(p(1), Command::Exit);
    assert_eq!(world.under_way(1, 2), 1, "only the request");
    world.suspicion(p(1), p(2), Verdict::Trust);
    assert_eq!(world.under_way(1, 2), 2, "and the reply");
    world.drain(&mut Dice(0));
    assert_eq!(entered(&mut world), [2]);
}

/// P1 enters while P2 is suspected; P2's request has the smaller stamp, for it knows nothing of it.
#[test]
fn a_place_that_was_passed_in_the_absence_is_given_up_for_one_with_a_higher_fence() {
    let mut world = world(2);
    enter_and_exit(&mut world, 1);
    dies(&mut world, 2);
    for _ in 0..3 {
        enter_and_exit(&mut world, 1);
    }
    world.take_seen();
    world.command(p(1), Command::Enter);
    comes_back(&mut world, 2);
    world.command(p(2), Command::Enter);
    world.drain(&mut Dice(0));
    world.command(p(1), Command::Exit);
    world.drain(&mut Dice(0));
    assert_eq!(fences(&mut world), [Fence(5, 1), Fence(6, 2)]);
}

/// What no lock can prevent, the fence tells apart.
#[test]
fn after_a_suspicion_in_vain_two_are_inside_with_different_fences() {
    let mut world = world(2);
    world.command(p(1), Command::Enter);
    world.drain(&mut Dice(0));
    world.suspicion(p(2), p(1), Verdict::Suspect);
    world.command(p(2), Command::Enter);
    assert_eq!(fences(&mut world), [Fence(1, 1), Fence(2, 2)], "the resource refuses P1");
}

/// P1 is only slow: its place is before that of P2, which does not await it.
#[test]
fn whoever_was_passed_by_mistake_gets_a_higher_fence_than_whoever_passed_it() {
    let mut world = world(2);
    world.command(p(1), Command::Enter);
    world.command(p(2), Command::Enter);
    world.suspicion(p(2), p(1), Verdict::Suspect);
    world.drain(&mut Dice(0));
    assert_eq!(fences(&mut world), [Fence(1, 2)], "P2's, and P1 waits for P2");
    world.command(p(2), Command::Exit);
    world.suspicion(p(2), p(1), Verdict::Trust);
    world.drain(&mut Dice(0));
    assert_eq!(fences(&mut world), [Fence(2, 1)], "(1, P1) would have been refused");
}

#[test]
fn whoever_takes_a_later_place_lets_those_go_first_who_are_now_before_it() {
    let mut world = world(3);
    let ask = |clock, process| Message::Request { stamp: Stamp { clock, process } };
    world.command(p(1), Command::Enter);
    world.inject(p(3), p(1), ask(1, p(3)));
    assert_eq!(world.under_way(1, 3), 1, "our request, which is before that of P3");
    world.inject(p(2), p(1), Message::Reply { to: 1, clock: 4, entered: 4 });
    assert_eq!(world.sent_of("reply"), 1, "our new one is not");
    assert_eq!(world.queue((p(1), p(3)))[1], ask(5, p(1)));
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
    let mut world = world(2);
    world.command(p(1), Command::Enter);
    world.drain(&mut Dice(0));
    for clock in [3, 2, 3] {
        let stamp = Stamp { clock, process: p(2) };
        world.inject(p(2), p(1), Message::Request { stamp });
    }
    world.take_seen();
    world.command(p(1), Command::Exit);
    assert_eq!(world.under_way(1, 2), 1);
    assert_eq!(world.oldest((p(1), p(2))), &Message::Reply { to: 3, clock: 3, entered: 1 });
    let exited = (p(1), Seen::Event(Event::Exited));
    assert!(world.take_seen().contains(&exited));
}

#[test]
fn replies_to_other_requests_and_to_nobody_do_nothing() {
    let mut world = world(2);
    world.inject(p(2), p(1), Message::Reply { to: 1, clock: 0, entered: 0 });
    world.command(p(1), Command::Enter);
    world.inject(p(2), p(1), Message::Reply { to: 0, clock: 0, entered: 9 });
    assert_eq!(entered(&mut world), NOBODY);
    assert_eq!(world.under_way(1, 2), 1);
    world.inject(p(2), p(1), Message::Reply { to: 1, clock: 0, entered: 0 });
    assert_eq!(entered(&mut world), [1]);
}

#[test]
fn its_card_promises_what_holds_without_a_return() {
    let card = TolerantRicartAgrawala::card(&(), 3);
    assert_eq!(card.faults.crashes, Crashes::Stop);
    assert!(card.promises.contains(&Property::Fencing) && card.promises.contains(&Property::Order));
}
