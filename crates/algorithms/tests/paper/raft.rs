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
use crate::support::p;
use tenure_trace::{Dice, Seen, Stage};

fn config(size: u32, switches: &[Switch]) -> Config {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    Config { variants, ..Config::plain(size, TICKS_PER_UNIT) }
}

fn stage(size: u32, switches: &[Switch]) -> Stage<Raft> {
    Stage::alike(size, Order::Reordered, config(size, switches))
}

fn counts(stage: &Stage<Raft>) -> (u64, u64, u64) {
    (stage.sent_of("request-vote"), stage.sent_of("vote"), stage.sent_of("heartbeat"))
}

/// P1 times out first and leads in term 1.
fn led(size: u32, switches: &[Switch]) -> Stage<Raft> {
    let mut stage = stage(size, switches);
    stage.fire(p(1), Timer::Election);
    stage.drain(&mut Dice(0));
    stage
}

/// Who was told that it leads, and in which term, since this was last asked.
fn crowned(stage: &mut Stage<Raft>) -> Vec<(u64, ProcessId)> {
    let seen = stage.take_seen().into_iter().filter_map(|(at, seen)| match seen {
        Seen::Event(Event::Elected { leader, term }) if leader == at => Some((term.number, at)),
        _ => None,
    });
    seen.collect()
}

fn leads_in(stage: &Stage<Raft>, at: u32) -> String {
    format!("{:?}", stage.process(p(at)).unwrap())
}

/// 2.12.
#[claims("A-RAFT")]
#[test]
fn uncontested_it_costs_three_messages_a_peer() {
    for size in 1..=8_u32 {
        let mut stage = led(size, &[]);
        let others = u64::from(size) - 1;
        assert_eq!(counts(&stage), (others, others, others), "{size}");
        assert_eq!(stage.total_sent(), 3 * others);
        assert_eq!(beliefs(&mut stage), vec![Some(p(1)); size as usize]);
    }
}

/// 2.12: ⌊N/2⌋ + 1 votes, its own among them.
#[test]
fn a_majority_is_needed_and_enough() {
    for (size, needed) in [(2, 2), (3, 2), (4, 3), (5, 3), (6, 4)] {
        let mut stage = stage(size, &[]);
        stage.fire(p(1), Timer::Election);
        for voter in 2..needed {
            stage.pass((p(1), p(voter)), 0);
            stage.pass((p(voter), p(1)), 0);
        }
        assert_eq!(crowned(&mut stage), [], "{} votes of {size}", needed - 1);
        stage.pass((p(1), p(needed)), 0);
        stage.pass((p(needed), p(1)), 0);
        assert_eq!(crowned(&mut stage), [(1, p(1))], "{needed} votes of {size}");
    }
}

/// 2.12: each has two votes of four; the next term decides.
#[test]
fn a_split_vote_is_made_up_for_in_the_next_term() {
    let mut stage = stage(4, &[]);
    stage.fire(p(1), Timer::Election);
    stage.fire(p(2), Timer::Election);
    stage.pass((p(1), p(3)), 0);
    stage.pass((p(2), p(4)), 0);
    stage.drain(&mut Dice(0));
    assert_eq!(opinions(&mut stage), [None; 4], "two votes each");
    stage.fire(p(2), Timer::Election);
    stage.drain(&mut Dice(0));
    assert_eq!(crowned(&mut stage), [(2, p(2))]);
    assert!(leads_in(&stage, 1).contains("leader: Some(P2)"));
}

#[test]
fn whoever_hears_of_a_later_term_steps_down() {
    let mut stage = led(3, &[]);
    stage.take_seen();
    stage.inject(p(3), p(1), Message::Overtaken { term: 5 });
    let seen = stage.take_seen();
    let deposed = matches!(&seen[..], [(at, Seen::Event(Event::Deposed { .. }))] if *at == p(1));
    assert!(deposed, "{seen:?}");
    assert_eq!(stage.armed_timers().iter().filter(|(at, _)| *at == p(1)).count(), 1);
}

#[test]
fn a_leader_of_an_earlier_term_is_told_that_it_is_over() {
    let mut stage = led(3, &[]);
    stage.fire(p(1), Timer::Heartbeat);
    stage.fire(p(2), Timer::Election);
    stage.lose((p(2), p(1)));
    stage.pass((p(2), p(3)), 0);
    stage.pass((p(3), p(2)), 0);
    assert_eq!(crowned(&mut stage).last(), Some(&(2, p(2))), "P3 voted for P2 in term 2");
    stage.pass((p(1), p(2)), 0);
    assert_eq!(stage.sent_of("overtaken"), 1);
    stage.drain(&mut Dice(1));
    assert!(leads_in(&stage, 1).contains("leader: Some(P2)"), "{}", leads_in(&stage, 1));
}

#[test]
fn a_process_votes_once_in_a_term_and_again_for_the_same_candidate() {
    let mut stage = stage(3, &[]);
    for candidate in [1, 1, 3] {
        stage.inject(p(candidate), p(2), Message::RequestVote { term: 4 });
    }
    let vote = |to: u32, granted| {
        let found = stage.queue((p(2), p(to)));
        assert!(found.iter().all(|message| **message == Message::Vote { term: 4, granted }));
        found.len()
    };
    assert_eq!((vote(1, true), vote(3, false)), (2, 1));
}

/// P2 votes for P1, forgets it, and votes for P3 in the same term.
fn votes_twice(switches: &[Switch]) -> Vec<(u64, ProcessId)> {
    let mut stage = stage(3, switches);
    stage.fire(p(1), Timer::Election);
    stage.fire(p(3), Timer::Election);
    stage.pass((p(1), p(2)), 0);
    stage.pass((p(2), p(1)), 0);
    stage.crash(p(2));
    stage.recover(p(2));
    stage.pass((p(3), p(2)), 0);
    stage.pass((p(2), p(3)), 0);
    crowned(&mut stage)
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
        let mut stage = led(3, switches);
        stage.take_seen();
        for _ in 0..5 {
            stage.fire(p(3), Timer::Election);
            for to in [1, 2] {
                for _ in 0..stage.queue((p(3), p(to))).len() {
                    stage.lose((p(3), p(to)));
                }
            }
        }
        stage.fire(p(3), Timer::Election);
        stage.drain(&mut Dice(0));
        let at_leader = |(at, seen): &(ProcessId, Seen<Raft>)| {
            *at == p(1) && matches!(seen, Seen::Event(Event::Deposed { .. }))
        };
        let deposed = stage.take_seen().iter().any(at_leader);
        (deposed, leads_in(&stage, 1).contains("term: 1,"))
    };
    assert_eq!(deposed(&[]), (true, false));
    assert_eq!(deposed(&[Switch::PreVote]), (false, true));
}

#[test]
fn with_pre_vote_a_dead_leader_is_replaced_when_a_majority_misses_it() {
    let mut stage = led(3, &[Switch::PreVote]);
    stage.take_seen();
    stage.crash(p(1));
    stage.fire(p(2), Timer::Election);
    stage.drain(&mut Dice(0));
    assert_eq!(crowned(&mut stage), [], "P3 has not missed it yet");
    stage.fire(p(3), Timer::Election);
    stage.drain(&mut Dice(0));
    assert_eq!(crowned(&mut stage), [(2, p(3))]);
}

#[test]
fn a_leader_that_resigns_is_replaced() {
    let mut stage = led(3, &[]);
    stage.command(p(1), Command::Resign);
    let timers = stage.armed_timers();
    assert_eq!(
        timers,
        everybody(3).into_iter().map(|at| (at, Timer::Election)).collect::<Vec<_>>()
    );
    stage.fire(p(2), Timer::Election);
    stage.drain(&mut Dice(0));
    assert_eq!(beliefs(&mut stage), [Some(p(2)); 3]);
}

/// A walk through what may happen to four: by term, who has led in it.
fn walk(seed: u64, switches: &[Switch]) -> BTreeMap<u64, BTreeSet<ProcessId>> {
    let mut dice = Dice(seed);
    let mut stage = stage(4, switches);
    let mut leaders: BTreeMap<u64, BTreeSet<ProcessId>> = BTreeMap::new();
    for _ in 0..200 {
        let at = ProcessId::at(dice.below(4));
        match (dice.below(40), dice.pick(&stage.busy_links()).copied()) {
            (0, Some(link)) => stage.lose(link),
            (1, Some(link)) => stage.duplicate(link),
            (2, _) if stage.is_up(at) => stage.crash(at),
            (2..=5, _) if !stage.is_up(at) => stage.recover(at),
            (6, _) if stage.is_up(at) => stage.command(at, Command::Elect),
            (7, _) => {
                if let Some((at, timer)) = dice.pick(&stage.armed_timers()).cloned() {
                    stage.fire(at, timer);
                }
            }
            (_, Some(link)) => stage.deliver(link, &mut dice),
            _ => {}
        }
        for (term, leader) in crowned(&mut stage) {
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
    let mut stage = stage(3, &[]);
    stage.command(p(1), Command::Elect);
    assert_eq!(stage.sent_of("request-vote"), 2);
    stage.command(p(1), Command::Elect);
    assert_eq!(stage.sent_of("request-vote"), 2);
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
    let mut stage = led(3, &[]);
    stage.take_seen();
    stage.command(p(2), Command::Resign);
    assert!(leads_in(&stage, 2).contains("leader: Some(P1)"), "{}", leads_in(&stage, 2));
}

#[test]
fn a_pre_vote_is_for_a_later_term_only() {
    for (term, granted) in [(0, false), (1, true)] {
        let mut stage = stage(3, &[Switch::PreVote]);
        stage.inject(p(1), p(2), Message::RequestPreVote { term });
        assert_eq!(*stage.queue((p(2), p(1)))[0], Message::PreVote { term, granted });
    }
}
