//! The lock at the leader: H. Garcia-Molina's reason to elect, and what a change of leader needs.

use tenure_algorithms::compose::Coordinated;
use tenure_algorithms::compose::coordinated::{self, Timer};
use tenure_algorithms::election::{
    Bully, ChangRoberts, HirschbergSinclair, bully, chang_roberts, hirschberg_sinclair,
};
use tenure_algorithms::mutex::{Side, Times};
use tenure_claims::claims;
use tenure_core::service::mutex::Event;
use tenure_core::service::{election, mutex, office};
use tenure_core::{Election, Fence, Layer, Order, TICKS_PER_UNIT, Verdict};

use crate::support::mutex::NOBODY;
use crate::support::p;
use tenure_trace::{Dice, Link, Seen, Stage};

const ENTER: office::Command = office::Command::Mutex(mutex::Command::Enter);
const EXIT: office::Command = office::Command::Mutex(mutex::Command::Exit);
const ELECT: office::Command = office::Command::Election(election::Command::Elect);

/// P4 of four leads.
fn stage() -> Stage<Coordinated<Bully>> {
    let mut stage = Stage::alike(4, Order::Fifo, bully::Config::plain(4, TICKS_PER_UNIT).into());
    stage.command(p(4), ELECT);
    stage.settle();
    stage.take_seen();
    stage
}

/// Who has entered since this was last asked, and with which fence.
fn entered<E: Election>(stage: &mut Stage<Coordinated<E>>) -> Vec<(u32, Fence)> {
    let seen = stage.take_seen().into_iter().filter_map(|(at, seen)| match seen {
        Seen::Event(office::Event::Mutex(Event::Entered { fence })) => Some((at.number(), fence)),
        _ => None,
    });
    seen.collect()
}

fn who<E: Election>(stage: &mut Stage<Coordinated<E>>) -> Vec<u32> {
    entered(stage).into_iter().map(|(at, _)| at).collect()
}

/// The leader dies and everybody notices.
fn leader_dies(stage: &mut Stage<Coordinated<Bully>>) {
    stage.crash(p(4));
    for at in 1..=3 {
        stage.suspicion(p(at), p(4), Verdict::Suspect);
    }
    stage.settle();
}

fn mutex_messages<E: Election>(stage: &Stage<Coordinated<E>>) -> u64 {
    let of_mutex = stage.sent().iter().filter(|((layer, _), _)| *layer == Layer::Mutex);
    of_mutex.map(|(_, count)| count).sum()
}

#[claims("A-CEN", "4-mutex")]
#[test]
fn while_the_leader_lives_an_entry_costs_three_messages_and_none_at_the_leader() {
    let mut stage = stage();
    let before = mutex_messages(&stage);
    stage.command(p(4), ENTER);
    stage.command(p(4), EXIT);
    assert_eq!((who(&mut stage), mutex_messages(&stage)), (vec![4], before));
    stage.command(p(1), ENTER);
    stage.settle();
    stage.command(p(1), EXIT);
    stage.settle();
    assert_eq!((who(&mut stage), mutex_messages(&stage)), (vec![1], before + 3));
}

#[test]
fn a_change_of_leader_costs_two_messages_per_peer_more() {
    let mut stage = stage();
    let before = mutex_messages(&stage);
    leader_dies(&mut stage);
    // P3 does not ask P4, whom it suspects.
    assert_eq!(mutex_messages(&stage), before + 2 * 2);
}

/// 3.12.
#[claims("4-mutex", "I-51")]
#[test]
fn the_holder_survives_the_change_and_nobody_is_let_in_beside_it() {
    let mut stage = stage();
    stage.command(p(1), ENTER);
    stage.settle();
    stage.command(p(2), ENTER);
    stage.settle();
    let first = entered(&mut stage);
    leader_dies(&mut stage);
    assert_eq!(who(&mut stage), NOBODY, "P2 goes on to wait, at P3");
    stage.command(p(1), EXIT);
    stage.settle();
    let second = entered(&mut stage);
    assert_eq!((first[0].0, second[0].0), (1, 2));
    assert!(first[0].1 < second[0].1, "{first:?} {second:?}");
}

#[test]
fn whoever_waits_at_a_dead_leader_need_not_ask_again() {
    let mut stage = stage();
    stage.command(p(1), ENTER);
    leader_dies(&mut stage);
    assert_eq!(who(&mut stage), [1]);
}

#[test]
fn a_grant_of_the_old_leader_is_void_once_the_new_one_has_asked() {
    let mut stage = stage();
    stage.command(p(1), ENTER);
    stage.pass((p(1), p(4)), 0);
    assert_eq!(stage.queue((p(4), p(1))).len(), 1, "the grant");
    stage.command(p(2), ENTER);
    stage.crash(p(4));
    for at in 1..=3 {
        stage.suspicion(p(at), p(4), Verdict::Suspect);
    }
    let (grant, report) = ((p(4), p(1)), (p(1), p(3)));
    deliver_all_but(&[grant], &mut stage);
    stage.fire(p(3), Timer::Election(bully::Timer::Answer));
    deliver_all_but(&[grant, report], &mut stage);
    deliver_all_but(&[grant], &mut stage);
    assert_eq!(who(&mut stage), [2], "P2's report came first");
    stage.pass((p(4), p(1)), 0);
    assert_eq!(who(&mut stage), NOBODY, "P1 has reported to P3, and waits for it");
}

fn deliver_all_but(slow: &[Link], stage: &mut Stage<Coordinated<Bully>>) {
    while let Some(link) = stage.busy_links().into_iter().find(|link| !slow.contains(link)) {
        stage.pass(link, 0);
    }
}

/// The dead never release.
#[test]
fn what_a_suspected_process_left_under_way_is_not_served() {
    let mut stage = stage();
    stage.command(p(1), ENTER);
    stage.crash(p(1));
    stage.suspicion(p(4), p(1), Verdict::Suspect);
    stage.settle();
    stage.command(p(2), ENTER);
    stage.settle();
    assert_eq!(who(&mut stage), [2]);
}

#[test]
fn whoever_was_suspected_in_vain_is_asked_again() {
    let mut stage = stage();
    stage.command(p(1), ENTER);
    stage.suspicion(p(4), p(1), Verdict::Suspect);
    stage.settle();
    assert_eq!(who(&mut stage), NOBODY);
    stage.suspicion(p(4), p(1), Verdict::Trust);
    stage.settle();
    assert_eq!(who(&mut stage), [1]);
}

/// Two are inside then, and only the fence tells the resource whom to refuse.
#[test]
fn after_a_false_suspicion_the_later_entry_has_the_higher_fence() {
    let mut stage = stage();
    stage.command(p(1), ENTER);
    stage.settle();
    stage.suspicion(p(4), p(1), Verdict::Suspect);
    stage.command(p(2), ENTER);
    stage.settle();
    let inside = entered(&mut stage);
    assert_eq!(inside.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 2]);
    assert!(inside[0].1 < inside[1].1);
}

#[test]
fn an_entry_that_was_superseded_in_vain_does_not_supersede_the_next_one() {
    let mut stage = stage();
    stage.command(p(1), ENTER);
    stage.settle();
    stage.suspicion(p(4), p(1), Verdict::Suspect);
    for at in [2, 3] {
        stage.command(p(at), ENTER);
        stage.settle();
    }
    stage.suspicion(p(4), p(1), Verdict::Trust);
    stage.settle();
    assert_eq!(who(&mut stage), [1, 2], "P1 and P2 are inside, and P2 rightly so");
    stage.command(p(1), EXIT);
    stage.settle();
    assert_eq!(who(&mut stage), NOBODY);
    stage.command(p(2), EXIT);
    stage.settle();
    assert_eq!(who(&mut stage), [3]);
}

/// P1 leads in vain, learns so, and must not grant under its old term when P3 has died.
#[test]
fn an_overtaken_leader_grants_nothing_under_its_old_term() {
    let mut stage = stage();
    stage.command(p(3), ENTER);
    stage.settle();
    let first = entered(&mut stage);
    stage.crash(p(4));
    stage.crash(p(1));
    stage.recover(p(1));
    stage.suspicion(p(1), p(4), Verdict::Suspect);
    stage.crash(p(2));
    stage.suspicion(p(1), p(2), Verdict::Suspect);
    stage.settle();
    stage.crash(p(3));
    stage.suspicion(p(1), p(3), Verdict::Suspect);
    stage.command(p(1), ENTER);
    stage.settle();
    let second = entered(&mut stage);
    assert_eq!((first[0].0, second[0].0), (3, 1));
    assert!(first[0].1 < second[0].1, "{first:?} {second:?}");
}

#[test]
fn any_election_will_do_while_nobody_crashes() {
    fn everybody_enters<E: Election>(config: E::Config) {
        for seed in 0..100 {
            let mut dice = Dice(seed);
            let mut stage = Stage::<Coordinated<E>>::alike(4, Order::Fifo, config.clone().into());
            let mut order = Vec::new();
            (1..=4).for_each(|at| stage.command(p(at), ENTER));
            while order.len() < 4 {
                stage.drain(&mut dice);
                if let Some((at, timer)) = stage.next_timer() {
                    stage.fire(at, timer);
                    continue;
                }
                let inside = who(&mut stage);
                assert_eq!(inside.len(), 1, "seed {seed}: after {order:?}");
                stage.command(p(inside[0]), EXIT);
                order.extend(inside);
            }
        }
    }
    everybody_enters::<Bully>(bully::Config::plain(4, TICKS_PER_UNIT));
    everybody_enters::<ChangRoberts>(chang_roberts::Config::plain(4));
    everybody_enters::<HirschbergSinclair>(hirschberg_sinclair::Config::plain(4));
}

/// The same where entries end by themselves.
fn lasting() -> Stage<Coordinated<Bully>> {
    let times = Some(Times::plain(TICKS_PER_UNIT));
    let election = bully::Config::plain(4, TICKS_PER_UNIT);
    let mut stage = Stage::alike(4, Order::Fifo, coordinated::Config { election, times });
    stage.command(p(4), ELECT);
    stage.settle();
    stage.take_seen();
    stage
}

/// Who was told to be outside since this was last asked, by number.
fn exited(stage: &mut Stage<Coordinated<Bully>>) -> Vec<u32> {
    let out = Seen::Event(office::Event::Mutex(Event::Exited));
    let seen = stage.take_seen().into_iter().filter(|(_, seen)| *seen == out);
    seen.map(|(at, _)| at.number()).collect()
}

/// The leader dies and everybody notices; time stands still, as renewals never end.
fn dies(stage: &mut Stage<Coordinated<Bully>>) {
    stage.crash(p(4));
    for at in 1..=3 {
        stage.suspicion(p(at), p(4), Verdict::Suspect);
    }
    stage.drain(&mut Dice(0));
    // P4 is asked, too, and does not answer.
    stage.fire(p(3), Timer::Election(bully::Timer::Answer));
    stage.drain(&mut Dice(0));
}

#[test]
fn where_entries_end_by_themselves_one_costs_three_messages_and_a_renewal_two() {
    let mut stage = lasting();
    let before = mutex_messages(&stage);
    stage.command(p(2), ENTER);
    stage.drain(&mut Dice(0));
    assert_eq!(who(&mut stage), [2]);
    for _ in 0..5 {
        stage.fire(p(2), Timer::Renewal);
        stage.drain(&mut Dice(0));
    }
    assert_eq!(exited(&mut stage), NOBODY);
    stage.command(p(2), EXIT);
    stage.drain(&mut Dice(0));
    assert_eq!(mutex_messages(&stage) - before, 3 + 5 * 2);
}

/// Whoever asks the leader in vain is out by itself; the leader gives its claim away after that.
#[test]
fn whoever_is_inside_and_cut_off_is_put_out_and_then_the_next_one_is_let_in() {
    let mut stage = lasting();
    stage.command(p(2), ENTER);
    stage.drain(&mut Dice(0));
    stage.command(p(3), ENTER);
    stage.drain(&mut Dice(0));
    assert_eq!(who(&mut stage), [2]);
    stage.suspicion(p(4), p(2), Verdict::Suspect);
    stage.fire(p(2), Timer::Renewal);
    stage.drain(&mut Dice(0));
    assert_eq!(who(&mut stage), NOBODY, "nothing is given away, and nobody is answered");
    stage.fire(p(2), Timer::Deadline(Side::Right));
    assert_eq!(exited(&mut stage), NOBODY, "no answer to the last question counts any more");
    stage.fire(p(2), Timer::Deadline(Side::Left));
    stage.drain(&mut Dice(0));
    assert_eq!(exited(&mut stage), [2]);
    stage.command(p(2), EXIT);
    stage.fire(p(4), Timer::Expiry);
    stage.drain(&mut Dice(0));
    assert_eq!(who(&mut stage), [3]);
}

/// The dead leader may have been inside, or somebody whom only it could reach.
#[test]
fn a_new_leader_waits_for_what_a_suspect_may_still_have() {
    let mut stage = lasting();
    stage.command(p(4), ENTER);
    stage.drain(&mut Dice(0));
    stage.command(p(1), ENTER);
    stage.drain(&mut Dice(0));
    assert_eq!(who(&mut stage), [4]);
    dies(&mut stage);
    assert_eq!(who(&mut stage), NOBODY);
    stage.fire(p(3), Timer::Expiry);
    stage.drain(&mut Dice(0));
    assert_eq!(who(&mut stage), [1]);
    // One who has said that it is outside is not waited for.
    stage.crash(p(2));
    stage.suspicion(p(3), p(2), Verdict::Suspect);
    assert!(!stage.armed_timers().contains(&(p(3), Timer::Expiry)));
}

/// Who is inside stays so under the next leader, and renews there.
#[test]
fn an_entry_outlives_its_leader() {
    let mut stage = lasting();
    stage.command(p(1), ENTER);
    stage.drain(&mut Dice(0));
    assert_eq!(who(&mut stage), [1]);
    dies(&mut stage);
    stage.fire(p(3), Timer::Expiry);
    stage.fire(p(1), Timer::Renewal);
    stage.drain(&mut Dice(0));
    stage.fire(p(1), Timer::Renewal);
    stage.drain(&mut Dice(0));
    assert_eq!((exited(&mut stage), stage.sent_of("release")), (NOBODY.to_vec(), 0));
    stage.command(p(2), ENTER);
    stage.drain(&mut Dice(0));
    assert_eq!(who(&mut stage), NOBODY);
    stage.command(p(1), EXIT);
    stage.drain(&mut Dice(0));
    assert_eq!(who(&mut stage), [2]);
}
