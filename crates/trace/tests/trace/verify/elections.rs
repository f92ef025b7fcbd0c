use tenure_core::service::election;
use tenure_core::{PeerVerdict, ProcessId, Property, Term};
use tenure_trace::{ElectionCause, Judgement, RecordKind, RecordSubject, Service};

use super::story::Story;

fn group() -> Story {
    Story::of(Service::Election)
}

const ONE: &str = "one-leader-at-a-time holds, one-leader-per-term holds";
const TWO_IN_A_TERM: &str = "one-leader-at-a-time violated, one-leader-per-term violated";
const TWO_IN_TWO_TERMS: &str = "one-leader-at-a-time violated, one-leader-per-term holds";

/// Returns the cause, the number of the leader, the start and the duration of each election.
fn held(story: &Story) -> Vec<(ElectionCause, u32, f64, f64)> {
    let elections = story.verified().elections;
    elections.iter().map(|held| (held.cause, held.leader, held.at, held.ms)).collect()
}

#[test]
fn accepts_single_known_leader() {
    let story = group().all_elect(3, 1).ends();
    assert_eq!(story.verdicts(), format!("agreement holds, {ONE}"));
}

#[test]
fn finds_two_leaders_in_a_term() {
    let story = group().elects(3, 3, 1).elects(2, 2, 1);
    assert_eq!(story.verdicts(), format!("agreement incomplete, {TWO_IN_A_TERM}"));
}

#[test]
fn leaders_of_different_terms_may_overlap() {
    let story = group().elects(3, 3, 1).elects(2, 2, 2).all_elect(2, 2).ends();
    assert_eq!(story.verdicts(), format!("agreement holds, {TWO_IN_TWO_TERMS}"));
    assert_eq!(story.verified().verdict, Judgement::Holds, "the property is not promised");
}

#[test]
fn finds_decreasing_term() {
    let story = group().elects(1, 3, 2).elects(1, 3, 1);
    assert_eq!(story.verdicts(), format!("agreement violated, {ONE}"));
}

#[test]
fn finds_final_disagreement_only_with_end_record() {
    let story = || group().elects(1, 3, 1).elects(2, 3, 1).elects(3, 3, 1).elects(2, 1, 2);
    let violated = format!("agreement violated, {ONE}");
    assert_eq!(story().ends().verdicts(), violated);
    let incomplete = format!("agreement incomplete, {ONE}");
    assert_eq!(story().verdicts(), incomplete);
}

#[test]
fn real_group_has_time_to_agree_again() {
    let story = || Story::real(Service::Election).all_elect(3, 1).at(3, RecordKind::Crash);
    let verdict = |story: Story| story.ends().verdicts().split(',').next().unwrap().to_owned();
    assert_eq!(verdict(story().wait(100)), "agreement incomplete");
    assert_eq!(verdict(story().wait(5_000)), "agreement violated");
    let suspects = RecordKind::Suspicion { peer: ProcessId(2), verdict: PeerVerdict::Suspect };
    assert_eq!(verdict(story().wait(5_000).at(1, suspects)), "agreement incomplete");
    let stopped = story().at(1, RecordKind::Stop).wait(5_000);
    assert_eq!(verdict(stopped), "agreement incomplete");
}

#[test]
fn records_after_end_are_not_the_final_state() {
    let story = group()
        .all_elect(3, 1)
        .ends()
        .at(3, RecordKind::End)
        .at(2, RecordKind::End)
        .elects(1, 1, 2);
    assert_eq!(story.verdicts(), format!("agreement holds, {ONE}"));
    assert_eq!(held(&story).len(), 1);
}

#[test]
fn election_lasts_from_crash_until_all_live_know() {
    let story = group().all_elect(3, 1).wait(10).at(3, RecordKind::Crash).wait(4);
    let story = story.elects(2, 2, 2).wait(2).elects(1, 2, 2).ends();
    assert_eq!(
        held(&story),
        [(ElectionCause::Start, 3, 0.0, 2.0), (ElectionCause::Crash, 2, 13.0, 8.0)]
    );
}

#[test]
fn election_ignores_crashed_and_stopped_processes() {
    let story = group().all_elect(3, 1).at(3, RecordKind::Crash).elects(2, 2, 2);
    let stopped = story.at(1, RecordKind::Stop);
    assert_eq!(held(&stopped)[1], (ElectionCause::Crash, 2, 3.0, 2.0));
    let story =
        group().all_elect(3, 1).at(3, RecordKind::Crash).elects(2, 2, 2).at(1, RecordKind::Crash);
    assert_eq!(held(&story)[1], (ElectionCause::Crash, 2, 3.0, 2.0));
}

#[test]
fn early_leader_crash_does_not_end_election() {
    let story =
        group().all_elect(3, 1).at(3, RecordKind::Crash).elects(2, 2, 2).at(2, RecordKind::Crash);
    assert_eq!(held(&story).len(), 1);
    let story = story.elects(1, 1, 3);
    assert_eq!(held(&story)[1], (ElectionCause::Crash, 1, 3.0, 3.0));
}

#[test]
fn follower_crash_needs_no_election() {
    let story =
        group().all_elect(3, 1).at(1, RecordKind::Crash).at(1, RecordKind::Recover).elects(1, 3, 1);
    assert_eq!(held(&story).len(), 1);
}

#[test]
fn takeover_is_measured_from_return_of_leader() {
    let story = group().all_elect(3, 1).at(3, RecordKind::Crash).elects(1, 2, 2).elects(2, 2, 2);
    let story = story.wait(10).at(3, RecordKind::Recover).all_elect(3, 3);
    assert_eq!(held(&story)[2], (ElectionCause::Takeover, 3, 16.0, 3.0));
}

#[test]
fn reelection_of_crashed_leader_counts() {
    let story =
        group().all_elect(3, 0).at(3, RecordKind::Crash).at(3, RecordKind::Recover).all_elect(3, 0);
    assert_eq!(held(&story)[1], (ElectionCause::Crash, 3, 3.0, 4.0));
}

#[test]
fn followers_must_relearn_crashed_leader() {
    let story = group().all_elect(3, 0).at(3, RecordKind::Crash).at(3, RecordKind::Recover);
    assert_eq!(held(&story.elects(3, 3, 0)).len(), 1);
}

#[test]
fn end_of_run_settles_no_election() {
    let open = || group().all_elect(3, 1).at(3, RecordKind::Crash).elects(2, 2, 2);
    assert_eq!(held(&open().at(1, RecordKind::End)).len(), 2);
    assert_eq!(held(&open().ends().at(1, RecordKind::End)).len(), 1);
}

#[test]
fn only_long_stop_causes_election() {
    let story = group().all_elect(3, 1).at(3, RecordKind::Stop).at(3, RecordKind::Continue);
    assert_eq!(held(&story).len(), 1);
    let story = group().all_elect(3, 1).at(3, RecordKind::Stop).elects(1, 2, 2).elects(2, 2, 2);
    assert_eq!(held(&story)[1], (ElectionCause::Stop, 2, 3.0, 2.0));
}

#[test]
fn only_largest_partition_side_must_agree() {
    let cut_off = |at: u32| {
        let of = |process: &ProcessId| process.display_number() == at;
        let (apart, others) = (0..3).map(ProcessId).partition(of);
        RecordKind::Partition(vec![apart, others])
    };
    let story = group().all_elect(3, 1).record(RecordSubject::Parent, cut_off(3));
    let story = story.elects(1, 2, 2).elects(2, 2, 2);
    assert_eq!(held(&story)[1], (ElectionCause::Partition, 2, 3.0, 2.0));
    let story = story.wait(10).record(RecordSubject::Parent, RecordKind::Heal).elects(3, 2, 2);
    assert_eq!(held(&story).len(), 2, "it learns of the leader that there is");
    let story = group().all_elect(3, 1).record(RecordSubject::Parent, cut_off(1)).elects(1, 1, 2);
    assert_eq!(held(&story).len(), 1, "separated processes do not count");
    let story = story.record(RecordSubject::Parent, RecordKind::Heal).wait(1).elects(1, 3, 1);
    assert_eq!(held(&story).len(), 1);
}

#[test]
fn deposition_alone_settles_no_election() {
    let term = Term { number: 1, leader: ProcessId(2) };
    let deposed = || RecordKind::Event(election::Event::Deposed { term }.into());
    let story = group().all_elect(3, 1).at(1, deposed()).elects(1, 3, 1);
    assert_eq!(held(&story).len(), 1);
    let story = group().all_elect(3, 1).at(1, deposed()).all_elect(2, 2);
    assert_eq!(held(&story)[1], (ElectionCause::Takeover, 2, 3.0, 3.0));
}

#[test]
fn end_during_partition_leaves_minority_undecided() {
    let sides = |apart: u32| {
        let (apart, others) = (0..3).map(ProcessId).partition(|at| at.display_number() == apart);
        RecordKind::Partition(vec![apart, others])
    };
    let story = |apart: u32| {
        let mut story = group();
        story.header.promises = vec!["progress".to_owned()];
        let story = story.at(1, RecordKind::Boot);
        story.record(RecordSubject::Parent, sides(apart)).elects(2, 2, 1).elects(3, 2, 1)
    };
    let verdict = |story: Story| story.verified().properties[&Property::Progress];
    assert_eq!(verdict(story(1).ends()), Judgement::Incomplete, "P1 is cut off");
    assert_eq!(verdict(story(3).ends()), Judgement::Violated, "P1 is with the majority");
    let healed = story(1).record(RecordSubject::Parent, RecordKind::Heal);
    assert_eq!(verdict(healed.ends()), Judgement::Violated);
}

#[test]
fn progress_is_judged_in_the_state_at_the_end() {
    let story = || {
        let mut story = group();
        story.header.promises = vec!["progress".to_owned()];
        story.at(1, RecordKind::Boot).elects(2, 2, 1).elects(3, 2, 1)
    };
    let verdict = |story: Story| story.verified().properties[&Property::Progress];
    assert_eq!(verdict(story()), Judgement::Incomplete);
    assert_eq!(verdict(story().ends().at(1, RecordKind::End)), Judgement::Violated);
    assert_eq!(verdict(story().ends().elects(1, 2, 1)), Judgement::Violated);
    assert_eq!(verdict(story().elects(1, 2, 1).ends()), Judgement::Holds);
}
