//! The first to enter leads.

use tenure_algorithms::mutex::{
    Central, Lamport, Maekawa, RicartAgrawala, central, lamport, maekawa, ricart_agrawala,
};
use tenure_algorithms::reduction::ElectionFromMutex;
use tenure_algorithms::reduction::election_from_mutex::Message;
use tenure_core::quorum::Kind;
use tenure_core::service::election::{Command, Event};
use tenure_core::{Algorithm, Mutex, Order, ProcessId, Property};

use crate::support::election::{beliefs, elect, everybody};
use crate::support::p;
use tenure_trace::{Dice, Seen, Stage};

/// All start, messages in any order: all believe in one of them; what that took.
fn agreed<M: Mutex + Algorithm>(order: Order, config: &M::Config, size: u32, seed: u64) -> u64 {
    let initiators = everybody(size);
    let (stage, beliefs) =
        elect::<ElectionFromMutex<M>>(size, order, config.clone(), &initiators, 0, seed);
    assert!(beliefs[0].is_some(), "{seed}");
    assert!(beliefs.iter().all(|belief| *belief == beliefs[0]), "{seed}: {beliefs:?}");
    stage.total_sent()
}

#[test]
fn whatever_the_lock_all_agree_on_one_leader_within_the_cost_of_the_card() {
    fn within<M: Mutex + Algorithm>(order: Order, config: &M::Config) {
        for seed in 0..200 {
            let size = 1 + (seed % 5) as u32;
            let cost = <ElectionFromMutex<M>>::card(config, size).messages;
            let sent = agreed::<M>(order, config, size, seed);
            assert!(sent >= cost.least && cost.most.is_none_or(|most| sent <= most), "{seed}");
        }
    }
    within::<Central>(Order::Reordered, &central::Config::default());
    within::<Lamport>(Order::Fifo, &lamport::Config::default());
    within::<RicartAgrawala>(Order::Reordered, &ricart_agrawala::Config::default());
    let pairs = maekawa::Config::of(Kind::Pairs, 3).unwrap();
    (0..200).for_each(|seed| assert!(agreed::<Maekawa>(Order::Fifo, &pairs, 3, seed) > 0));
}

#[test]
fn an_election_costs_one_entry_without_its_exit_and_an_announcement() {
    let central = central::Config::default();
    let cost = |initiator: ProcessId| {
        let config = central.clone();
        let (stage, _) =
            elect::<ElectionFromMutex<Central>>(5, Order::Reordered, config, &[initiator], 0, 1);
        stage.total_sent()
    };
    assert_eq!(cost(p(1)), 4, "at the coordinator: the announcement alone");
    assert_eq!(cost(p(4)), 2 + 4, "request and grant, and the announcement");
}

#[test]
fn who_resigns_is_followed_by_the_next_candidate_in_a_higher_term() {
    let config = ricart_agrawala::Config::default();
    let mut stage = Stage::<ElectionFromMutex<RicartAgrawala>>::alike(3, Order::Fifo, config);
    everybody(3).into_iter().for_each(|at| stage.command(at, Command::Elect));
    stage.drain(&mut Dice(1));
    let (mut terms, mut leaders) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let seen = stage.take_seen();
        let elected = seen.into_iter().rev().find_map(|(_, seen)| match seen {
            Seen::Event(Event::Elected { leader, term }) => Some((leader, term)),
            _ => None,
        });
        let (leader, term) = elected.expect("somebody leads");
        terms.push(term);
        leaders.push(leader);
        stage.command(leader, Command::Resign);
        stage.drain(&mut Dice(1));
    }
    assert!(terms.is_sorted_by(|earlier, later| earlier < later), "{terms:?}");
    leaders.sort_unstable();
    assert_eq!(leaders, everybody(3), "each of them in turn");
}

#[test]
fn an_announcement_that_was_overtaken_changes_nothing() {
    let config = central::Config::default();
    let mut stage = Stage::<ElectionFromMutex<Central>>::alike(3, Order::Reordered, config);
    stage.command(p(1), Command::Elect);
    stage.command(p(2), Command::Elect);
    let link = (p(1), p(3));
    let late = stage.queue(link)[0].clone();
    assert!(matches!(late, Message::Elected { .. }), "P1 enters at once and says so");
    stage.lose(link);
    stage.drain(&mut Dice(1));
    stage.command(p(1), Command::Resign);
    stage.drain(&mut Dice(1));
    stage.inject(p(1), p(3), late);
    assert_eq!(beliefs(&mut stage)[2], Some(p(2)));
}

#[test]
fn the_largest_rank_is_not_promised() {
    let card = <ElectionFromMutex<Maekawa>>::card(&maekawa::Config::of(Kind::Pairs, 3).unwrap(), 3);
    assert!(!card.promises.contains(&Property::Validity));
    let config = central::Config::default();
    let first = &[p(1)];
    let (_, beliefs) =
        elect::<ElectionFromMutex<Central>>(3, Order::Reordered, config, first, 0, 1);
    assert_eq!(beliefs, [Some(p(1)); 3], "the smallest leads, since it was the first");
}
