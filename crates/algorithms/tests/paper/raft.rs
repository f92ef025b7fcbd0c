//! D. Ongaro, J. Ousterhout, *In search of an understandable consensus algorithm*, USENIX ATC
//! 2014: the election; and of D. Ongaro's thesis how a leader that is cut off leaves its office.

use std::collections::{BTreeMap, BTreeSet};

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::{Configured, Parameters};
use tenure_algorithms::election::Raft;
use tenure_algorithms::election::raft::{Config, Message, Switch, Timer};
use tenure_claims::claims;
use tenure_core::service::election::{Command, Event};
use tenure_core::{Algorithm, Delay, Order, ProcessId, TICKS_PER_UNIT};

use crate::support::election::{beliefs, opinions};
use crate::support::p;
use tenure_trace::{Dice, Seen, Stage};

fn config(size: u32, switches: &[Switch]) -> Config {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    Config { variants, ..Config::plain(size, TICKS_PER_UNIT) }
}

fn stage(size: u32, switches: &[Switch]) -> Stage<Raft> {
    Stage::alike(size, Order::Reordered, config(size, switches))
}

/// What is sent in an election, in the order of its life.
const KINDS: [&str; 6] =
    ["request-pre-vote", "pre-vote", "request-vote", "vote", "heartbeat", "heard"];

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
fn uncontested_it_costs_four_messages_a_peer_and_six_with_pre_vote() {
    for size in 1..=8_u32 {
        let others = u64::from(size) - 1;
        for (switches, first) in [(&[][..], 0), (&[Switch::PreVote], others)] {
            let mut stage = led(size, switches);
            let counts = KINDS.map(|kind| stage.sent_of(kind));
            assert_eq!(counts, [first, first, others, others, others, others], "{size}");
            assert_eq!(stage.total_sent(), counts.iter().sum::<u64>());
            assert_eq!(beliefs(&mut stage), vec![Some(p(1)); size as usize]);
        }
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
    let mut stage = stage(4, &[Switch::PreVote]);
    stage.fire(p(1), Timer::Election);
    stage.fire(p(2), Timer::Election);
    for (candidate, voter) in [(1, 3), (1, 4), (2, 3), (2, 4)] {
        stage.pass((p(candidate), p(voter)), 0);
        stage.pass((p(voter), p(candidate)), 0);
    }
    stage.pass((p(1), p(3)), 0);
    stage.pass((p(2), p(4)), 0);
    stage.drain(&mut Dice(0));
    assert_eq!(opinions(&mut stage), [None; 4], "two votes each");
    stage.fire(p(1), Timer::Election);
    stage.drain(&mut Dice(0));
    assert_eq!(crowned(&mut stage), [], "whoever has voted is patient until its own timeout");
    stage.fire(p(3), Timer::Election);
    stage.drain(&mut Dice(0));
    assert_eq!(crowned(&mut stage), [(2, p(3))]);
    assert!(leads_in(&stage, 1).contains("leader: Some(P3)"));
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
    stage.fire(p(3), Timer::Election);
    stage.lose((p(3), p(1)));
    stage.lose((p(3), p(2)));
    stage.fire(p(2), Timer::Election);
    stage.lose((p(2), p(1)));
    stage.pass((p(2), p(3)), 0);
    assert_eq!(crowned(&mut stage).last(), Some(&(1, p(1))), "P3 stands in term 2 itself");
    stage.pass((p(1), p(2)), 0);
    assert_eq!(stage.sent_of("overtaken"), 1);
    stage.drain(&mut Dice(1));
    assert!(leads_in(&stage, 1).contains("role: Free"), "{}", leads_in(&stage, 1));
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
        stage.fire(p(1), Timer::Heartbeat);
        stage.drain(&mut Dice(0));
        (was_deposed(&mut stage, 1), leads_in(&stage, 1).contains("term: 1,"))
    };
    assert_eq!(deposed(&[]), (true, false));
    assert_eq!(deposed(&[Switch::PreVote]), (false, true));
}

fn was_deposed(stage: &mut Stage<Raft>, at: u32) -> bool {
    stage
        .take_seen()
        .iter()
        .any(|(who, seen)| *who == p(at) && matches!(seen, Seen::Event(Event::Deposed { .. })))
}

/// Pre-vote.
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

/// Patient voters: neither its vote nor its term.
#[test]
fn whoever_hears_a_leader_gives_nothing_to_a_candidate() {
    let mut stage = led(3, &[Switch::PreVote]);
    stage.inject(p(3), p(2), Message::RequestVote { term: 7 });
    assert_eq!(*stage.queue((p(2), p(3)))[0], Message::Vote { term: 1, granted: false });
    stage.inject(p(3), p(1), Message::RequestVote { term: 7 });
    assert_eq!(*stage.queue((p(1), p(3)))[0], Message::Vote { term: 1, granted: false });
    stage.take_seen();
    stage.fire(p(2), Timer::Election);
    stage.inject(p(3), p(2), Message::RequestVote { term: 7 });
    assert_eq!(
        stage.queue((p(2), p(3))).last(),
        Some(&&Message::Vote { term: 7, granted: true }),
        "its own timeout has passed",
    );
}

/// The lease timer is armed when it stands, and when a majority has answered its last heartbeat.
#[test]
fn a_leader_that_no_majority_answers_for_a_lease_steps_down() {
    let mut stage = led(5, &[]);
    stage.take_seen();
    stage.fire(p(1), Timer::Heartbeat);
    for to in [2, 3] {
        stage.pass((p(1), p(to)), 0);
    }
    stage.pass((p(2), p(1)), 0);
    stage.fire(p(1), Timer::Lease);
    assert!(was_deposed(&mut stage, 1));
    stage.pass((p(3), p(1)), 0);
    assert!(leads_in(&stage, 1).contains("role: Free"), "the last answer was too late");
}

#[test]
fn without_check_quorum_it_goes_on_for_ever() {
    let mut stage = led(5, &[Switch::NoCheckQuorum]);
    stage.take_seen();
    stage.fire(p(1), Timer::Lease);
    assert!(!was_deposed(&mut stage, 1));
    assert!(stage.armed_timers().contains(&(p(1), Timer::Heartbeat)));
}

/// Votes that come when its lease is over are no good: who gave them may vote again.
#[test]
fn whoever_stands_for_longer_than_a_lease_stands_no_more() {
    let mut stage = stage(3, &[]);
    stage.fire(p(1), Timer::Election);
    stage.fire(p(1), Timer::Lease);
    stage.drain(&mut Dice(0));
    assert_eq!(crowned(&mut stage), []);
    stage.fire(p(2), Timer::Election);
    stage.drain(&mut Dice(0));
    assert_eq!(crowned(&mut stage), [(2, p(2))]);
}

/// An answer to an earlier heartbeat says nothing of now.
#[test]
fn answers_count_for_the_last_heartbeat_only() {
    let mut stage = led(3, &[]);
    let heard = |stage: &mut Stage<Raft>, round| {
        stage.inject(p(2), p(1), Message::Heard { term: 1, round });
        leads_in(stage, 1).contains("answered: {P1, P2}")
    };
    stage.fire(p(1), Timer::Heartbeat);
    assert!(leads_in(&stage, 1).contains("round: 2"), "{}", leads_in(&stage, 1));
    assert!(!heard(&mut stage, 1));
    assert!(heard(&mut stage, 2));
}

/// It may have voted, or have heard a leader, right before it crashed.
#[test]
fn whoever_comes_back_votes_for_nobody_before_its_timeout() {
    let votes = |switches: &[Switch]| {
        let mut stage = led(3, switches);
        stage.crash(p(2));
        stage.recover(p(2));
        stage.inject(p(3), p(2), Message::RequestVote { term: 2 });
        let queue = stage.queue((p(2), p(3)));
        matches!(queue.last(), Some(Message::Vote { granted: true, .. }))
    };
    assert!(!votes(&[]));
    assert!(votes(&[Switch::ForgottenVote]));
}

/// Nobody's timeout is over: whoever is told to stands, and the others forget what they promised.
#[test]
fn a_leader_that_resigns_is_replaced_before_anybody_times_out() {
    for switches in [&[][..], &[Switch::PreVote]] {
        let mut stage = led(5, switches);
        stage.command(p(1), Command::Resign);
        assert_eq!(beliefs(&mut stage)[0], None, "it has left before another leads");
        stage.drain(&mut Dice(0));
        assert_eq!(beliefs(&mut stage), [Some(p(2)); 5]);
        assert_eq!((stage.sent_of("hand-over"), stage.sent_of("succeed")), (1, 4));
    }
}

/// Late and repeated, a hand-over says what is true and of no use any more.
#[test]
fn a_hand_over_of_an_earlier_term_makes_nobody_stand() {
    let mut stage = led(3, &[]);
    stage.take_seen();
    for term in [0, 2] {
        stage.inject(p(1), p(2), Message::HandOver { term });
        assert_eq!(stage.sent_of("succeed"), 0, "{term}");
    }
    stage.inject(p(3), p(2), Message::Succeed { term: 1 });
    let refused = Message::Vote { term: 1, granted: false };
    assert_eq!(stage.queue((p(2), p(3))).last(), Some(&&refused), "it voted in that term");
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

/// Whoever has a leader may not leave it: others rely on that.
#[test]
fn whoever_is_asked_while_somebody_leads_says_who() {
    let mut stage = led(3, &[]);
    let sent = stage.total_sent();
    stage.take_seen();
    for at in [1, 2] {
        stage.command(p(at), Command::Elect);
        let leader = |seen: &Seen<Raft>| match seen {
            Seen::Event(Event::Elected { leader, .. }) => Some(*leader),
            _ => None,
        };
        let told = stage.take_seen();
        assert!(told.iter().any(|(who, seen)| *who == p(at) && leader(seen) == Some(p(1))));
    }
    assert_eq!(stage.total_sent(), sent);
}

/// With clocks that are 4 % fast or slow, the first voter is still later than the lease.
#[test]
fn heartbeat_and_lease_are_shorter_than_any_election_timeout_by_more_than_clocks_differ() {
    for (size, delay) in [(3, 1_000), (5, 7)] {
        let Config { election, heartbeat, lease, .. } = Config::plain(size, delay);
        let most = (12 + 4 * u64::from(size)) * delay;
        assert_eq!((election.min, election.max), (12 * delay, most));
        assert_eq!((heartbeat, lease), (Delay::ticks(3 * delay), Delay::ticks(8 * delay)));
        assert!((heartbeat.max + lease.max) * 104 < election.min * 96);
        assert!(lease.min >= 2 * heartbeat.max + 2 * delay, "one heartbeat may be lost");
    }
}

/// The same where a larger drift is known, and the card promises as much.
#[test]
fn election_timeout_follows_from_the_drift_of_clocks() {
    for drift_ppm in [0, 40_000, 100_000, 900_000] {
        let parameters = Parameters { drift_ppm, delay: 1_000, ..Parameters::plain(3) };
        let config = Config::configured(&parameters).unwrap();
        let (slow, fast) = (1_000_000 - u64::from(drift_ppm), 1_000_000 + u64::from(drift_ppm));
        let leads = config.heartbeat.max + config.lease.max;
        assert!(leads * fast < config.election.min * slow, "{drift_ppm}: {config:?}");
        assert!(Raft::card(&config, 3).drift_ppm >= drift_ppm, "{drift_ppm}: {config:?}");
        if drift_ppm <= 40_000 {
            assert_eq!(config.election, Config::plain(3, 1_000).election);
        }
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
