//! The queue of a lock service, whose keys end with sessions: M. Burrows, *The Chubby lock
//! service*, OSDI 2006, and the recipe of etcd's clients.

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::Leased;
use tenure_algorithms::mutex::leased::{Config, Side, Switch, Timer};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Algorithm, Fence, Order, TICKS_PER_UNIT};

use crate::support::mutex::{NOBODY, entered, fences};
use crate::support::p;
use tenure_trace::{Dice, Seen, Stage};

fn config() -> Config {
    Config::plain(TICKS_PER_UNIT)
}

/// Of the first session of P2.
const LEASE: u64 = 200_100_001;

/// P1 is the service.
fn stage(size: u32) -> Stage<Leased> {
    Stage::alike(size, Order::Reordered, config())
}

fn with(size: u32, switch: Switch) -> Stage<Leased> {
    let variants = Variants::none().with(switch);
    Stage::alike(size, Order::Reordered, Config { variants, ..config() })
}

/// A process asks, and all that follows from it happens.
fn asks(stage: &mut Stage<Leased>, number: u32) {
    stage.command(p(number), Command::Enter);
    stage.drain(&mut Dice(0));
}

/// The timers of the service that run out part after part of the lease of P2 until it is over.
fn runs_out(stage: &mut Stage<Leased>) {
    stage.fire(p(1), Timer::Part(LEASE));
    stage.fire(p(1), Timer::Part(LEASE));
    stage.fire(p(1), Timer::Commit(LEASE));
    stage.drain(&mut Dice(0));
}

/// Who was told to be outside since this was last asked, by number.
fn exited(stage: &mut Stage<Leased>) -> Vec<u32> {
    let seen = stage.take_seen().into_iter();
    seen.filter(|(_, seen)| *seen == Seen::Event(Event::Exited))
        .map(|(at, _)| at.number())
        .collect()
}

#[test]
fn an_entry_takes_five_messages_and_the_services_own_none() {
    let mut stage = stage(3);
    asks(&mut stage, 2);
    assert_eq!(entered(&mut stage), [2]);
    stage.command(p(2), Command::Exit);
    stage.drain(&mut Dice(0));
    let kinds = ["open", "alive", "look", "place", "release"];
    assert_eq!(kinds.map(|kind| stage.sent_of(kind)), [1; 5]);
    assert_eq!(stage.total_sent(), 5);
    asks(&mut stage, 1);
    assert_eq!(entered(&mut stage), [1]);
    stage.command(p(1), Command::Exit);
    assert_eq!(stage.total_sent(), 5);
}

/// The revision of the store that made the key, and each is woken by the one ahead alone.
#[test]
fn they_enter_in_the_order_of_the_queue_and_the_place_in_it_is_the_fence() {
    let mut stage = stage(4);
    (2..=4).for_each(|number| asks(&mut stage, number));
    let mut seen = fences(&mut stage);
    for number in [2, 3] {
        stage.command(p(number), Command::Exit);
        stage.drain(&mut Dice(0));
        seen.extend(fences(&mut stage));
    }
    assert_eq!(seen, [Fence(0, 2), Fence(0, 3), Fence(0, 4)]);
    assert_eq!(["watch", "deleted"].map(|kind| stage.sent_of(kind)), [2, 2]);
}

#[test]
fn from_exit_to_the_next_entry_it_takes_four_messages() {
    let mut stage = stage(3);
    asks(&mut stage, 2);
    asks(&mut stage, 3);
    assert_eq!(entered(&mut stage), [2]);
    stage.command(p(2), Command::Exit);
    for link in [(2, 1), (1, 3), (3, 1), (1, 3)] {
        assert_eq!(entered(&mut stage), NOBODY);
        stage.pass((p(link.0), p(link.1)), 0);
    }
    assert_eq!(entered(&mut stage), [3]);
}

/// Early lock release: the entry that ends the lease is written behind that.
#[test]
fn from_exit_to_an_early_entry_it_takes_two() {
    let mut stage = with(3, Switch::EarlyRelease);
    asks(&mut stage, 2);
    asks(&mut stage, 3);
    assert_eq!(entered(&mut stage), [2]);
    stage.command(p(2), Command::Exit);
    stage.pass((p(2), p(1)), 0);
    assert_eq!(entered(&mut stage), NOBODY);
    stage.pass((p(1), p(3)), 0);
    assert_eq!(entered(&mut stage), [3]);
    stage.fire(p(1), Timer::Commit(LEASE));
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), NOBODY, "nobody twice");
}

#[test]
fn a_crash_inside_ends_with_the_lease_which_ends_part_by_part() {
    let mut stage = stage(3);
    asks(&mut stage, 2);
    asks(&mut stage, 3);
    assert_eq!(entered(&mut stage), [2]);
    stage.crash(p(2));
    runs_out(&mut stage);
    assert_eq!(entered(&mut stage), [3]);
}

#[test]
fn whose_renewals_are_not_answered_is_out_and_says_so() {
    let mut stage = stage(3);
    asks(&mut stage, 2);
    assert_eq!(entered(&mut stage), [2]);
    stage.fire(p(2), Timer::Renewal);
    stage.lose((p(2), p(1)));
    stage.fire(p(2), Timer::Deadline(Side::Left));
    assert_eq!(exited(&mut stage), [2]);
}

#[test]
fn an_answer_moves_the_deadline_to_that_of_the_question() {
    let mut stage = stage(2);
    asks(&mut stage, 2);
    assert_eq!(entered(&mut stage), [2]);
    stage.fire(p(2), Timer::Renewal);
    stage.drain(&mut Dice(0));
    let armed = stage.armed_timers();
    let sides = armed.iter().filter(|(at, _)| *at == p(2)).map(|(_, timer)| *timer);
    let sides: Vec<Timer> = sides.filter(|timer| *timer != Timer::Renewal).collect();
    assert_eq!(sides, [Timer::Deadline(Side::Right)], "by the second question");
}

/// etcd's issue 11456: who is told of a grant is told so because its key is there.
#[test]
fn who_waits_and_whose_lease_is_over_is_not_let_in_but_queues_anew() {
    let mut stage = stage(4);
    asks(&mut stage, 3);
    asks(&mut stage, 2);
    assert_eq!(entered(&mut stage), [3]);
    asks(&mut stage, 4);
    runs_out(&mut stage);
    stage.command(p(3), Command::Exit);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [4], "the one behind is next");
    stage.command(p(4), Command::Exit);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(&mut stage), [2], "in a new session");
}

/// etcd's issue 9395: a new leader counts what is left, and not from the beginning.
#[test]
fn a_change_of_leader_does_not_fill_a_lease_again() {
    for (mut stage, at_once) in
        [(stage(3), vec![3]), (with(3, Switch::TtlJumpsBack), NOBODY.to_vec())]
    {
        asks(&mut stage, 2);
        asks(&mut stage, 3);
        assert_eq!(entered(&mut stage), [2]);
        stage.crash(p(2));
        stage.fire(p(1), Timer::Part(LEASE));
        stage.fire(p(1), Timer::Change);
        stage.fire(p(1), Timer::Part(LEASE));
        if !at_once.is_empty() {
            stage.fire(p(1), Timer::Commit(LEASE));
        }
        // Who waits watches again, now with the new leader.
        stage.fire(p(3), Timer::Renewal);
        stage.drain(&mut Dice(0));
        assert_eq!(entered(&mut stage), at_once);
    }
}

/// etcd's issue 15247: a leader that was deposed does not renew.
#[test]
fn whom_a_majority_does_not_confirm_answers_no_renewal() {
    for (mut stage, answers) in [(stage(2), 0), (with(2, Switch::DeposedRenews), 1)] {
        asks(&mut stage, 2);
        let before = stage.sent_of("alive");
        stage.fire(p(1), Timer::Change);
        stage.fire(p(2), Timer::Renewal);
        // The one before is asked.
        stage.will_draw([0], 0);
        stage.pass((p(2), p(1)), 0);
        assert_eq!(stage.sent_of("alive") - before, answers);
    }
}

/// A renewal that comes while the end of its lease is being written is not answered.
#[test]
fn a_renewal_waits_for_an_end_that_is_being_written() {
    let mut stage = stage(2);
    asks(&mut stage, 2);
    let before = stage.sent_of("alive");
    stage.fire(p(1), Timer::Part(LEASE));
    stage.fire(p(1), Timer::Part(LEASE));
    stage.fire(p(2), Timer::Renewal);
    stage.drain(&mut Dice(0));
    assert_eq!(stage.sent_of("alive"), before);
}

/// From the renewal on all of the lease is left, and not from its beginning.
#[test]
fn a_renewed_lease_goes_on_from_its_renewal() {
    for (mut stage, ends) in [(stage(2), false), (with(2, Switch::ExpiryDisregardsRenewal), true)] {
        asks(&mut stage, 2);
        stage.fire(p(1), Timer::Part(LEASE));
        stage.fire(p(2), Timer::Renewal);
        stage.drain(&mut Dice(0));
        stage.fire(p(1), Timer::Part(LEASE));
        let armed = stage.armed_timers();
        assert_eq!(armed.contains(&(p(1), Timer::Commit(LEASE))), ends);
    }
}

/// A key that is deleted between the look and the watch is noticed, since the watch begins where
/// the look was.
#[test]
fn a_deletion_before_the_watch_is_shown() {
    let mistake = with(3, Switch::WatchFromWrongRevision);
    for (mut stage, next) in [(stage(3), vec![3]), (mistake, NOBODY.to_vec())] {
        asks(&mut stage, 2);
        stage.command(p(3), Command::Enter);
        for link in [(3, 1), (1, 3), (3, 1), (1, 3)] {
            stage.pass((p(link.0), p(link.1)), 0);
        }
        assert_eq!(stage.sent_of("watch"), 1);
        stage.command(p(2), Command::Exit);
        stage.pass((p(2), p(1)), 0);
        entered(&mut stage);
        stage.drain(&mut Dice(0));
        assert_eq!(entered(&mut stage), next);
    }
}

/// 9 and 10 delays: (1 + r) · 9 < (1 − r) · 10 as long as r is below one in 19.
#[test]
fn the_card_says_how_far_clocks_may_be_off() {
    let times = config().times;
    let drift = u64::from(Leased::card(&config(), 3).drift_ppm);
    assert_eq!(drift, 52_631);
    let (fast, slow) = (1_000_000 + drift, 1_000_000 - drift);
    assert!(times.claim * fast < times.ttl * slow, "the owner is out first");
    assert!(2 * times.renewal + 2 * TICKS_PER_UNIT < times.claim, "one renewal may be lost");
}
