//! Many locks by name.

use tenure_algorithms::compose::keyed::Of;
use tenure_algorithms::compose::{Coordinated, Keyed};
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::{Central, central};
use tenure_claims::claims;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::service::{election, office};
use tenure_core::{Order, ProcessId, TICKS_PER_UNIT, Verdict};

use crate::support::{Dice, Seen, World, p};

type Locks = Keyed<String, Central>;

fn world(coordinator: ProcessId) -> World<Locks> {
    let config = central::Config { coordinator, ..central::Config::default() };
    World::new(3, Order::Reordered, config)
}

fn ask(world: &mut World<Locks>, at: u32, key: &str, command: Command) {
    world.command(p(at), Of { key: key.into(), inner: command });
    world.drain(&mut Dice(0));
}

/// Who has entered which lock since this was last asked.
fn entered(world: &mut World<Locks>) -> Vec<(u32, String)> {
    let seen = world.take_seen().into_iter().filter_map(|(at, seen)| match seen {
        Seen::Event(Of { key, inner: Event::Entered { .. } }) => Some((at.number(), key)),
        _ => None,
    });
    seen.collect()
}

#[test]
fn locks_of_different_names_know_nothing_of_each_other() {
    let mut world = world(p(1));
    for (at, key) in [(1, "büro"), (2, "办公室"), (3, "")] {
        ask(&mut world, at, key, Command::Enter);
        assert_eq!(entered(&mut world), [(at, key.to_string())]);
    }
    ask(&mut world, 2, "büro", Command::Enter);
    assert!(entered(&mut world).is_empty());
    ask(&mut world, 1, "büro", Command::Exit);
    assert_eq!(entered(&mut world), [(2, "büro".to_string())]);
}

#[claims("I-31")]
#[test]
fn two_locks_taken_in_opposite_order_wait_for_each_other() {
    let mut world = world(p(3));
    ask(&mut world, 1, "a", Command::Enter);
    ask(&mut world, 2, "b", Command::Enter);
    assert_eq!(entered(&mut world).len(), 2);
    ask(&mut world, 1, "b", Command::Enter);
    ask(&mut world, 2, "a", Command::Enter);
    assert_eq!((entered(&mut world), world.busy_links()), (vec![], vec![]));
}

#[test]
fn what_locks_remember_survives_a_crash_by_name() {
    let config = bully::Config::plain(2, TICKS_PER_UNIT);
    let mut world = World::<Keyed<u8, Coordinated<Bully>>>::new(2, Order::Fifo, config);
    for key in [7, 9] {
        let inner = office::Command::Election(election::Command::Elect);
        world.command(p(2), Of { key, inner });
    }
    world.settle();
    world.crash(p(2));
    world.recover(p(2));
    world.settle();
    let told = format!("{:?}", world.take_seen());
    for key in [7, 9] {
        let again = format!(
            "Of {{ key: {key}, inner: Election(Elected {{ leader: P2, \
                             term: Term {{ number: 2, leader: P2 }} }}) }}"
        );
        assert!(told.contains(&again), "{told}");
    }
}

#[test]
fn a_lock_that_is_first_heard_of_later_is_told_whom_we_suspect() {
    let config = bully::Config::plain(3, TICKS_PER_UNIT);
    let mut world = World::<Keyed<u8, Coordinated<Bully>>>::new(3, Order::Fifo, config);
    world.crash(p(1));
    world.suspicion(p(3), p(1), Verdict::Suspect);
    let inner = office::Command::Mutex(Command::Enter);
    world.command(p(3), Of { key: 7, inner });
    world.settle();
    let told = format!("{:?}", world.take_seen());
    assert!(told.contains("Entered"), "P3 leads and waits for P2's report only: {told}");
}
