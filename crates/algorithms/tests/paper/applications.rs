//! What a leader is elected for: the claims of the papers, and what a change of leader needs.

use tenure_algorithms::Variants;
use tenure_algorithms::application::led::{self, Led};
use tenure_algorithms::application::{
    Application, Berkeley, PrimaryBackup, SpanningTree, ThreePhaseCommit, TwoPhaseCommit, berkeley,
    primary_backup, spanning_tree, three_phase_commit, two_phase_commit,
};
use tenure_algorithms::election::{Bully, bully};
use tenure_claims::claims;
use tenure_core::service::led::{Command, Event};
use tenure_core::service::{clock, commit, election, replication, tree};
use tenure_core::{Order, ProcessId, Rank, TICKS_PER_UNIT, Term, Verdict};
use tenure_trace::golden;

use crate::support::p;
use tenure_trace::{Seen, Stage};

/// The first process wins, then the second.
fn under<A>(size: u32, application: A) -> led::Config<A, bully::Config> {
    let ranks = (1..=size).rev().map(Rank::of_id).collect();
    let election = bully::Config { ranks, ..bully::Config::plain(size, TICKS_PER_UNIT) };
    led::Config { application, election }
}

/// P1 leads, and everybody knows it.
fn led_by_the_first<A: Application>(size: u32, config: A::Config) -> Stage<Led<A, Bully>> {
    let mut stage = Stage::alike(size, Order::Fifo, under(size, config));
    elect(&mut stage);
    stage
}

fn elect<A: Application>(stage: &mut Stage<Led<A, Bully>>) {
    elect_at(stage, 1);
    stage.take_seen();
}

fn elect_at<A: Application>(stage: &mut Stage<Led<A, Bully>>, at: u32) {
    stage.command(p(at), Command::Election(election::Command::Elect));
    stage.settle();
}

/// What the application has told since this was last asked.
fn told<A: Application>(stage: &mut Stage<Led<A, Bully>>) -> Vec<(u32, A::Event)> {
    let seen = stage.take_seen().into_iter().filter_map(|(at, seen)| match seen {
        Seen::Event(Event::Application(event)) => Some((at.number(), event)),
        _ => None,
    });
    seen.collect()
}

/// P1 dies and everybody notices.
fn leader_dies<A: Application>(stage: &mut Stage<Led<A, Bully>>) {
    stage.crash(p(1));
    for at in 2..=stage.size() {
        stage.suspicion(p(at), p(1), Verdict::Suspect);
    }
    stage.settle();
}

fn term(number: u64, leader: u32) -> Term {
    Term { number, leader: p(leader) }
}

/// The classical example, in minutes.
#[claims("4-berkeley")]
#[test]
fn clocks_at_3_00_3_25_and_2_50_are_adjusted_by_5_minus_20_and_15() {
    let config = under(3, berkeley::Config::default());
    let mut stage = Stage::<Led<Berkeley, Bully>>::alike(3, Order::Fifo, config);
    for (place, to) in [(1, 180), (2, 205), (3, 170)] {
        stage.command(p(place), Command::Application(clock::Command::Set { to }));
    }
    stage.command(p(1), Command::Election(election::Command::Elect));
    stage.settle();
    let adjusted = |by| clock::Event::Adjusted { by, term: term(1, 1) };
    let mut told = told(&mut stage);
    told.sort_by_key(|(at, _)| *at);
    assert_eq!(told, [(1, adjusted(5)), (2, adjusted(-20)), (3, adjusted(15))]);
}

/// Gusella and Zatti: a clock that is too far from the others does not count.
#[test]
fn the_average_is_that_of_the_largest_set_of_clocks_that_agree() {
    let config = under(4, berkeley::Config { tolerance: Some(30), every: None });
    let mut stage = Stage::<Led<Berkeley, Bully>>::alike(4, Order::Fifo, config);
    for (place, to) in [(1, 180), (2, 200), (3, 190), (4, 900)] {
        stage.command(p(place), Command::Application(clock::Command::Set { to }));
    }
    stage.command(p(1), Command::Election(election::Command::Elect));
    stage.settle();
    for at in stage.everybody() {
        stage.command(at, Command::Application(clock::Command::Read));
    }
    let shown = told(&mut stage).into_iter().filter_map(|(at, event)| match event {
        clock::Event::Shows { time } => Some((at, time)),
        clock::Event::Adjusted { .. } => None,
    });
    assert_eq!(shown.collect::<Vec<_>>(), [(1, 190), (2, 190), (3, 190), (4, 190)]);
}

#[test]
fn an_adjustment_of_an_older_term_is_refused_and_answered_by_the_newer() {
    let mut stage = led_by_the_first::<Berkeley>(3, berkeley::Config::default());
    leader_dies(&mut stage);
    told(&mut stage);
    let late = berkeley::Message::Adjust { term: term(1, 1), round: 9, by: 1000 };
    stage.inject(p(1), p(3), led::Either::Application(late));
    assert_eq!(told(&mut stage), []);
    let newer = berkeley::Message::Newer { term: term(2, 2) };
    assert_eq!(stage.queue((p(3), p(1)))[0], &led::Either::Application(newer));
}

fn write(value: u64) -> Command<replication::Command> {
    Command::Application(replication::Command::Write { value })
}

#[claims("4-replication")]
#[test]
fn a_write_takes_an_update_to_each_backup_and_is_acknowledged_when_a_majority_has_it() {
    let mut stage = led_by_the_first::<PrimaryBackup>(5, primary_backup::Config::default());
    let before = stage.total_sent();
    stage.command(p(1), write(7));
    for backup in [2, 3] {
        assert_eq!(told(&mut stage), []);
        stage.pass((p(1), p(backup)), 0);
        stage.pass((p(backup), p(1)), 0);
    }
    let acknowledged = replication::Event::Acknowledged { term: term(1, 1), place: 1, value: 7 };
    assert_eq!(told(&mut stage), [(1, acknowledged)]);
    stage.settle();
    assert_eq!(stage.total_sent() - before, 2 * 4);
    assert_eq!(told(&mut stage), []);
}

#[test]
fn whoever_does_not_serve_refuses_and_says_who_may() {
    let mut stage = led_by_the_first::<PrimaryBackup>(3, primary_backup::Config::default());
    stage.command(p(2), write(7));
    let refused = replication::Event::Refused { leader: Some(p(1)) };
    assert_eq!(told(&mut stage), [(2, refused)]);
}

#[claims("4-replication")]
#[test]
fn a_new_primary_serves_what_was_acknowledged_though_it_had_not_heard_of_it() {
    let mut stage = led_by_the_first::<PrimaryBackup>(3, primary_backup::Config::default());
    stage.command(p(1), write(7));
    stage.pass((p(1), p(3)), 0);
    stage.pass((p(3), p(1)), 0);
    assert_eq!(told(&mut stage).len(), 1, "P1 and P3 are a majority");
    stage.lose((p(1), p(2)));
    leader_dies(&mut stage);
    let serving = replication::Event::Serving { term: term(2, 2), writes: vec![7] };
    assert_eq!(told(&mut stage), [(2, serving)]);
}

#[test]
fn without_a_majority_nobody_serves() {
    let mut stage = led_by_the_first::<PrimaryBackup>(3, primary_backup::Config::default());
    stage.crash(p(3));
    stage.crash(p(1));
    for dead in [1, 3] {
        stage.suspicion(p(2), p(dead), Verdict::Suspect);
    }
    stage.settle();
    stage.command(p(2), write(7));
    let refused = replication::Event::Refused { leader: Some(p(2)) };
    assert_eq!(told(&mut stage), [(2, refused)]);
    stage.recover(p(3));
    stage.settle();
    stage.suspicion(p(2), p(3), Verdict::Trust);
    stage.settle();
    stage.command(p(2), write(8));
    stage.settle();
    let told = told(&mut stage);
    let acknowledged = |event: &replication::Event| {
        matches!(event, replication::Event::Acknowledged { value: 8, .. })
    };
    assert!(told.iter().any(|(at, event)| *at == 2 && acknowledged(event)), "{told:?}");
}

const BEGIN: Command<commit::Command> = Command::Application(commit::Command::Begin);
const VETO: Command<commit::Command> = Command::Application(commit::Command::Veto);

fn decisions<A>(stage: &mut Stage<Led<A, Bully>>) -> Vec<(u32, bool)>
where
    A: Application<Event = commit::Event>,
{
    let mut decisions: Vec<_> = told(stage)
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

#[claims("4-commit")]
#[test]
fn a_transaction_takes_3p_messages_and_p_acknowledgements() {
    let mut stage = led_by_the_first::<TwoPhaseCommit>(5, two_phase_commit::Config::default());
    stage.command(p(1), BEGIN);
    stage.settle();
    assert_eq!(decisions(&mut stage), [1, 2, 3, 4, 5].map(|at| (at, true)));
    let kinds = ["prepare", "vote", "decision", "acknowledgement"];
    assert_eq!(kinds.map(|kind| stage.sent_of(kind)), [4; 4]);
}

#[claims("4-commit")]
#[test]
fn one_no_aborts_it_for_all_and_one_who_is_suspected_is_a_no() {
    let mut stage = led_by_the_first::<TwoPhaseCommit>(4, two_phase_commit::Config::default());
    stage.command(p(3), VETO);
    stage.command(p(1), BEGIN);
    stage.settle();
    assert_eq!(decisions(&mut stage), [1, 2, 3, 4].map(|at| (at, false)));
    let mut stage = led_by_the_first::<TwoPhaseCommit>(4, two_phase_commit::Config::default());
    stage.command(p(1), BEGIN);
    stage.pass((p(1), p(2)), 0);
    stage.suspicion(p(1), p(3), Verdict::Suspect);
    stage.settle();
    assert_eq!(decisions(&mut stage), [1, 2, 3, 4].map(|at| (at, false)));
}

/// Bernstein, Hadzilacos and Goodman: whoever knows the decision, or has not voted, ends the wait
/// of the others; where all have voted yes, nothing does but the coordinator.
#[claims("4-commit")]
#[test]
fn a_new_leader_asks_whether_anybody_knows_or_has_not_voted() {
    type Votes<'a> = (&'a [u32], &'a [u32], &'a [(u32, bool)]);
    let cases: [Votes<'_>; 3] = [
        (&[2], &[], &[(2, false)]),
        (&[2, 3], &[], &[]),
        (&[2, 3], &[3], &[(1, true), (2, true), (3, true)]),
    ];
    for (voted, decided, expected) in cases {
        let mut stage = led_by_the_first::<TwoPhaseCommit>(3, two_phase_commit::Config::default());
        stage.command(p(1), BEGIN);
        for at in voted {
            stage.pass((p(1), p(*at)), 0);
        }
        if !decided.is_empty() {
            voted.iter().for_each(|at| stage.pass((p(*at), p(1)), 0));
        }
        decided.iter().for_each(|at| stage.pass((p(1), p(*at)), 0));
        for at in 2..=3 {
            while !stage.queue((p(1), p(at))).is_empty() {
                stage.lose((p(1), p(at)));
            }
        }
        leader_dies(&mut stage);
        assert_eq!(decisions(&mut stage), expected, "{voted:?} voted, {decided:?} was told");
    }
}

#[claims("4-commit")]
#[test]
fn a_coordinator_that_is_back_decides_by_its_log() {
    for has_votes in [false, true] {
        let mut stage = led_by_the_first::<TwoPhaseCommit>(3, two_phase_commit::Config::default());
        stage.command(p(1), BEGIN);
        for at in [2, 3] {
            stage.pass((p(1), p(at)), 0);
            if has_votes {
                stage.pass((p(at), p(1)), 0);
            }
        }
        for at in 2..=3 {
            while !stage.queue((p(1), p(at))).is_empty() {
                stage.lose((p(1), p(at)));
            }
        }
        leader_dies(&mut stage);
        stage.recover(p(1));
        for at in [2, 3] {
            stage.suspicion(p(at), p(1), Verdict::Trust);
        }
        stage.settle();
        assert_eq!(decisions(&mut stage), [1, 2, 3].map(|at| (at, has_votes)));
    }
}

#[claims("4-third-phase")]
#[test]
fn a_third_phase_takes_two_messages_more_a_participant() {
    let mut stage = led_by_the_first::<ThreePhaseCommit>(5, three_phase_commit::Config::default());
    stage.command(p(1), BEGIN);
    stage.settle();
    assert_eq!(decisions(&mut stage), [1, 2, 3, 4, 5].map(|at| (at, true)));
    let kinds = ["prepare", "vote", "ready", "told", "decision", "acknowledgement"];
    assert_eq!(kinds.map(|kind| stage.sent_of(kind)), [4; 6]);
}

/// Skeen: whoever is ready when the coordinator dies has all commit; if nobody is, all abort. In
/// two phases all of these would be blocked.
#[test]
fn a_new_leader_decides_by_those_who_are_up() {
    for (ready, commits) in [(vec![], false), (vec![2], true), (vec![3], true), (vec![2, 3], true)]
    {
        let config = three_phase_commit::Config::default();
        let mut stage = led_by_the_first::<ThreePhaseCommit>(3, config);
        stage.command(p(1), BEGIN);
        for at in [2, 3] {
            stage.pass((p(1), p(at)), 0);
            stage.pass((p(at), p(1)), 0);
        }
        for at in [2, 3] {
            if ready.contains(&at) {
                stage.pass((p(1), p(at)), 0);
            } else {
                stage.lose((p(1), p(at)));
            }
        }
        leader_dies(&mut stage);
        assert_eq!(decisions(&mut stage), [2, 3].map(|at| (at, commits)), "{ready:?}");
    }
}

/// P2 is ready and crashes, P3 is left, aborts and crashes; P2 comes back, alone.
#[test]
fn whoever_comes_back_does_not_decide_what_may_have_been_decided_without_it() {
    use three_phase_commit::Switch::ReturnedCount;
    for (variants, decided) in
        [(Variants::none(), vec![]), (Variants::none().with(ReturnedCount), vec![(2, true)])]
    {
        let config = three_phase_commit::Config { variants };
        let mut stage = led_by_the_first::<ThreePhaseCommit>(3, config);
        stage.command(p(1), BEGIN);
        for at in [2, 3] {
            stage.pass((p(1), p(at)), 0);
            stage.pass((p(at), p(1)), 0);
        }
        stage.pass((p(1), p(2)), 0);
        stage.lose((p(1), p(3)));
        stage.crash(p(1));
        stage.crash(p(2));
        [1, 2].into_iter().for_each(|gone| stage.suspicion(p(3), p(gone), Verdict::Suspect));
        stage.settle();
        assert_eq!(decisions(&mut stage), [(3, false)]);
        stage.crash(p(3));
        stage.recover(p(2));
        [1, 3].into_iter().for_each(|gone| stage.suspicion(p(2), p(gone), Verdict::Suspect));
        elect_at(&mut stage, 2);
        assert_eq!(decisions(&mut stage), decided);
    }
}

#[claims("4-tree")]
#[test]
fn the_first_who_explores_is_the_parent_and_the_root_hears_of_all() {
    // A square with a diagonal: E = 5, N = 4.
    let edges = [(1, 2), (2, 3), (3, 4), (4, 1), (1, 3)].map(|(one, other)| (p(one), p(other)));
    let config = spanning_tree::Config::of(4, edges);
    let mut stage = Stage::<Led<SpanningTree, Bully>>::alike(4, Order::Fifo, under(4, config));
    stage.command(p(1), Command::Election(election::Command::Elect));
    stage.settle();
    assert_eq!((stage.sent_of("explore"), stage.sent_of("echo")), (2 * 5 - 3, 3));
    let wave = tree::Wave { term: term(1, 1), number: 1 };
    let told = told(&mut stage);
    assert!(told.contains(&(1, tree::Event::Completed { wave, size: 4 })), "{told:?}");
    let joined = |(at, event): &(u32, tree::Event)| match event {
        tree::Event::Joined { parent, .. } => Some((*at, *parent)),
        tree::Event::Completed { .. } => None,
    };
    let joined: Vec<(u32, Option<ProcessId>)> = told.iter().filter_map(joined).collect();
    assert_eq!(joined.len(), 4);
    assert_eq!(joined.iter().filter(|(_, parent)| parent.is_none()).count(), 1);
}

#[test]
fn the_golden_stories_of_clocks_end_as_they_are_written() {
    let config = berkeley::Config::default();
    golden::<Led<Berkeley, Bully>>("tests/golden/led_berkeley", |it| under(it.size(), config));
}

#[test]
fn the_golden_stories_of_a_primary_end_as_they_are_written() {
    let config = primary_backup::Config { variants: Variants::none() };
    let folder = "tests/golden/led_primary_backup";
    golden::<Led<PrimaryBackup, Bully>>(folder, |it| under(it.size(), config));
}

#[test]
fn the_golden_stories_of_transactions_end_as_they_are_written() {
    let config = two_phase_commit::Config::default();
    let folder = "tests/golden/led_two_phase_commit";
    golden::<Led<TwoPhaseCommit, Bully>>(folder, |it| under(it.size(), config));
}

#[test]
fn the_golden_stories_of_transactions_in_three_phases_end_as_they_are_written() {
    let config = three_phase_commit::Config::default();
    let folder = "tests/golden/led_three_phase_commit";
    golden::<Led<ThreePhaseCommit, Bully>>(folder, |it| under(it.size(), config));
}

/// A square with a diagonal.
#[test]
fn the_golden_stories_of_a_tree_end_as_they_are_written() {
    let edges = [(1, 2), (2, 3), (3, 4), (4, 1), (1, 3)].map(|(one, other)| (p(one), p(other)));
    let config = spanning_tree::Config::of(4, edges);
    let folder = "tests/golden/led_spanning_tree";
    golden::<Led<SpanningTree, Bully>>(folder, |it| under(it.size(), config.clone()));
}
