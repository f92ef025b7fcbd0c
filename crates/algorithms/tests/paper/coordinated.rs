//! The lock at the leader: H. Garcia-Molina's reason to elect, and what a change of leader needs.

use tenure_algorithms::compose::Coordinated;
use tenure_algorithms::election::{
    Bully, ChangRoberts, HirschbergSinclair, bully, chang_roberts, hirschberg_sinclair,
};
use tenure_claims::claims;
use tenure_core::service::mutex::Event;
use tenure_core::service::{election, mutex, office};
use tenure_core::{Election, Fence, Layer, Order, TICKS_PER_UNIT, Verdict};

use crate::support::mutex::NOBODY;
use crate::support::{Dice, Link, Seen, World, p};

const ENTER: office::Command = office::Command::Mutex(mutex::Command::Enter);
const EXIT: office::Command = office::Command::Mutex(mutex::Command::Exit);
const ELECT: office::Command = office::Command::Election(election::Command::Elect);

/// P4 of four leads.
fn world() -> World<Coordinated<Bully>> {
    let mut world = World::new(4, Order::Fifo, bully::Config::plain(4, TICKS_PER_UNIT));
    world.command(p(4), ELECT);
    world.settle();
    world.take_seen();
    world
}

/// Who has entered since this was last asked, and with which fence.
fn entered<E: Election>(world: &mut World<Coordinated<E>>) -> Vec<(u32, Fence)> {
    let seen = world.take_seen().into_iter().filter_map(|(at, seen)| match seen {
        Seen::Event(office::Event::Mutex(Event::Entered { fence })) => Some((at.number(), fence)),
        _ => None,
    });
    seen.collect()
}

fn who<E: Election>(world: &mut World<Coordinated<E>>) -> Vec<u32> {
    entered(world).into_iter().map(|(at, _)| at).collect()
}

/// The leader dies and everybody notices.
fn leader_dies(world: &mut World<Coordinated<Bully>>) {
    world.crash(p(4));
    for at in 1..=3 {
        world.suspicion(p(at), p(4), Verdict::Suspect);
    }
    world.settle();
}

fn mutex_messages<E: Election>(world: &World<Coordinated<E>>) -> u64 {
    let of_mutex = world.sent.iter().filter(|((layer, _), _)| *layer == Layer::Mutex);
    of_mutex.map(|(_, count)| count).sum()
}

#[claims("A-CEN", "4-mutex")]
#[test]
fn while_the_leader_lives_an_entry_costs_three_messages_and_none_at_the_leader() {
    let mut world = world();
    let before = mutex_messages(&world);
    world.command(p(4), ENTER);
    world.command(p(4), EXIT);
    assert_eq!((who(&mut world), mutex_messages(&world)), (vec![4], before));
    world.command(p(1), ENTER);
    world.settle();
    world.command(p(1), EXIT);
    world.settle();
    assert_eq!((who(&mut world), mutex_messages(&world)), (vec![1], before + 3));
}

#[test]
fn a_change_of_leader_costs_two_messages_per_peer_more() {
    let mut world = world();
    let before = mutex_messages(&world);
    leader_dies(&mut world);
    // P3 does not ask P4, whom it suspects.
    assert_eq!(mutex_messages(&world), before + 2 * 2);
}

/// 3.12.
#[claims("4-mutex", "I-51")]
#[test]
fn the_holder_survives_the_change_and_nobody_is_let_in_beside_it() {
    let mut world = world();
    world.command(p(1), ENTER);
    world.settle();
    world.command(p(2), ENTER);
    world.settle();
    let first = entered(&mut world);
    leader_dies(&mut world);
    assert_eq!(who(&mut world), NOBODY, "P2 goes on to wait, at P3");
    world.command(p(1), EXIT);
    world.settle();
    let second = entered(&mut world);
    assert_eq!((first[0].0, second[0].0), (1, 2));
    assert!(first[0].1 < second[0].1, "{first:?} {second:?}");
}

#[test]
fn whoever_waits_at_a_dead_leader_need_not_ask_again() {
    let mut world = world();
    world.command(p(1), ENTER);
    leader_dies(&mut world);
    assert_eq!(who(&mut world), [1]);
}

#[test]
fn a_grant_of_the_old_leader_is_void_once_the_new_one_has_asked() {
    let mut world = world();
    world.command(p(1), ENTER);
    world.pass(1, 4);
    assert_eq!(world.under_way(4, 1), 1, "the grant");
    world.command(p(2), ENTER);
    world.crash(p(4));
    for at in 1..=3 {
        world.suspicion(p(at), p(4), Verdict::Suspect);
    }
    let (grant, report) = ((p(4), p(1)), (p(1), p(3)));
    deliver_all_but(&[grant], &mut world);
    world.fire(p(3), bully::Timer::Answer);
    deliver_all_but(&[grant, report], &mut world);
    deliver_all_but(&[grant], &mut world);
    assert_eq!(who(&mut world), [2], "P2's report came first");
    world.pass(4, 1);
    assert_eq!(who(&mut world), NOBODY, "P1 has reported to P3, and waits for it");
}

fn deliver_all_but(slow: &[Link], world: &mut World<Coordinated<Bully>>) {
    while let Some(link) = world.busy_links().into_iter().find(|link| !slow.contains(link)) {
        world.pass(link.0.number(), link.1.number());
    }
}

/// The dead never release.
#[test]
fn what_a_suspected_process_left_under_way_is_not_served() {
    let mut world = world();
    world.command(p(1), ENTER);
    world.crash(p(1));
    world.suspicion(p(4), p(1), Verdict::Suspect);
    world.settle();
    world.command(p(2), ENTER);
    world.settle();
    assert_eq!(who(&mut world), [2]);
}

#[test]
fn whoever_was_suspected_in_vain_is_asked_again() {
    let mut world = world();
    world.command(p(1), ENTER);
    world.suspicion(p(4), p(1), Verdict::Suspect);
    world.settle();
    assert_eq!(who(&mut world), NOBODY);
    world.suspicion(p(4), p(1), Verdict::Trust);
    world.settle();
    assert_eq!(who(&mut world), [1]);
}

/// Two are inside then, and only the fence tells the resource whom to refuse.
#[test]
fn after_a_false_suspicion_the_later_entry_has_the_higher_fence() {
    let mut world = world();
    world.command(p(1), ENTER);
    world.settle();
    world.suspicion(p(4), p(1), Verdict::Suspect);
    world.command(p(2), ENTER);
    world.settle();
    let inside = entered(&mut world);
    assert_eq!(inside.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 2]);
    assert!(inside[0].1 < inside[1].1);
}

#[test]
fn an_entry_that_was_superseded_in_vain_does_not_supersede_the_next_one() {
    let mut world = world();
    world.command(p(1), ENTER);
    world.settle();
    world.suspicion(p(4), p(1), Verdict::Suspect);
    for at in [2, 3] {
        world.command(p(at), ENTER);
        world.settle();
    }
    world.suspicion(p(4), p(1), Verdict::Trust);
    world.settle();
    assert_eq!(who(&mut world), [1, 2], "P1 and P2 are inside, and P2 rightly so");
    world.command(p(1), EXIT);
    world.settle();
    assert_eq!(who(&mut world), NOBODY);
    world.command(p(2), EXIT);
    world.settle();
    assert_eq!(who(&mut world), [3]);
}

/// P1 leads in vain, learns so, and must not grant under its old term when P3 has died.
#[test]
fn an_overtaken_leader_grants_nothing_under_its_old_term() {
    let mut world = world();
    world.command(p(3), ENTER);
    world.settle();
    let first = entered(&mut world);
    world.crash(p(4));
    world.crash(p(1));
    world.recover(p(1));
    world.suspicion(p(1), p(4), Verdict::Suspect);
    world.crash(p(2));
    world.suspicion(p(1), p(2), Verdict::Suspect);
    world.settle();
    world.crash(p(3));
    world.suspicion(p(1), p(3), Verdict::Suspect);
    world.command(p(1), ENTER);
    world.settle();
    let second = entered(&mut world);
    assert_eq!((first[0].0, second[0].0), (3, 1));
    assert!(first[0].1 < second[0].1, "{first:?} {second:?}");
}

#[test]
fn any_election_will_do_while_nobody_crashes() {
    fn everybody_enters<E: Election>(config: E::Config) {
        for seed in 0..100 {
            let mut dice = Dice(seed);
            let mut world = World::<Coordinated<E>>::new(4, Order::Fifo, config.clone());
            let mut order = Vec::new();
            (1..=4).for_each(|at| world.command(p(at), ENTER));
            while order.len() < 4 {
                world.drain(&mut dice);
                if let Some((at, timer)) = world.next_timer() {
                    world.fire(at, timer);
                    continue;
                }
                let inside = who(&mut world);
                assert_eq!(inside.len(), 1, "seed {seed}: after {order:?}");
                world.command(p(inside[0]), EXIT);
                order.extend(inside);
            }
        }
    }
    everybody_enters::<Bully>(bully::Config::plain(4, TICKS_PER_UNIT));
    everybody_enters::<ChangRoberts>(chang_roberts::Config::plain(4));
    everybody_enters::<HirschbergSinclair>(hirschberg_sinclair::Config::plain(4));
}
