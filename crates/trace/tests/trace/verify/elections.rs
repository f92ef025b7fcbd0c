use tenure_core::service::election;
use tenure_core::{ProcessId, Term, Verdict};
use tenure_trace::{Cause, Judgement, Kind, Service, Who};

use super::story::Story;

fn group() -> Story {
    Story::of(Service::Election)
}

const ONE: &str = "one-leader-at-a-time holds, one-leader-per-term holds";
const TWO_IN_A_TERM: &str = "one-leader-at-a-time violated, one-leader-per-term violated";
const TWO_IN_TWO_TERMS: &str = "one-leader-at-a-time violated, one-leader-per-term holds";

/// Cause, leader, from, how long.
fn held(story: &Story) -> Vec<(Cause, u32, f64, f64)> {
    let elections = story.judged().elections;
    elections.iter().map(|held| (held.cause, held.leader, held.at, held.ms)).collect()
}

#[test]
fn one_leader_whom_all_know_is_fine() {
    let story = group().all_elect(3, 1).ends();
    assert_eq!(story.verdicts(), format!("agreement holds, {ONE}"));
}

#[test]
fn two_leaders_in_a_term_are_found() {
    let story = group().elects(3, 3, 1).elects(2, 2, 1);
    assert_eq!(story.verdicts(), format!("agreement incomplete, {TWO_IN_A_TERM}"));
}

#[test]
fn leaders_of_different_terms_lead_at_a_time_but_not_per_term() {
    let story = group().elects(3, 3, 1).elects(2, 2, 2).all_elect(2, 2).ends();
    assert_eq!(story.verdicts(), format!("agreement holds, {TWO_IN_TWO_TERMS}"));
    assert_eq!(story.judged().verdict, Judgement::Holds, "nobody promised it");
}

#[test]
fn a_term_that_goes_back_is_found() {
    let story = group().elects(1, 3, 2).elects(1, 3, 1);
    assert_eq!(story.verdicts(), format!("agreement violated, {ONE}"));
}

#[test]
fn disagreement_in_the_end_is_found_and_without_an_end_nothing_is_known() {
    let story = || group().elects(1, 3, 1).elects(2, 3, 1).elects(3, 3, 1).elects(2, 1, 2);
    let violated = format!("agreement violated, {ONE}");
    assert_eq!(story().ends().verdicts(), violated);
    let incomplete = format!("agreement incomplete, {ONE}");
    assert_eq!(story().verdicts(), incomplete);
}

#[test]
fn a_real_group_is_given_time_to_agree_again() {
    let story = || Story::real(Service::Election).all_elect(3, 1).at(3, Kind::Crash);
    let verdict = |story: Story| story.ends().verdicts().split(',').next().unwrap().to_owned();
    assert_eq!(verdict(story().wait(100)), "agreement incomplete");
    assert_eq!(verdict(story().wait(5_000)), "agreement violated");
    let suspects = Kind::Suspicion { peer: ProcessId(2), verdict: Verdict::Suspect };
    assert_eq!(verdict(story().wait(5_000).at(1, suspects)), "agreement incomplete");
    let stopped = story().at(1, Kind::Stop).wait(5_000);
    assert_eq!(verdict(stopped), "agreement incomplete");
}

#[test]
fn what_nodes_do_after_the_end_is_not_judged_as_an_ending() {
    let story = group().all_elect(3, 1).ends().at(3, Kind::End).at(2, Kind::End).elects(1, 1, 2);
    assert_eq!(story.verdicts(), format!("agreement holds, {ONE}"));
    assert_eq!(held(&story).len(), 1);
}

#[test]
fn an_election_is_measured_from_the_crash_until_all_the_living_were_told() {
    let story = group().all_elect(3, 1).wait(10).at(3, Kind::Crash).wait(4);
    let story = story.elects(2, 2, 2).wait(2).elects(1, 2, 2).ends();
    assert_eq!(held(&story), [(Cause::Start, 3, 0.0, 2.0), (Cause::Crash, 2, 13.0, 8.0)]);
}

#[test]
fn who_crashed_or_was_stopped_is_not_waited_for() {
    let story = group().all_elect(3, 1).at(3, Kind::Crash).elects(2, 2, 2);
    let stopped = story.at(1, Kind::Stop);
    assert_eq!(held(&stopped)[1], (Cause::Crash, 2, 3.0, 2.0));
    let story = group().all_elect(3, 1).at(3, Kind::Crash).elects(2, 2, 2).at(1, Kind::Crash);
    assert_eq!(held(&story)[1], (Cause::Crash, 2, 3.0, 2.0));
}

#[test]
fn a_leader_that_crashes_before_all_know_it_does_not_end_the_election() {
    let story = group().all_elect(3, 1).at(3, Kind::Crash).elects(2, 2, 2).at(2, Kind::Crash);
    assert_eq!(held(&story).len(), 1);
    let story = story.elects(1, 1, 3);
    assert_eq!(held(&story)[1], (Cause::Crash, 1, 3.0, 3.0));
}

#[test]
fn a_crash_of_a_follower_calls_for_no_election() {
    let story = group().all_elect(3, 1).at(1, Kind::Crash).at(1, Kind::Recover).elects(1, 3, 1);
    assert_eq!(held(&story).len(), 1);
}

#[test]
fn a_leader_that_comes_back_takes_over_from_its_return() {
    let story = group().all_elect(3, 1).at(3, Kind::Crash).elects(1, 2, 2).elects(2, 2, 2);
    let story = story.wait(10).at(3, Kind::Recover).all_elect(3, 3);
    assert_eq!(held(&story)[2], (Cause::Takeover, 3, 16.0, 3.0));
}

#[test]
fn a_leader_elected_again_after_its_crash_counts_although_it_is_the_same() {
    let story = group().all_elect(3, 0).at(3, Kind::Crash).at(3, Kind::Recover).all_elect(3, 0);
    assert_eq!(held(&story)[1], (Cause::Crash, 3, 3.0, 4.0));
}

#[test]
fn who_believed_in_a_leader_before_its_crash_must_be_told_again() {
    let story = group().all_elect(3, 0).at(3, Kind::Crash).at(3, Kind::Recover);
    assert_eq!(held(&story.elects(3, 3, 0)).len(), 1);
}

#[test]
fn an_election_that_only_the_end_would_settle_was_not_held() {
    let open = || group().all_elect(3, 1).at(3, Kind::Crash).elects(2, 2, 2);
    assert_eq!(held(&open().at(1, Kind::End)).len(), 2);
    assert_eq!(held(&open().ends().at(1, Kind::End)).len(), 1);
}

#[test]
fn a_short_stop_is_no_election_and_a_long_one_is() {
    let story = group().all_elect(3, 1).at(3, Kind::Stop).at(3, Kind::Continue);
    assert_eq!(held(&story).len(), 1);
    let story = group().all_elect(3, 1).at(3, Kind::Stop).elects(1, 2, 2).elects(2, 2, 2);
    assert_eq!(held(&story)[1], (Cause::Stop, 2, 3.0, 2.0));
}

#[test]
fn where_a_network_is_split_those_on_its_largest_side_have_to_agree() {
    let cut_off = |at: u32| {
        let of = |process: &ProcessId| process.number() == at;
        let (apart, others) = (0..3).map(ProcessId).partition(of);
        Kind::Partition(vec![apart, others])
    };
    let story = group().all_elect(3, 1).record(Who::Parent, cut_off(3));
    let story = story.elects(1, 2, 2).elects(2, 2, 2);
    assert_eq!(held(&story)[1], (Cause::Partition, 2, 3.0, 2.0));
    let story = story.wait(10).record(Who::Parent, Kind::Heal).elects(3, 2, 2);
    assert_eq!(held(&story).len(), 2, "it learns of the leader that there is");
    let story = group().all_elect(3, 1).record(Who::Parent, cut_off(1)).elects(1, 1, 2);
    assert_eq!(held(&story).len(), 1, "whoever is apart is not asked");
    let story = story.record(Who::Parent, Kind::Heal).wait(1).elects(1, 3, 1);
    assert_eq!(held(&story).len(), 1);
}

#[test]
fn deposing_alone_settles_nothing() {
    let term = Term { number: 1, leader: ProcessId(2) };
    let deposed = || Kind::Event(election::Event::Deposed { term }.into());
    let story = group().all_elect(3, 1).at(1, deposed()).elects(1, 3, 1);
    assert_eq!(held(&story).len(), 1);
    let story = group().all_elect(3, 1).at(1, deposed()).all_elect(2, 2);
    assert_eq!(held(&story)[1], (Cause::Takeover, 2, 3.0, 3.0));
}
