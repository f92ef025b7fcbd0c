//! Membership changes: D. Ongaro, *Consensus: bridging theory and practice*, Stanford 2014, chapter
//! 4.

use tenure_algorithms::agreement::RaftReplica;
use tenure_algorithms::agreement::raft_log::{Config, EntryId, Message, Timer, VariantId};
use tenure_core::service::log::{Command, DeclineReason, Event, Members};
use tenure_core::{ChannelOrder, ProcessSet};
use tenure_trace::{SplitMix64, TestCluster};

use super::{append, commit_index, compact, config, declined, events, heartbeat, of_terms, terms};
use crate::support::{fire_and_drain, lose_all, p, pass_all, restart};

/// Returns a cluster of `size` processes that P1 leads. All processes except the last one are
/// members of the group.
pub(super) fn newcomer(size: u32, switches: &[VariantId]) -> TestCluster<RaftReplica> {
    let members = Some(Members::from_voters(ProcessSet::first_n(size - 1)));
    let config = Config { initial_members: members, trailing_entries: 0, ..config(size, switches) };
    let mut cluster =
        TestCluster::<RaftReplica>::with_same_config(size, ChannelOrder::Reordered, config);
    fire_and_drain(&mut cluster, 1, Timer::Election);
    heartbeat(&mut cluster, 1);
    cluster.take_events();
    cluster
}

pub(super) fn change(cluster: &mut TestCluster<RaftReplica>, at: u32, members: &str) {
    let Members { voters, learners, .. } = Members::parse(members).expect("members");
    cluster.issue_command(p(at), Command::ChangeMembers { ticket: 50, voters, learners });
}

fn members(cluster: &TestCluster<RaftReplica>, at: u32) -> String {
    cluster.process(p(at)).expect("it is up").members().to_string()
}

/// A new voter first receives the log of the leader. Only then does the leader append the joint
/// entry. The joint entry needs a majority of the former voters and a majority of the new voters
/// (Ongaro's thesis, sections 4.2.1 and 4.3).
#[test]
fn newcomer_catches_up_before_joint_phase() {
    let mut cluster = newcomer(4, &[]);
    assert_eq!(cluster.sent_count("append"), 4, "nothing to the newcomer");
    change(&mut cluster, 1, "1,2,4");
    assert_eq!(members(&cluster, 1), "P1,P2,P3", "it lacks the log");
    heartbeat(&mut cluster, 1);
    assert!(events(&mut cluster).contains(&(1, Event::MembersChanged { ticket: 50, index: 3 })));
    heartbeat(&mut cluster, 1);
    assert_eq!([1, 2, 4].map(|at| members(&cluster, at)), ["P1,P2,P4"; 3]);
    assert_eq!(terms(&cluster, 4), [1, 1, 1]);
    append(&mut cluster, 1, 1);
    assert_eq!(
        cluster.messages_on_link((p(1), p(3))),
        Vec::<&Message>::new(),
        "P3 is no longer a member"
    );
}

#[test]
fn joint_phase_needs_both_majorities() {
    let mut cluster = newcomer(5, &[VariantId::NoCatchUp]);
    // The members are P1 to P4 before the change, and P1, P2 and P5 after it.
    change(&mut cluster, 1, "1,2,5");
    assert_eq!(members(&cluster, 1), "P1,P2,P5 instead of P1,P2,P3,P4");
    let commits_with = |cluster: &mut TestCluster<RaftReplica>, voter| {
        pass_all(cluster, &[(1, voter), (voter, 1)]);
        commit_index(cluster, 1) >= 2
    };
    assert!(!commits_with(&mut cluster, 2), "two of four, two of three");
    assert!(commits_with(&mut cluster, 3), "three of four");
    assert_eq!(members(&cluster, 1), "P1,P2,P5", "the next step follows at once");
    change(&mut cluster, 1, "1,2");
    assert!(events(&mut cluster).contains(&declined(1, 50, DeclineReason::Changing)));
}

#[test]
fn truncated_change_restores_previous_members() {
    let mut cluster = newcomer(4, &[VariantId::NoPreVote, VariantId::NoCatchUp]);
    change(&mut cluster, 1, "1,2,4");
    cluster.deliver_at((p(1), p(2)), 0);
    assert_eq!(members(&cluster, 2), "P1,P2,P4 instead of P1,P2,P3");
    let entries = of_terms(&[2]);
    let prev = EntryId { index: 1, term: 1 };
    cluster.inject_and_deliver(
        p(3),
        p(2),
        Message::Append { term: 2, prev, entries, commit: 0, round: 0, acked: 0 },
    );
    assert_eq!(members(&cluster, 2), "P1,P2,P3");
}

/// A learner receives the log, but its copy does not count towards a majority (Ongaro's thesis,
/// section 4.2.1). With the variant `counted-learner`, the copy counts.
#[test]
fn learner_has_the_log_without_a_vote() {
    for (switches, counted) in [(&[][..], false), (&[VariantId::CountedLearner], true)] {
        let mut cluster = newcomer(4, switches);
        change(&mut cluster, 1, "1,2,3/4");
        for _ in 0..2 {
            heartbeat(&mut cluster, 1);
        }
        assert_eq!(members(&cluster, 4), "P1,P2,P3 and learning P4");
        events(&mut cluster);
        append(&mut cluster, 1, 1);
        pass_all(&mut cluster, &[(1, 4), (4, 1)]);
        let events = events(&mut cluster);
        let acknowledged = events.iter().any(|(_, it)| matches!(it, Event::Acknowledged { .. }));
        assert_eq!(acknowledged, counted, "{switches:?}");
        cluster.fire_timer(p(4), Timer::Election);
        assert_eq!(cluster.sent_count("request-pre-vote"), 2, "it does not stand");
    }
}

/// A sole voter confirms its leadership alone. It answers the reads that wait for the first commit
/// of its term as soon as that entry is stored, although its learner is down and never responds.
#[test]
fn sole_voter_answers_reads_without_its_learner() {
    fn answers(cluster: &mut TestCluster<RaftReplica>) -> Vec<u64> {
        let ticket = |(_, event)| match event {
            Event::Answered { ticket, .. } => Some(ticket),
            _ => None,
        };
        events(cluster).into_iter().filter_map(ticket).collect()
    }
    for changes_members in [false, true] {
        let initial_members = Members::parse("1/2");
        let config = Config { initial_members, ..config(2, &[VariantId::Ahead]) };
        let mut cluster =
            TestCluster::<RaftReplica>::with_same_config(2, ChannelOrder::Reordered, config);
        cluster.crash(p(2));
        cluster.fire_timer(p(1), Timer::Election);
        for ticket in [1, 2, 3] {
            cluster.issue_command(p(1), Command::Read { ticket });
        }
        assert_eq!(answers(&mut cluster), [0; 0], "no entry of the term is committed");
        if changes_members {
            change(&mut cluster, 1, "1");
        } else {
            cluster.fire_timer(p(1), Timer::Store);
        }
        cluster.issue_command(p(1), Command::Read { ticket: 4 });
        assert_eq!(answers(&mut cluster), [1, 2, 3, 4]);
    }
}

/// The leader P1 removes itself from the group. It leads until the change is committed. Then
/// another member is elected at once, and P1 starts no election (Ongaro's thesis, section 4.2.2).
#[test]
fn removed_leader_leads_until_commit() {
    let mut cluster = newcomer(4, &[]);
    change(&mut cluster, 1, "2,3");
    cluster.deliver_all(&mut SplitMix64(0));
    let events = events(&mut cluster);
    assert!(events.contains(&(1, Event::MembersChanged { ticket: 50, index: 3 })));
    assert!(events.contains(&(1, Event::Following { term: 1, leader: None })));
    let leads = |(_, event): &(u32, Event)| matches!(event, Event::Leading { term: 2 });
    assert!(events.iter().any(leads), "at once");
    cluster.fire_timer(p(1), Timer::Election);
    assert_eq!(cluster.messages_on_link((p(1), p(2))), Vec::<&Message>::new(), "it does not stand");
}

/// P3 is removed from the group but does not learn of this. When its election timer fires, the
/// other processes keep their leader (Ongaro's thesis, section 4.2.3).
#[test]
fn removed_process_disturbs_no_election() {
    let mut cluster = newcomer(4, &[]);
    change(&mut cluster, 1, "1,2");
    lose_all(&mut cluster, 1, 3);
    cluster.deliver_all(&mut SplitMix64(0));
    events(&mut cluster);
    assert_eq!(members(&cluster, 3), "P1,P2,P3");
    fire_and_drain(&mut cluster, 3, Timer::Election);
    assert_eq!(events(&mut cluster), [(3, Event::Following { term: 1, leader: None })]);
}

#[test]
fn change_is_abandoned_if_newcomer_lags() {
    let mut cluster = newcomer(4, &[]);
    cluster.crash(p(4));
    change(&mut cluster, 1, "1,2,3,4");
    for _ in 0..10 {
        heartbeat(&mut cluster, 1);
        cluster.fire_timer(p(1), Timer::Election);
    }
    assert!(events(&mut cluster).contains(&declined(1, 50, DeclineReason::NotCaughtUp)));
    assert_eq!(members(&cluster, 1), "P1,P2,P3");
}

#[test]
fn declines_invalid_members() {
    let mut cluster = newcomer(4, &[]);
    for wrong in ["", "1,9", "1,2/2"] {
        change(&mut cluster, 1, wrong);
        assert_eq!(events(&mut cluster), [declined(1, 50, DeclineReason::NoGroup)]);
    }
}

#[test]
fn snapshot_contains_the_members() {
    for (switches, expected) in [(&[][..], "P1,P2"), (&[VariantId::ForgottenMembers], "P1,P2,P3")] {
        let mut cluster = newcomer(4, switches);
        change(&mut cluster, 1, "1,2");
        cluster.deliver_all(&mut SplitMix64(0));
        events(&mut cluster);
        compact(&mut cluster, 1);
        restart(&mut cluster, 1);
        assert_eq!(members(&cluster, 1), expected, "{switches:?}");
    }
}

#[test]
fn logs_converge_with_changes_crashes_and_snapshots() {
    (0..60).for_each(|seed| check_convergence(seed, &[]));
}

/// Despite losses, duplicates and delays, the leader never concludes that a process has lost
/// entries.
#[test]
fn logs_converge_with_reported_acknowledgements() {
    (0..60).for_each(|seed| check_convergence(seed, &[VariantId::Noticing]));
}

fn check_convergence(seed: u64, switches: &[VariantId]) {
    let mut rng = SplitMix64(seed);
    let mut cluster = newcomer(5, switches);
    for ticket in 1..=60_u64 {
        let at = 1 + u32::try_from(rng.below(5)).expect("a small number");
        match rng.below(8) {
            0 => cluster.fire_timer(p(at), Timer::Election),
            1 => {
                restart(&mut cluster, at);
            }
            2 => compact(&mut cluster, at),
            3 => {
                let voters = [p(1), p(2), p(3), p(4), p(5)].into_iter();
                let voters = voters.filter(|_| !rng.one_in(3)).collect();
                let learners = ProcessSet::new();
                cluster.issue_command(p(at), Command::ChangeMembers { ticket, voters, learners });
            }
            _ => (1..=5).for_each(|at| append(&mut cluster, at, ticket)),
        }
        for link in cluster.links_in_use() {
            match rng.below(6) {
                0 => cluster.lose_oldest(link),
                1 => cluster.duplicate_oldest(link),
                2 => {}
                _ => cluster.deliver(link, &mut rng),
            }
        }
    }
    settle(&mut cluster, &mut rng);
    let leader = (1..=5).find(|at| leads(&cluster, *at));
    let leader = leader.unwrap_or_else(|| panic!("no leader, seed {seed}"));
    let log = |at: u32| cluster.process(p(at)).expect("it is up").log();
    let voters = cluster.process(p(leader)).expect("it is up").members().voters.clone();
    for voter in &voters {
        let log_of_voter = log(voter.display_number());
        assert_eq!(log_of_voter.last(), log(leader).last(), "{voter}, seed {seed}");
        let base = log_of_voter.last_compacted().index.max(log(leader).last_compacted().index);
        for index in base..=log(leader).last().index {
            assert_eq!(log_of_voter.entry_id(index), log(leader).entry_id(index), "seed {seed}");
        }
    }
    let events = events(&mut cluster);
    assert!(!events.iter().any(|it| matches!(it, (_, Event::Forgotten { .. }))), "seed {seed}");
}

pub(super) fn leads(cluster: &TestCluster<RaftReplica>, at: u32) -> bool {
    cluster.armed_timers().contains(&(p(at), Timer::Heartbeat))
}

/// Lets one process after the other start an election, until one leads.
fn settle(cluster: &mut TestCluster<RaftReplica>, rng: &mut SplitMix64) {
    for round in 0..40 {
        cluster.deliver_all(rng);
        for at in 1..=5 {
            if leads(cluster, at) {
                cluster.fire_timer(p(at), Timer::Heartbeat);
            }
        }
        cluster.deliver_all(rng);
        if !(1..=5).any(|at| leads(cluster, at)) || round < 5 {
            cluster.fire_timer(p(1 + round % 5), Timer::Election);
        }
    }
}
