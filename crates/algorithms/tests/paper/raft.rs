//! Tests of the election of D. Ongaro, J. Ousterhout, *In search of an understandable consensus
//! algorithm*, USENIX ATC 2014. The rule by which a partitioned leader steps down is from D.
//! Ongaro's thesis.

use std::collections::{BTreeMap, BTreeSet};

use tenure_algorithms::Variants;
use tenure_algorithms::catalogue::{FromParameters, Parameters};
use tenure_algorithms::election::RaftElection;
use tenure_algorithms::election::raft::{Config, Message, Timer, VariantId};
use tenure_core::service::election::{Command, Event};
use tenure_core::{Algorithm, ChannelOrder, Delay, ProcessId, TICKS_PER_TIME_UNIT};

use crate::support::election::{beliefs, unchecked_beliefs};
use crate::support::{events, fire_and_drain, p, pass_all, processes_with, restart};
use tenure_trace::{SplitMix64, TestCluster};

fn config(size: u32, switches: &[VariantId]) -> Config {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    Config { variants, ..Config::with_defaults(size, TICKS_PER_TIME_UNIT) }
}

fn cluster(size: u32, switches: &[VariantId]) -> TestCluster<RaftElection> {
    TestCluster::with_same_config(size, ChannelOrder::Reordered, config(size, switches))
}

const KINDS: [&str; 6] =
    ["request-pre-vote", "pre-vote", "request-vote", "vote", "heartbeat", "heard"];

/// Returns a cluster in which P1 has timed out first and leads in term 1.
fn led_by_p1(size: u32, switches: &[VariantId]) -> TestCluster<RaftElection> {
    let mut cluster = cluster(size, switches);
    fire_and_drain(&mut cluster, 1, Timer::Election);
    cluster
}

/// Returns the processes that became leaders since the last call, with their terms.
fn new_leaders(cluster: &mut TestCluster<RaftElection>) -> Vec<(u64, ProcessId)> {
    let new_leader = |(at, event)| match event {
        Event::Elected { leader, term } if leader == p(at) => Some((term.number, leader)),
        _ => None,
    };
    events(cluster).into_iter().filter_map(new_leader).collect()
}

fn state_of(cluster: &TestCluster<RaftElection>, at: u32) -> String {
    format!("{:?}", cluster.process(p(at)).unwrap())
}

/// An uncontested election costs four messages per peer, and two more with pre-votes
/// (`docs/checklist.md`, section 2.12).
#[test]
fn uncontested_election_costs_four_messages_per_peer() {
    for size in 1..=8_u32 {
        let others = u64::from(size) - 1;
        for (switches, first) in [(&[][..], 0), (&[VariantId::PreVote], others)] {
            let mut cluster = led_by_p1(size, switches);
            let counts = KINDS.map(|kind| cluster.sent_count(kind));
            assert_eq!(counts, [first, first, others, others, others, others], "{size}");
            assert_eq!(cluster.total_sent(), counts.iter().sum::<u64>());
            assert_eq!(beliefs(&mut cluster), vec![Some(p(1)); size as usize]);
        }
    }
}

/// `docs/checklist.md`, 2.12: a candidate needs ⌊N/2⌋ + 1 votes, including its own.
#[test]
fn needs_exactly_a_majority() {
    for (size, needed) in [(2, 2), (3, 2), (4, 3), (5, 3), (6, 4)] {
        let mut cluster = cluster(size, &[]);
        cluster.fire_timer(p(1), Timer::Election);
        for voter in 2..needed {
            pass_all(&mut cluster, &[(1, voter), (voter, 1)]);
        }
        assert_eq!(new_leaders(&mut cluster), [], "{} votes of {size}", needed - 1);
        pass_all(&mut cluster, &[(1, needed), (needed, 1)]);
        assert_eq!(new_leaders(&mut cluster), [(1, p(1))], "{needed} votes of {size}");
    }
}

/// `docs/checklist.md`, 2.12: each of two candidates has two of four votes. The next term decides.
#[test]
fn split_vote_is_resolved_in_next_term() {
    let mut cluster = cluster(4, &[VariantId::PreVote]);
    cluster.fire_timer(p(1), Timer::Election);
    cluster.fire_timer(p(2), Timer::Election);
    for (candidate, voter) in [(1, 3), (1, 4), (2, 3), (2, 4)] {
        pass_all(&mut cluster, &[(candidate, voter), (voter, candidate)]);
    }
    pass_all(&mut cluster, &[(1, 3), (2, 4)]);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(unchecked_beliefs(&mut cluster), [None; 4], "two votes each");
    fire_and_drain(&mut cluster, 1, Timer::Election);
    assert_eq!(new_leaders(&mut cluster), [], "voters wait for their own timeout");
    fire_and_drain(&mut cluster, 3, Timer::Election);
    assert_eq!(new_leaders(&mut cluster), [(2, p(3))]);
    assert!(state_of(&cluster, 1).contains("leader: Some(P3)"));
}

#[test]
fn steps_down_for_later_term() {
    let mut cluster = led_by_p1(3, &[]);
    cluster.take_events();
    cluster.inject_and_deliver(p(3), p(1), Message::Overtaken { term: 5 });
    let seen = events(&mut cluster);
    assert!(matches!(seen[..], [(1, Event::Deposed { .. })]), "{seen:?}");
    assert_eq!(cluster.armed_timers().iter().filter(|(at, _)| *at == p(1)).count(), 1);
}

#[test]
fn leader_of_earlier_term_is_informed() {
    let mut cluster = led_by_p1(3, &[]);
    cluster.fire_timer(p(1), Timer::Heartbeat);
    cluster.fire_timer(p(3), Timer::Election);
    cluster.lose_oldest((p(3), p(1)));
    cluster.lose_oldest((p(3), p(2)));
    cluster.fire_timer(p(2), Timer::Election);
    cluster.lose_oldest((p(2), p(1)));
    cluster.deliver_at((p(2), p(3)), 0);
    assert_eq!(new_leaders(&mut cluster).last(), Some(&(1, p(1))), "P3 stands in term 2 itself");
    cluster.deliver_at((p(1), p(2)), 0);
    assert_eq!(cluster.sent_count("overtaken"), 1);
    cluster.deliver_all(&mut SplitMix64(1));
    assert!(state_of(&cluster, 1).contains("role: Free"), "{}", state_of(&cluster, 1));
}

#[test]
fn votes_once_per_term() {
    let mut cluster = cluster(3, &[]);
    for candidate in [1, 1, 3] {
        cluster.inject_and_deliver(p(candidate), p(2), Message::RequestVote { term: 4 });
    }
    let vote = |to: u32, granted| {
        let found = cluster.messages_on_link((p(2), p(to)));
        assert!(found.iter().all(|message| **message == Message::Vote { term: 4, granted }));
        found.len()
    };
    assert_eq!((vote(1, true), vote(3, false)), (2, 1));
}

/// Lets P2 vote for P1, forget this vote, and vote for P3 in the same term. Returns the leaders
/// with their terms.
fn votes_twice(switches: &[VariantId]) -> Vec<(u64, ProcessId)> {
    let mut cluster = cluster(3, switches);
    cluster.fire_timer(p(1), Timer::Election);
    cluster.fire_timer(p(3), Timer::Election);
    pass_all(&mut cluster, &[(1, 2), (2, 1)]);
    restart(&mut cluster, 2);
    pass_all(&mut cluster, &[(3, 2), (2, 3)]);
    new_leaders(&mut cluster)
}

/// A process that forgets its vote in a crash may vote twice, so two processes lead in one term
/// (`docs/checklist.md`, section 2.12).
#[test]
fn forgotten_vote_makes_two_leaders() {
    assert_eq!(votes_twice(&[VariantId::ForgottenVote]), [(1, p(1)), (1, p(3))]);
    assert_eq!(votes_twice(&[]), [(1, p(1))]);
}

/// Without pre-vote, a partitioned process returns with a higher term. With pre-vote, it returns
/// with its old term.
#[test]
fn pre_vote_protects_the_leader() {
    let deposed = |switches: &[VariantId]| {
        let mut cluster = led_by_p1(3, switches);
        cluster.take_events();
        for _ in 0..5 {
            cluster.fire_timer(p(3), Timer::Election);
            for to in [1, 2] {
                for _ in 0..cluster.messages_on_link((p(3), p(to))).len() {
                    cluster.lose_oldest((p(3), p(to)));
                }
            }
        }
        fire_and_drain(&mut cluster, 1, Timer::Heartbeat);
        (was_deposed(&mut cluster, 1), state_of(&cluster, 1).contains("term: 1,"))
    };
    assert_eq!(deposed(&[]), (true, false));
    assert_eq!(deposed(&[VariantId::PreVote]), (false, true));
}

fn was_deposed(cluster: &mut TestCluster<RaftElection>, at: u32) -> bool {
    processes_with(cluster, |event| matches!(event, Event::Deposed { .. })).contains(&at)
}

/// The leader P1 crashes. A process that follows a leader grants no pre-vote. Therefore P3 becomes
/// leader only after both P2 and P3 have suspected P1 (Ongaro's thesis, section 9.6).
#[test]
fn pre_vote_replaces_a_crashed_leader() {
    let mut cluster = led_by_p1(3, &[VariantId::PreVote]);
    cluster.take_events();
    cluster.crash(p(1));
    fire_and_drain(&mut cluster, 2, Timer::Election);
    assert_eq!(new_leaders(&mut cluster), [], "P3 has not suspected the leader yet");
    fire_and_drain(&mut cluster, 3, Timer::Election);
    assert_eq!(new_leaders(&mut cluster), [(2, p(3))]);
}

/// A voter that follows a leader grants no vote, and joins no new term, before its own timeout.
#[test]
fn follower_of_a_leader_grants_nothing() {
    let mut cluster = led_by_p1(3, &[VariantId::PreVote]);
    cluster.inject_and_deliver(p(3), p(2), Message::RequestVote { term: 7 });
    assert_eq!(
        *cluster.messages_on_link((p(2), p(3)))[0],
        Message::Vote { term: 1, granted: false }
    );
    cluster.inject_and_deliver(p(3), p(1), Message::RequestVote { term: 7 });
    assert_eq!(
        *cluster.messages_on_link((p(1), p(3)))[0],
        Message::Vote { term: 1, granted: false }
    );
    cluster.take_events();
    cluster.fire_timer(p(2), Timer::Election);
    cluster.inject_and_deliver(p(3), p(2), Message::RequestVote { term: 7 });
    assert_eq!(
        cluster.messages_on_link((p(2), p(3))).last(),
        Some(&&Message::Vote { term: 7, granted: true }),
        "its own timeout has fired",
    );
}

/// The lease of a leader starts when the process becomes a candidate. The leader renews the lease
/// when a majority has responded to its last heartbeat. When the lease ends, the leader steps down.
#[test]
fn leader_without_majority_steps_down() {
    let mut cluster = led_by_p1(5, &[]);
    cluster.take_events();
    cluster.fire_timer(p(1), Timer::Heartbeat);
    for to in [2, 3] {
        cluster.deliver_at((p(1), p(to)), 0);
    }
    cluster.deliver_at((p(2), p(1)), 0);
    cluster.fire_timer(p(1), Timer::Lease);
    assert!(was_deposed(&mut cluster, 1));
    cluster.deliver_at((p(3), p(1)), 0);
    assert!(state_of(&cluster, 1).contains("role: Free"), "the last response was too late");
}

#[test]
fn leader_without_check_quorum_stays_for_ever() {
    let mut cluster = led_by_p1(5, &[VariantId::NoCheckQuorum]);
    cluster.take_events();
    cluster.fire_timer(p(1), Timer::Lease);
    assert!(!was_deposed(&mut cluster, 1));
    assert!(cluster.armed_timers().contains(&(p(1), Timer::Heartbeat)));
}

/// The lease of a candidate starts with its vote request. Votes that arrive after the end of this
/// lease are ignored, because the voters may have voted for another process by then.
#[test]
fn candidacy_ends_with_the_lease() {
    let mut cluster = cluster(3, &[]);
    cluster.fire_timer(p(1), Timer::Election);
    fire_and_drain(&mut cluster, 1, Timer::Lease);
    assert_eq!(new_leaders(&mut cluster), []);
    fire_and_drain(&mut cluster, 2, Timer::Election);
    assert_eq!(new_leaders(&mut cluster), [(2, p(2))]);
}

#[test]
fn responses_count_for_last_heartbeat_only() {
    let mut cluster = led_by_p1(3, &[]);
    let confirmed = |cluster: &mut TestCluster<RaftElection>, round| {
        cluster.inject_and_deliver(p(2), p(1), Message::Heard { term: 1, round });
        state_of(cluster, 1).contains("answered: {P1, P2}")
    };
    cluster.fire_timer(p(1), Timer::Heartbeat);
    assert!(state_of(&cluster, 1).contains("round: 2"), "{}", state_of(&cluster, 1));
    assert!(!confirmed(&mut cluster, 1));
    assert!(confirmed(&mut cluster, 2));
}

/// A restarted process grants no vote before its timeout, because it may have voted, or received a
/// heartbeat, right before it crashed.
#[test]
fn restarted_process_grants_no_vote_before_timeout() {
    let votes = |switches: &[VariantId]| {
        let mut cluster = led_by_p1(3, switches);
        restart(&mut cluster, 2);
        cluster.inject_and_deliver(p(3), p(2), Message::RequestVote { term: 2 });
        let queue = cluster.messages_on_link((p(2), p(3)));
        matches!(queue.last(), Some(Message::Vote { granted: true, .. }))
    };
    assert!(!votes(&[]));
    assert!(votes(&[VariantId::ForgottenVote]));
}

/// A resigning leader nominates a successor. The successor starts an election at once, and the
/// other processes vote for it although they follow a leader.
#[test]
fn resigned_leader_is_replaced_without_timeout() {
    for switches in [&[][..], &[VariantId::PreVote]] {
        let mut cluster = led_by_p1(5, switches);
        cluster.issue_command(p(1), Command::Resign);
        assert_eq!(beliefs(&mut cluster)[0], None, "it is deposed before another leads");
        cluster.deliver_all(&mut SplitMix64(0));
        assert_eq!(beliefs(&mut cluster), [Some(p(2)); 5]);
        assert_eq!((cluster.sent_count("hand-over"), cluster.sent_count("succeed")), (1, 4));
    }
}

/// A hand-over that arrives late or twice concerns an old term, and has no effect.
#[test]
fn old_hand_over_is_ignored() {
    let mut cluster = led_by_p1(3, &[]);
    cluster.take_events();
    for term in [0, 2] {
        cluster.inject_and_deliver(p(1), p(2), Message::HandOver { term });
        assert_eq!(cluster.sent_count("succeed"), 0, "{term}");
    }
    cluster.inject_and_deliver(p(3), p(2), Message::Succeed { term: 1 });
    let refused = Message::Vote { term: 1, granted: false };
    assert_eq!(
        cluster.messages_on_link((p(2), p(3))).last(),
        Some(&&refused),
        "it voted in that term"
    );
}

/// Takes random steps with four processes. Returns the leaders by term.
fn random_walk(seed: u64, switches: &[VariantId]) -> BTreeMap<u64, BTreeSet<ProcessId>> {
    let mut rng = SplitMix64(seed);
    let mut cluster = cluster(4, switches);
    let mut leaders: BTreeMap<u64, BTreeSet<ProcessId>> = BTreeMap::new();
    for _ in 0..200 {
        let at = ProcessId::from_index(rng.below(4));
        match (rng.below(40), rng.pick(&cluster.links_in_use()).copied()) {
            (0, Some(link)) => cluster.lose_oldest(link),
            (1, Some(link)) => cluster.duplicate_oldest(link),
            (2, _) if cluster.is_up(at) => cluster.crash(at),
            (2..=5, _) if !cluster.is_up(at) => cluster.recover(at),
            (6, _) if cluster.is_up(at) => cluster.issue_command(at, Command::Elect),
            (7, _) => {
                if let Some((at, timer)) = rng.pick(&cluster.armed_timers()).cloned() {
                    cluster.fire_timer(at, timer);
                }
            }
            (_, Some(link)) => cluster.deliver(link, &mut rng),
            _ => {}
        }
        for (term, leader) in new_leaders(&mut cluster) {
            leaders.entry(term).or_default().insert(leader);
        }
    }
    leaders
}

/// Takes random steps: losses, duplicates, reordering, crashes and timers. By default, no term has
/// two leaders. With the variant `forgotten-vote`, some run has a term with two leaders.
#[test]
fn no_term_has_two_leaders() {
    let (mut terms, mut clashes) = (0, 0);
    for seed in 0..3000 {
        for switches in [&[][..], &[VariantId::PreVote]] {
            let leaders = random_walk(seed, switches);
            assert!(
                leaders.values().all(|led_by_p1| led_by_p1.len() == 1),
                "seed {seed}: {leaders:?}"
            );
            terms += leaders.len();
        }
        let leaders = random_walk(seed, &[VariantId::ForgottenVote]);
        clashes += leaders.values().filter(|led_by_p1| led_by_p1.len() > 1).count();
    }
    assert!(terms > 3000, "too few runs elect a leader: {terms}");
    assert!(clashes > 0, "the walk finds no violation");
}

#[test]
fn command_starts_one_campaign() {
    let mut cluster = cluster(3, &[]);
    cluster.issue_command(p(1), Command::Elect);
    assert_eq!(cluster.sent_count("request-vote"), 2);
    cluster.issue_command(p(1), Command::Elect);
    assert_eq!(cluster.sent_count("request-vote"), 2);
}

/// If a process follows a leader, a command to elect starts no election. The process reports the
/// known leader instead.
#[test]
fn command_reports_a_known_leader() {
    let mut cluster = led_by_p1(3, &[]);
    let sent = cluster.total_sent();
    cluster.take_events();
    for at in [1, 2] {
        cluster.issue_command(p(at), Command::Elect);
        let names_p1 =
            |event: &Event| matches!(event, Event::Elected { leader, .. } if *leader == p(1));
        assert!(processes_with(&mut cluster, names_p1).contains(&at));
    }
    assert_eq!(cluster.total_sent(), sent);
}

/// With clocks that are up to 4 % fast or slow, no voter times out before the leader's lease ends.
#[test]
fn lease_is_shorter_than_election_timeout() {
    for (size, delay) in [(3, 1_000), (5, 7)] {
        let Config {
            election_timeout: election,
            heartbeat_interval: heartbeat,
            lease_duration: lease,
            ..
        } = Config::with_defaults(size, delay);
        let most = (12 + 4 * u64::from(size)) * delay;
        assert_eq!((election.min, election.max), (12 * delay, most));
        assert_eq!((heartbeat, lease), (Delay::ticks(3 * delay), Delay::ticks(8 * delay)));
        assert!((heartbeat.max + lease.max) * 104 < election.min * 96);
        assert!(lease.min >= 2 * heartbeat.max + 2 * delay, "one heartbeat may be lost");
    }
}

/// The election timeout grows with the configured clock drift, so that the leader's lease ends
/// before a voter times out. The drift that the card tolerates is at least the configured drift.
#[test]
fn election_timeout_follows_from_clock_drift() {
    for drift_ppm in [0, 40_000, 100_000, 900_000] {
        let parameters = Parameters { drift_ppm, delay: 1_000, ..Parameters::with_defaults(3) };
        let config = Config::from_parameters(&parameters).unwrap();
        let (slow, fast) = (1_000_000 - u64::from(drift_ppm), 1_000_000 + u64::from(drift_ppm));
        let leads = config.heartbeat_interval.max + config.lease_duration.max;
        assert!(leads * fast < config.election_timeout.min * slow, "{drift_ppm}: {config:?}");
        assert!(RaftElection::card(&config, 3).drift_ppm >= drift_ppm, "{drift_ppm}: {config:?}");
        if drift_ppm <= 40_000 {
            assert_eq!(config.election_timeout, Config::with_defaults(3, 1_000).election_timeout);
        }
    }
}

#[test]
fn only_a_leader_resigns() {
    let mut cluster = led_by_p1(3, &[]);
    cluster.take_events();
    cluster.issue_command(p(2), Command::Resign);
    assert!(state_of(&cluster, 2).contains("leader: Some(P1)"), "{}", state_of(&cluster, 2));
}

#[test]
fn pre_vote_needs_a_later_term() {
    for (term, granted) in [(0, false), (1, true)] {
        let mut cluster = cluster(3, &[VariantId::PreVote]);
        cluster.inject_and_deliver(p(1), p(2), Message::RequestPreVote { term });
        assert_eq!(*cluster.messages_on_link((p(2), p(1)))[0], Message::PreVote { term, granted });
    }
}
