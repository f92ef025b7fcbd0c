//! Applications of leader election: claims of the papers, and changes of leader.

use tenure_algorithms::Variants;
use tenure_algorithms::application::with_election::{self, WithElection};
use tenure_algorithms::application::{
    Application, Berkeley, PrimaryBackup, SpanningTree, ThreePhaseCommit, TwoPhaseCommit, berkeley,
    primary_backup, spanning_tree, three_phase_commit, two_phase_commit,
};
use tenure_algorithms::election::{Bully, bully};
use tenure_core::service::with_election::{Command, Event};
use tenure_core::service::{clock_synchronisation, commit, election, leader_tree, replicated_list};
use tenure_core::{ChannelOrder, PeerVerdict, ProcessId, Rank, TICKS_PER_TIME_UNIT, Term};
use tenure_trace::run_golden_scripts;

use crate::support::{
    command_and_settle, crash_and_suspect, lose_all, p, pass_all, recover_and_trust,
};
use tenure_trace::{ProcessEvent, ServiceCommand, TestCluster};

/// Returns a configuration in which the process with the smallest id leads. P1 leads first, and P2
/// leads after a crash of P1.
fn with_bully<A>(size: u32, application: A) -> with_election::Config<A, bully::Config> {
    let ranks = (1..=size).rev().map(Rank::from_id).collect();
    let election =
        bully::Config { ranks, ..bully::Config::with_defaults(size, TICKS_PER_TIME_UNIT) };
    with_election::Config { application, election }
}

fn led_by_first<A: Application>(
    size: u32,
    config: A::Config,
) -> TestCluster<WithElection<A, Bully>> {
    let mut cluster =
        TestCluster::with_same_config(size, ChannelOrder::Fifo, with_bully(size, config));
    elect(&mut cluster);
    cluster
}

fn elect<A: Application>(cluster: &mut TestCluster<WithElection<A, Bully>>) {
    elect_at(cluster, 1);
    cluster.take_events();
}

fn elect_at<A: Application>(cluster: &mut TestCluster<WithElection<A, Bully>>, at: u32) {
    command_and_settle(cluster, at, Command::Election(election::Command::Elect));
}

fn events<A: Application>(
    cluster: &mut TestCluster<WithElection<A, Bully>>,
) -> Vec<(u32, A::Event)> {
    let seen = cluster.take_events().into_iter().filter_map(|(at, seen)| match seen {
        ProcessEvent::Event(Event::Application(event)) => Some((at.display_number(), event)),
        _ => None,
    });
    seen.collect()
}

/// Crashes P1, the leader, and lets all other processes suspect it.
fn crash_leader<A: Application>(cluster: &mut TestCluster<WithElection<A, Bully>>) {
    crash_and_suspect(cluster, 1);
    cluster.run_until_quiescent();
}

fn term(number: u64, leader: u32) -> Term {
    Term { number, leader: p(leader) }
}

/// Runs the example of the Berkeley algorithm that textbooks give. The clocks show 180, 205 and 170
/// minutes, and are adjusted to their average.
#[test]
fn adjusts_clocks_of_textbook_example() {
    let config = with_bully(3, berkeley::Config::default());
    let mut cluster = TestCluster::<WithElection<Berkeley, Bully>>::with_same_config(
        3,
        ChannelOrder::Fifo,
        config,
    );
    for (place, to) in [(1, 180), (2, 205), (3, 170)] {
        cluster.issue_command(
            p(place),
            Command::Application(clock_synchronisation::Command::Set { to }),
        );
    }
    elect_at(&mut cluster, 1);
    let adjusted = |by| clock_synchronisation::Event::Adjusted { by, term: term(1, 1) };
    let mut events = events(&mut cluster);
    events.sort_by_key(|(at, _)| *at);
    assert_eq!(events, [(1, adjusted(5)), (2, adjusted(-20)), (3, adjusted(15))]);
}

/// Gusella and Zatti: the average does not include a clock that differs too much from the others.
#[test]
fn averages_largest_set_of_agreeing_clocks() {
    let config = with_bully(4, berkeley::Config { tolerance: Some(30), round_interval: None });
    let mut cluster = TestCluster::<WithElection<Berkeley, Bully>>::with_same_config(
        4,
        ChannelOrder::Fifo,
        config,
    );
    for (place, to) in [(1, 180), (2, 200), (3, 190), (4, 900)] {
        cluster.issue_command(
            p(place),
            Command::Application(clock_synchronisation::Command::Set { to }),
        );
    }
    elect_at(&mut cluster, 1);
    for at in cluster.process_ids() {
        cluster.issue_command(at, Command::Application(clock_synchronisation::Command::Read));
    }
    let shown = events(&mut cluster).into_iter().filter_map(|(at, event)| match event {
        clock_synchronisation::Event::Shows { time } => Some((at, time)),
        clock_synchronisation::Event::Adjusted { .. } => None,
    });
    assert_eq!(shown.collect::<Vec<_>>(), [(1, 190), (2, 190), (3, 190), (4, 190)]);
}

#[test]
fn rejects_adjustment_of_older_term() {
    let mut cluster = led_by_first::<Berkeley>(3, berkeley::Config::default());
    crash_leader(&mut cluster);
    events(&mut cluster);
    let late = berkeley::Message::Adjust { term: term(1, 1), round: 9, by: 1000 };
    cluster.inject_and_deliver(p(1), p(3), with_election::ApplicationOrElection::Application(late));
    assert_eq!(events(&mut cluster), []);
    let newer = berkeley::Message::Newer { term: term(2, 2) };
    assert_eq!(
        cluster.messages_on_link((p(3), p(1)))[0],
        &with_election::ApplicationOrElection::Application(newer)
    );
}

fn write(value: u64) -> Command<replicated_list::Command> {
    Command::Application(replicated_list::Command::Write { value })
}

#[test]
fn acknowledges_write_stored_by_majority() {
    let mut cluster = led_by_first::<PrimaryBackup>(5, primary_backup::Config::default());
    let before = cluster.total_sent();
    cluster.issue_command(p(1), write(7));
    for backup in [2, 3] {
        assert_eq!(events(&mut cluster), []);
        pass_all(&mut cluster, &[(1, backup), (backup, 1)]);
    }
    let acknowledged =
        replicated_list::Event::Acknowledged { term: term(1, 1), place: 1, value: 7 };
    assert_eq!(events(&mut cluster), [(1, acknowledged)]);
    cluster.run_until_quiescent();
    assert_eq!(cluster.total_sent() - before, 2 * 4);
    assert_eq!(events(&mut cluster), []);
}

#[test]
fn non_primary_refuses_and_names_primary() {
    let mut cluster = led_by_first::<PrimaryBackup>(3, primary_backup::Config::default());
    cluster.issue_command(p(2), write(7));
    let refused = replicated_list::Event::Refused { leader: Some(p(1)) };
    assert_eq!(events(&mut cluster), [(2, refused)]);
}

#[test]
fn new_primary_serves_acknowledged_writes_it_missed() {
    let mut cluster = led_by_first::<PrimaryBackup>(3, primary_backup::Config::default());
    cluster.issue_command(p(1), write(7));
    pass_all(&mut cluster, &[(1, 3), (3, 1)]);
    assert_eq!(events(&mut cluster).len(), 1, "P1 and P3 are a majority");
    cluster.lose_oldest((p(1), p(2)));
    crash_leader(&mut cluster);
    let serving = replicated_list::Event::Serving { term: term(2, 2), writes: vec![7] };
    assert_eq!(events(&mut cluster), [(2, serving)]);
}

#[test]
fn stops_without_majority() {
    let mut cluster = led_by_first::<PrimaryBackup>(3, primary_backup::Config::default());
    cluster.crash(p(3));
    cluster.crash(p(1));
    for dead in [1, 3] {
        cluster.report_suspicion(p(2), p(dead), PeerVerdict::Suspect);
    }
    cluster.run_until_quiescent();
    cluster.issue_command(p(2), write(7));
    let refused = replicated_list::Event::Refused { leader: Some(p(2)) };
    assert_eq!(events(&mut cluster), [(2, refused)]);
    cluster.recover(p(3));
    cluster.run_until_quiescent();
    cluster.report_suspicion(p(2), p(3), PeerVerdict::Trust);
    cluster.run_until_quiescent();
    command_and_settle(&mut cluster, 2, write(8));
    let events = events(&mut cluster);
    let acknowledged = |event: &replicated_list::Event| {
        matches!(event, replicated_list::Event::Acknowledged { value: 8, .. })
    };
    assert!(events.iter().any(|(at, event)| *at == 2 && acknowledged(event)), "{events:?}");
}

const BEGIN: Command<commit::Command> = Command::Application(commit::Command::Begin);
const VETO: Command<commit::Command> = Command::Application(commit::Command::Veto);

fn decisions<A>(cluster: &mut TestCluster<WithElection<A, Bully>>) -> Vec<(u32, bool)>
where
    A: Application<Event = commit::Event>,
{
    let mut decisions: Vec<_> = events(cluster)
        .into_iter()
        .filter_map(|(at, event)| match event {
            commit::Event::Committed { .. } => Some((at, true)),
            commit::Event::Aborted { .. } => Some((at, false)),
            commit::Event::Prepared { .. } | commit::Event::Refused => None,
        })
        .collect();
    decisions.sort_unstable();
    decisions
}

#[test]
fn transaction_costs_three_messages_and_an_acknowledgement() {
    let mut cluster = led_by_first::<TwoPhaseCommit>(5, two_phase_commit::Config::default());
    command_and_settle(&mut cluster, 1, BEGIN);
    assert_eq!(decisions(&mut cluster), [1, 2, 3, 4, 5].map(|at| (at, true)));
    let kinds = ["prepare", "vote", "decision", "acknowledgement"];
    assert_eq!(kinds.map(|kind| cluster.sent_count(kind)), [4; 4]);
}

#[test]
fn one_no_or_suspicion_aborts_for_all() {
    let mut cluster = led_by_first::<TwoPhaseCommit>(4, two_phase_commit::Config::default());
    cluster.issue_command(p(3), VETO);
    command_and_settle(&mut cluster, 1, BEGIN);
    assert_eq!(decisions(&mut cluster), [1, 2, 3, 4].map(|at| (at, false)));
    let mut cluster = led_by_first::<TwoPhaseCommit>(4, two_phase_commit::Config::default());
    cluster.issue_command(p(1), BEGIN);
    cluster.deliver_at((p(1), p(2)), 0);
    cluster.report_suspicion(p(1), p(3), PeerVerdict::Suspect);
    cluster.run_until_quiescent();
    assert_eq!(decisions(&mut cluster), [1, 2, 3, 4].map(|at| (at, false)));
}

/// Bernstein, Hadzilacos and Goodman: after a crash of the coordinator, a process that knows the
/// decision or has not voted ends the wait of the others. If all live processes have voted yes and
/// none of them knows the decision, they must wait until the coordinator recovers.
#[test]
fn new_leader_asks_for_decision_or_missing_vote() {
    type Votes<'a> = (&'a [u32], &'a [u32], &'a [(u32, bool)]);
    let cases: [Votes<'_>; 3] = [
        (&[2], &[], &[(2, false)]),
        (&[2, 3], &[], &[]),
        (&[2, 3], &[3], &[(1, true), (2, true), (3, true)]),
    ];
    for (voted, decided, expected) in cases {
        let mut cluster = led_by_first::<TwoPhaseCommit>(3, two_phase_commit::Config::default());
        cluster.issue_command(p(1), BEGIN);
        for at in voted {
            cluster.deliver_at((p(1), p(*at)), 0);
        }
        if !decided.is_empty() {
            voted.iter().for_each(|at| cluster.deliver_at((p(*at), p(1)), 0));
        }
        decided.iter().for_each(|at| cluster.deliver_at((p(1), p(*at)), 0));
        for at in 2..=3 {
            lose_all(&mut cluster, 1, at);
        }
        crash_leader(&mut cluster);
        assert_eq!(decisions(&mut cluster), expected, "{voted:?} voted, {decided:?} knew");
    }
}

#[test]
fn restarted_coordinator_decides_by_its_log() {
    for has_votes in [false, true] {
        let mut cluster = led_by_first::<TwoPhaseCommit>(3, two_phase_commit::Config::default());
        cluster.issue_command(p(1), BEGIN);
        for at in [2, 3] {
            cluster.deliver_at((p(1), p(at)), 0);
            if has_votes {
                cluster.deliver_at((p(at), p(1)), 0);
            }
        }
        for at in 2..=3 {
            lose_all(&mut cluster, 1, at);
        }
        crash_leader(&mut cluster);
        recover_and_trust(&mut cluster, 1);
        cluster.run_until_quiescent();
        assert_eq!(decisions(&mut cluster), [1, 2, 3].map(|at| (at, has_votes)));
    }
}

#[test]
fn third_phase_costs_two_more_messages_per_participant() {
    let mut cluster = led_by_first::<ThreePhaseCommit>(5, three_phase_commit::Config::default());
    command_and_settle(&mut cluster, 1, BEGIN);
    assert_eq!(decisions(&mut cluster), [1, 2, 3, 4, 5].map(|at| (at, true)));
    let kinds = ["prepare", "vote", "ready", "told", "decision", "acknowledgement"];
    assert_eq!(kinds.map(|kind| cluster.sent_count(kind)), [4; 6]);
}

/// After the coordinator has crashed, the new leader decides by the states of the live participants
/// (Skeen). If a live participant knew that all participants had voted yes (*ready*), all commit.
/// If no live participant knew this, all abort. Two-phase commit would block here.
#[test]
fn new_leader_decides_by_live_participants() {
    for (ready, commits) in [(vec![], false), (vec![2], true), (vec![3], true), (vec![2, 3], true)]
    {
        let config = three_phase_commit::Config::default();
        let mut cluster = led_by_first::<ThreePhaseCommit>(3, config);
        cluster.issue_command(p(1), BEGIN);
        for at in [2, 3] {
            pass_all(&mut cluster, &[(1, at), (at, 1)]);
        }
        for at in [2, 3] {
            if ready.contains(&at) {
                cluster.deliver_at((p(1), p(at)), 0);
            } else {
                cluster.lose_oldest((p(1), p(at)));
            }
        }
        crash_leader(&mut cluster);
        assert_eq!(decisions(&mut cluster), [2, 3].map(|at| (at, commits)), "{ready:?}");
    }
}

/// P2 knows that all have voted yes (*ready*), and crashes. P3 lacks this knowledge, so it aborts,
/// and crashes. When P2 restarts alone, it must not decide, because another process may have
/// decided.
#[test]
fn restarted_process_does_not_decide_alone() {
    use three_phase_commit::VariantId::ReturnedCount;
    for (variants, decided) in
        [(Variants::none(), vec![]), (Variants::none().with(ReturnedCount), vec![(2, true)])]
    {
        let mut cluster = led_by_first::<ThreePhaseCommit>(3, variants);
        cluster.issue_command(p(1), BEGIN);
        for at in [2, 3] {
            pass_all(&mut cluster, &[(1, at), (at, 1)]);
        }
        cluster.deliver_at((p(1), p(2)), 0);
        cluster.lose_oldest((p(1), p(3)));
        cluster.crash(p(1));
        cluster.crash(p(2));
        [1, 2]
            .into_iter()
            .for_each(|gone| cluster.report_suspicion(p(3), p(gone), PeerVerdict::Suspect));
        cluster.run_until_quiescent();
        assert_eq!(decisions(&mut cluster), [(3, false)]);
        cluster.crash(p(3));
        cluster.recover(p(2));
        [1, 3]
            .into_iter()
            .for_each(|gone| cluster.report_suspicion(p(2), p(gone), PeerVerdict::Suspect));
        elect_at(&mut cluster, 2);
        assert_eq!(decisions(&mut cluster), decided);
    }
}

fn square_with_diagonal() -> spanning_tree::Config {
    let edges = [(1, 2), (2, 3), (3, 4), (4, 1), (1, 3)].map(|(one, other)| (p(one), p(other)));
    spanning_tree::Config::with_edges_and_echoes(4, edges)
}

#[test]
fn first_explorer_becomes_parent_and_root_completes() {
    let config = with_bully(4, square_with_diagonal());
    let mut cluster = TestCluster::<WithElection<SpanningTree, Bully>>::with_same_config(
        4,
        ChannelOrder::Fifo,
        config,
    );
    elect_at(&mut cluster, 1);
    assert_eq!((cluster.sent_count("explore"), cluster.sent_count("echo")), (2 * 5 - 3, 3));
    let wave = leader_tree::WaveId { term: term(1, 1), number: 1 };
    let events = events(&mut cluster);
    assert!(events.contains(&(1, leader_tree::Event::Completed { wave, size: 4 })), "{events:?}");
    let joined = |(at, event): &(u32, leader_tree::Event)| match event {
        leader_tree::Event::Joined { parent, .. } => Some((*at, *parent)),
        leader_tree::Event::Completed { .. } => None,
    };
    let joined: Vec<(u32, Option<ProcessId>)> = events.iter().filter_map(joined).collect();
    assert_eq!(joined.len(), 4);
    assert_eq!(joined.iter().filter(|(_, parent)| parent.is_none()).count(), 1);
}

/// On the path P1 – P2 – P3, P3 recovers. The leader P1 trusts P3 first, and starts a wave from
/// which P2 still excludes P3. When P2 trusts P3 as well, another wave adds P3 to the tree.
#[test]
fn process_that_a_neighbour_trusts_again_joins_the_tree() {
    let edges = [(p(1), p(2)), (p(2), p(3))];
    let path = spanning_tree::Config::with_edges_and_echoes(3, edges);
    let mut cluster = led_by_first::<SpanningTree>(3, path);
    let settled_size = |cluster: &mut TestCluster<WithElection<SpanningTree, Bully>>| {
        cluster.run_until_quiescent();
        let mut sizes = events(cluster).into_iter().filter_map(|(_, event)| match event {
            leader_tree::Event::Completed { size, .. } => Some(size),
            leader_tree::Event::Joined { .. } => None,
        });
        sizes.next_back()
    };
    crash_and_suspect(&mut cluster, 3);
    assert_eq!(settled_size(&mut cluster), Some(2));
    cluster.recover(p(3));
    cluster.report_suspicion(p(1), p(3), PeerVerdict::Trust);
    assert_eq!(settled_size(&mut cluster), Some(2), "P2 still suspects P3");
    cluster.report_suspicion(p(2), p(3), PeerVerdict::Trust);
    assert_eq!(settled_size(&mut cluster), Some(3));
}

fn check_stories<A: Application<Command: ServiceCommand>>(folder: &str, config: A::Config) {
    run_golden_scripts::<WithElection<A, Bully>>(format!("golden/{folder}"), |group| {
        with_bully(group.size(), config.clone())
    });
}

#[test]
fn golden_stories_of_clocks() {
    check_stories::<Berkeley>("led_berkeley", berkeley::Config::default());
}

#[test]
fn golden_stories_of_a_primary() {
    check_stories::<PrimaryBackup>("led_primary_backup", primary_backup::Config::default());
}

#[test]
fn golden_stories_of_transactions() {
    check_stories::<TwoPhaseCommit>("led_two_phase_commit", two_phase_commit::Config::default());
}

#[test]
fn golden_stories_of_three_phase_transactions() {
    let config = three_phase_commit::Config::default();
    check_stories::<ThreePhaseCommit>("led_three_phase_commit", config);
}

#[test]
fn golden_stories_of_a_tree() {
    check_stories::<SpanningTree>("led_spanning_tree", square_with_diagonal());
}
