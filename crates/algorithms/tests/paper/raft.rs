//! D. Ongaro, J. Ousterhout, *In search of an understandable consensus algorithm*, USENIX ATC
//! 2014: the election.

use std::collections::{BTreeMap, BTreeSet};

use tenure_algorithms::Variants;
use tenure_algorithms::election::Raft;
use tenure_algorithms::election::raft::{Config, Message, Switch, Timer};
use tenure_claims::claims;
use tenure_core::service::election::{Command, Event};
use tenure_core::{Order, ProcessId, TICKS_PER_UNIT};

use crate::support::election::{beliefs, everybody, opinions};
use crate::support::{Dice, Seen, World, p};

fn config(size: u32, switches: &[Switch]) -> Config {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    Config { variants, ..Config::plain(size, TICKS_PER_UNIT) }
}

fn world(size: u32, switches: &[Switch]) -> World<Raft> {
    World::new(size, Order::Reordered, config(size, switches))
}

fn counts(world: &World<Raft>) -> (u64, u64, u64) {
    (world.sent_of("request-vote"), world.sent_of("vote"), world.sent_of("heartbeat"))
}

/// P1 times out first and leads in term 1.
fn led(size: u32, switches: &[Switch]) -> World<Raft> {
    let mut world = world(size, switches);
    world.fire(p(1), Timer::Election);
    world.drain(&mut Dice(0));
    world
}

/// Who was told that it leads, and in which term, since this was last asked.
fn crowned(world: &mut World<Raft>) -> Vec<(u64, ProcessId)> {
    let seen = world.take_seen().into_iter().filter_map(|(at, seen)| match seen {
        Seen::Event(Event::Elected { leader, term }) if leader == at => Some((term.number, at)),
        _ => None,
    });
    seen.collect()
}

fn leads_in(world: &World<Raft>, at: u32) -> String {
    format!("{:?}", world.process(p(at)))
}

/// 2.12.
#[claims("A-RAFT")]
#[test]
fn uncontested_it_costs_three_messages_a_peer() {
    for size in 1..=8_u32 {
        let mut world = led(size, &[]);
        let others = u64::from(size) - 1;
        assert_eq!(counts(&world), (others, others, others), "{size}");
        assert_eq!(world.total_sent(), 3 * others);
        assert_eq!(beliefs(&mut world), vec![Some(p(1)); size as usize]);
    }
}

/// 2.12: ⌊N/2⌋ + 1 votes, its own among them.
#[test]
fn a_majority_is_needed_and_enough() {
    for (size, needed) in [(2, 2), (3, 2), (4, 3), (5, 3), (6, 4)] {
        let mut world = world(size, &[]);
        world.fire(p(1), Timer::Election);
        for voter in 2..needed {
            world.pass(1, voter);
            world.pass(voter, 1);
        }
        assert_eq!(crowned(&mut world), [], "{} votes of {size}", needed - 1);
        world.pass(1, needed);
        world.pass(needed, 1);
        assert_eq!(crowned(&mut world), [(1, p(1))], "{needed} votes of {size}");
    }
}

/// 2.12: each has two votes of four; the next term decides.
#[test]
fn a_split_vote_is_made_up_for_in_the_next_term() {
    let mut world = world(4, &[]);
    world.fire(p(1), Timer::Election);
    world.fire(p(2), Timer::Election);
    world.pass(1, 3);
    world.pass(2, 4);
    world.drain(&mut Dice(0));
    assert_eq!(opinions(&mut world), [None; 4], "two votes each");
    world.fire(p(2), Timer::Election);
    world.drain(&mut Dice(0));
    assert_eq!(crowned(&mut world), [(2, p(2))]);
    assert!(leads_in(&world, 1).contains("leader: Some(P2)"));
}

#[test]
fn whoever_hears_of_a_later_term_steps_down() {
    let mut world = led(3, &[]);
    world.take_seen();
    world.inject(p(3), p(1), Message::Overtaken { term: 5 });
    let seen = world.take_seen();
    let deposed = matches!(&seen[..], [(at, Seen::Event(Event::Deposed { .. }))] if *at == p(1));
    assert!(deposed, "{seen:?}");
    assert_eq!(world.armed_timers().iter().filter(|(at, _)| *at == p(1)).count(), 1);
}

#[test]
fn a_leader_of_an_earlier_term_is_told_that_it_is_over() {
    let mut world = led(3, &[]);
    world.fire(p(1), Timer::Heartbeat);
    world.fire(p(2), Timer::Election);
    world.lose((p(2), p(1)));
    world.pass(2, 3);
    world.pass(3, 2);
    assert_eq!(crowned(&mut world).last(), Some(&(2, p(2))), "P3 voted for P2 in term 2");
    world.pass(1, 2);
    assert_eq!(world.sent_of("overtaken"), 1);
    world.drain(&mut Dice(1));
    assert!(leads_in(&world, 1).contains("leader: Some(P2)"), "{}", leads_in(&world, 1));
}

#[test]
fn a_process_votes_once_in_a_term_and_again_for_the_same_candidate() {
    let mut world = world(3, &[]);
    for candidate in [1, 1, 3] {
        world.inject(p(candidate), p(2), Message::RequestVote { term: 4 });
    }
    let vote = |to: u32, granted| {
        let found = world.queue((p(2), p(to)));
        assert!(found.iter().all(|message| *message == Message::Vote { term: 4, granted }));
        found.len()
    };
    assert_eq!((vote(1, true), vote(3, false)), (2, 1));
}

/// P2 votes for P1, forgets it, and votes for P3 in the same term.
fn votes_twice(switches: &[Switch]) -> Vec<(u64, ProcessId)> {
    let mut world = world(3, switches);
    world.fire(p(1), Timer::Election);
    world.fire(p(3), Timer::Election);
    world.pass(1, 2);
    world.pass(2, 1);
    world.crash(p(2));
    world.recover(p(2));
    world.pass(3, 2);
    world.pass(2, 3);
    crowned(&mut world)
}

/// 2.12.
#[test]
fn a_voter_that_forgets_its_vote_makes_two_leaders_of_one_term() {
    assert_eq!(votes_twice(&[Switch::ForgottenVote]), [(1, p(1)), (1, p(3))]);
    assert_eq!(votes_twice(&[]), [(1, p(1))]);
}

/// A process that was cut off comes back with a high term, or with the term that it left.
#[test]
fn with_pre_vote_whoever_was_cut_off_does_not_depose_the_leader() {
    let deposed = |switches: &[Switch]| {
        let mut world = led(3, switches);
        world.take_seen();
        for _ in 0..5 {
            world.fire(p(3), Timer::Election);
            for to in [1, 2] {
                for _ in 0..world.under_way(3, to) {
                    world.lose((p(3), p(to)));
                }
            }
        }
        world.fire(p(3), Timer::Election);
        world.drain(&mut Dice(0));
        let at_leader = |(at, seen): &(ProcessId, Seen<Raft>)| {
            *at == p(1) && matches!(seen, Seen::Event(Event::Deposed { .. }))
        };
        let deposed = world.take_seen().iter().any(at_leader);
        (deposed, leads_in(&world, 1).contains("term: 1,"))
    };
    assert_eq!(deposed(&[]), (true, false));
    assert_eq!(deposed(&[Switch::PreVote]), (false, true));
}

#[test]
fn with_pre_vote_a_dead_leader_is_replaced_when_a_majority_misses_it() {
    let mut world = led(3, &[Switch::PreVote]);
    world.take_seen();
    world.crash(p(1));
    world.fire(p(2), Timer::Election);
    world.drain(&mut Dice(0));
    assert_eq!(crowned(&mut world), [], "P3 has not missed it yet");
    world.fire(p(3), Timer::Election);
    world.drain(&mut Dice(0));
    assert_eq!(crowned(&mut world), [(2, p(3))]);
}

#[test]
fn a_leader_that_resigns_is_replaced() {
    let mut world = led(3, &[]);
    world.command(p(1), Command::Resign);
    let timers = world.armed_timers();
    assert_eq!(
        timers,
        everybody(3).into_iter().map(|at| (at, Timer::Election)).collect::<Vec<_>>()
    );
    world.fire(p(2), Timer::Election);
    world.drain(&mut Dice(0));
    assert_eq!(beliefs(&mut world), [Some(p(2)); 3]);
}

/// A walk through what may happen to four: by term, who has led in it.
fn walk(seed: u64, switches: &[Switch]) -> BTreeMap<u64, BTreeSet<ProcessId>> {
    let mut dice = Dice(seed);
    let mut world = world(4, switches);
    let mut leaders: BTreeMap<u64, BTreeSet<ProcessId>> = BTreeMap::new();
    for _ in 0..200 {
        let at = ProcessId::at(dice.below(4));
        match (dice.below(40), dice.pick(&world.busy_links()).copied()) {
            (0, Some(link)) => world.lose(link),
            (1, Some(link)) => world.duplicate(link),
            (2, _) if world.is_up(at) => world.crash(at),
            (2..=5, _) if !world.is_up(at) => world.recover(at),
            (6, _) if world.is_up(at) => world.command(at, Command::Elect),
            (7, _) => {
                if let Some((at, timer)) = dice.pick(&world.armed_timers()).cloned() {
                    world.fire(at, timer);
                }
            }
            (_, Some(link)) => world.deliver(link, &mut dice),
            _ => {}
        }
        for (term, leader) in crowned(&mut world) {
            leaders.entry(term).or_default().insert(leader);
        }
    }
    leaders
}

/// Whatever is lost, repeated, reordered or down, and whichever timer fires when.
#[claims("A-RAFT")]
#[test]
fn no_term_ever_has_two_leaders_unless_votes_are_forgotten() {
    let (mut terms, mut clashes) = (0, 0);
    for seed in 0..3000 {
        for switches in [&[][..], &[Switch::PreVote]] {
            let leaders = walk(seed, switches);
            assert!(leaders.values().all(|led| led.len() == 1), "seed {seed}: {leaders:?}");
            terms += leaders.len();
        }
        let leaders = walk(seed, &[Switch::ForgottenVote]);
        clashes += leaders.values().filter(|led| led.len() > 1).count();
    }
    assert!(terms > 3000, "somebody leads in most of these worlds: {terms}");
    assert!(clashes > 0, "the walk would find two leaders");
}

#[test]
fn whoever_is_asked_campaigns_unless_it_does_already() {
    let mut world = world(3, &[]);
    world.command(p(1), Command::Elect);
    assert_eq!(world.sent_of("request-vote"), 2);
    world.command(p(1), Command::Elect);
    assert_eq!(world.sent_of("request-vote"), 2);
}

#[test]
fn a_follower_waits_for_ten_delays_and_up_to_four_more_a_process_and_a_leader_for_three() {
    for (size, delay) in [(3, 1_000), (5, 7)] {
        let Config { election, heartbeat, .. } = Config::plain(size, delay);
        let most = (10 + 4 * u64::from(size)) * delay;
        assert_eq!((election.min, election.max), (10 * delay, most));
        assert_eq!((heartbeat.min, heartbeat.max), (3 * delay, 3 * delay));
    }
}

#[test]
fn only_a_leader_resigns() {
    let mut world = led(3, &[]);
    world.take_seen();
    world.command(p(2), Command::Resign);
    assert!(leads_in(&world, 2).contains("leader: Some(P1)"), "{}", leads_in(&world, 2));
}

#[test]
fn a_pre_vote_is_for_a_later_term_only() {
    for (term, granted) in [(0, false), (1, true)] {
        let mut world = world(3, &[Switch::PreVote]);
        world.inject(p(1), p(2), Message::RequestPreVote { term });
        assert_eq!(*world.oldest((p(2), p(1))), Message::PreVote { term, granted });
    }
}
