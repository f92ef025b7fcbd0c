use tenure_core::service::stream;
use tenure_core::{Layer, ProcessId, Property, VectorClock};
use tenure_trace::{Judgement, Record, RecordKind, Service};

use super::story::Story;

fn lock() -> Story {
    Story::of(Service::Mutex)
}

#[test]
fn accepts_and_measures_sequential_entries() {
    let story =
        lock().requests(1).requests(2).enters(1, 1).exits(1).wait(5).enters(2, 2).exits(2).ends();
    assert_eq!(story.verdicts(), "fencing holds, mutual-exclusion holds");
    let verified = story.verified();
    assert_eq!(verified.verdict, Judgement::Holds);
    assert_eq!(
        (verified.entries, verified.overlaps, verified.late, verified.bypass_max),
        (2, 0, 0, 1)
    );
    assert_eq!((verified.latency.p50, verified.latency.p99, verified.latency.max), (2.0, 8.0, 8.0));
}

#[test]
fn finds_overlapping_entries() {
    let story = lock().enters(1, 1).enters(2, 2);
    assert_eq!(story.verdicts(), "fencing holds, mutual-exclusion violated");
    let verified = story.verified();
    assert_eq!((verified.verdict, verified.overlaps), (Judgement::Violated, 1));
    assert_eq!(verified.violations[0].at, 1.0);
    assert!(verified.to_string().contains("P2 entered"), "{verified}");
}

/// Returns the descriptions of the inconsistencies in a trace.
fn inconsistencies(story: &Story) -> Vec<String> {
    let verified = story.verified();
    let violations =
        verified.violations.iter().filter(|it| it.property == Property::WellFormedTrace);
    let found: Vec<String> = violations.map(|it| it.description.clone()).collect();
    assert_eq!(verified.verdict == Judgement::Violated, !found.is_empty(), "{verified}");
    found
}

#[test]
fn entries_and_exits_of_a_process_alternate() {
    for story in [
        lock().at(1, RecordKind::Boot).exits(1),
        lock().requests(1).exits(1),
        lock().enters(1, 1).exits(1).exits(1),
        lock().at(1, RecordKind::Crash).at(1, RecordKind::Recover).requests(1).exits(1),
    ] {
        let found = inconsistencies(&story);
        assert!(found.len() == 1 && found[0].starts_with("P1 exits although"), "{found:?}");
    }
    let found = inconsistencies(&lock().enters(1, 1).requests(1).enters(1, 2));
    assert!(found.len() == 1 && found[0].starts_with("P1 enters although"), "{found:?}");
}

#[test]
fn exit_may_follow_an_entry_that_no_record_shows() {
    let first = |record: Record| Record { sequence: 1, ..record };
    for story in [
        lock().exits(1).requests(1).enters(1, 1).exits(1),
        lock().at(1, RecordKind::Recover).exits(1),
        lock().requests(1).at(1, RecordKind::Crash).at(1, RecordKind::Recover).exits(1),
        lock().requests(1).sends(1, 2, 1).but(first).exits(1),
    ] {
        assert_eq!(inconsistencies(&story), Vec::<String>::new());
    }
}

#[test]
fn report_names_the_unit_of_times() {
    for (story, unit, other) in [
        (Story::of(Service::MutexAndElection), " units", " ms"),
        (Story::real(Service::MutexAndElection), " ms", " units"),
    ] {
        let story = story.all_elect(3, 1).requests(1).enters(1, 2).requests(2).enters(2, 1);
        let verified = story.verified();
        assert_eq!((verified.elections.len(), verified.entries), (1, 2), "{verified}");
        let report = verified.to_string();
        assert!(!verified.violations.is_empty() && !report.contains(other), "{report}");
        for line in ["hand-made, ", "  violation ", "  entries ", "  election "] {
            let line = report.lines().find(|it| it.starts_with(line)).expect("a line");
            assert!(line.contains(unit), "{line}");
        }
    }
}

#[test]
fn crash_ends_entry() {
    let holds = "fencing holds, mutual-exclusion holds";
    assert_eq!(lock().enters(1, 1).at(1, RecordKind::Crash).enters(2, 2).verdicts(), holds);
    let story = lock().enters(1, 1).at(1, RecordKind::End).enters(2, 2);
    assert_eq!(story.verdicts(), holds);
    assert_eq!(story.verified().crashes, 0, "it ended normally");
}

#[test]
fn crashed_process_cannot_enter() {
    let story = lock().at(1, RecordKind::Crash).enters(1, 1).enters(2, 2);
    assert_eq!(story.verdicts(), "fencing holds, mutual-exclusion holds");
    assert_eq!(story.verified().entries, 1);
}

#[test]
fn stopped_process_stays_inside() {
    let story = lock().enters(1, 1).at(1, RecordKind::Stop).enters(2, 2);
    assert_eq!(story.verdicts(), "fencing holds, mutual-exclusion violated");
}

#[test]
fn boot_in_new_session_implies_crash() {
    let boot = |session| move |record: Record| record.in_session(session);
    // After a crash, a node without saved state reports a boot, and a node with saved state reports
    // a recovery.
    for kind in [RecordKind::Boot, RecordKind::Recover] {
        let story = lock().at(1, RecordKind::Boot).but(boot(1)).enters(1, 1);
        let again = story.at(1, kind).but(boot(2)).enters(2, 2);
        assert_eq!(again.verdicts(), "fencing holds, mutual-exclusion holds");
        assert_eq!(again.verified().crashes, 1);
    }
    let same = lock().at(1, RecordKind::Boot).enters(1, 1).at(1, RecordKind::Boot).enters(2, 2);
    assert_eq!(same.verified().crashes, 0);
}

#[test]
fn finds_decreasing_fence() {
    let story = lock().enters(1, 5).exits(1).enters(2, 4).exits(2);
    assert_eq!(story.verdicts(), "fencing violated, mutual-exclusion holds");
    assert_eq!(story.verified().late, 1);
}

#[test]
fn unfenced_traces_skip_fencing() {
    let story = lock().unfenced().enters(1, 5).exits(1).enters(2, 4).exits(2);
    assert_eq!(story.verdicts(), "mutual-exclusion holds");
}

#[test]
fn two_mutex_admits_two_but_not_three() {
    let mut story = lock().unfenced().enters(1, 0).enters(2, 0);
    story.header.max_inside = 2;
    assert_eq!(story.verdicts(), "at-most-k holds");
    assert_eq!(story.verified().overlaps, 0);
    assert_eq!(story.enters(3, 0).verdicts(), "at-most-k violated");
}

#[test]
fn finds_order_violation_with_vector_clocks() {
    let clock = |counts: [u64; 3]| {
        move |record: tenure_trace::Record| record.with_clock(VectorClock::from(counts.to_vec()))
    };
    let requests = || lock().requests(1).but(clock([1, 0, 0])).requests(2).but(clock([1, 1, 0]));
    let wrong = requests().enters(2, 1).exits(2).enters(1, 2);
    assert_eq!(wrong.verdicts(), "fencing holds, mutual-exclusion holds, order violated");
    let right = requests().enters(1, 1).exits(1).enters(2, 2);
    assert_eq!(right.verdicts(), "fencing holds, mutual-exclusion holds, order holds");
}

#[test]
fn lists_processes_waiting_at_end() {
    let story =
        lock().requests(3).requests(1).requests(2).enters(2, 1).at(3, RecordKind::Crash).ends();
    assert_eq!(story.verified().waiting, [1]);
}

/// Returns the judgement on the liveness of a lock. Both properties have the same judgement.
fn liveness(mut story: Story) -> Judgement {
    story.header.promises = vec!["deadlock-freedom".into(), "starvation-freedom".into()];
    let properties = story.verified().properties;
    let starvation = properties[&Property::StarvationFreedom];
    assert_eq!(properties[&Property::DeadlockFreedom], starvation);
    starvation
}

#[test]
fn liveness_is_judged_in_the_state_at_the_end() {
    let waits = || lock().requests(1).enters(1, 1).exits(1).requests(2).requests(1);
    assert_eq!(liveness(waits().ends()), Judgement::Violated);
    let stopped = waits().ends().at(2, RecordKind::End).at(1, RecordKind::End);
    assert_eq!(stopped.verified().waiting, [1, 2]);
    assert_eq!(liveness(stopped), Judgement::Violated);
    let inside = || lock().requests(1).requests(2).enters(1, 1).ends();
    assert_eq!(liveness(inside()), Judgement::Incomplete);
    assert_eq!(liveness(inside().exits(1)), Judgement::Incomplete);
    assert_eq!(liveness(lock().requests(1).ends().enters(1, 1).exits(1)), Judgement::Violated);
    assert_eq!(liveness(lock().requests(1).enters(1, 1).exits(1).ends()), Judgement::Holds);
}

#[test]
fn liveness_is_incomplete_without_end() {
    assert_eq!(liveness(lock().requests(1)), Judgement::Incomplete);
    let served = || lock().requests(1).enters(1, 1).exits(1);
    assert_eq!(liveness(served()), Judgement::Incomplete);
    assert_eq!(liveness(served().at(1, RecordKind::End)), Judgement::Incomplete);
    assert_eq!(served().verdicts(), "fencing holds, mutual-exclusion holds", "not in the header");
}

#[test]
fn real_lock_has_time_to_be_granted() {
    let waits = |units| Story::real(Service::Mutex).requests(1).wait(units).ends();
    assert_eq!(liveness(waits(1_000)), Judgement::Incomplete);
    assert_eq!(liveness(waits(5_000)), Judgement::Violated);
    let served = Story::real(Service::Mutex).requests(1).wait(5_000);
    let served = served.requests(2).enters(2, 1).exits(2).ends();
    assert_eq!(liveness(served), Judgement::Incomplete, "another process was served just now");
}

#[test]
fn unpromised_property_is_reported_without_counting() {
    let mut story = lock().enters(1, 5).exits(1).enters(2, 4).ends();
    story.header.promises = vec!["mutual-exclusion".into(), "starvation-freedom".into()];
    let verified = story.verified();
    assert_eq!(verified.properties[&Property::Fencing], Judgement::Violated);
    assert_eq!(verified.verdict, Judgement::Holds);
    assert!(!verified.violations[0].is_failure);
}

#[test]
fn counts_messages_by_layer_and_kind_without_self_sends() {
    let story = lock().sends(1, 2, 1).sends(1, 3, 2).sends(1, 1, 3).receives(2, 1, 1);
    let messages = story.verified().messages;
    assert_eq!(messages.sent[&Layer::Mutex]["request"], 2);
    assert_eq!((messages.total_sent(), messages.received), (2, 1));
    assert_eq!(
        (messages.sent_count_in_layer(Layer::Mutex), messages.sent_count_in_layer(Layer::Election)),
        (2, 0)
    );
}

#[test]
fn finds_missing_stream_items() {
    let to = ProcessId(1);
    let sent = |story: Story, item| {
        story.at(1, RecordKind::Command(stream::Command::Send { to, item }.into()))
    };
    let got = |story: Story, item| {
        let received = stream::Event::Received { from: ProcessId(0), item };
        story.at(2, RecordKind::Event(received.into()))
    };
    let two = || sent(sent(Story::of(Service::Stream), 1), 2);
    assert_eq!(got(two(), 2).verdicts(), "no-loss violated");
    assert_eq!(got(two(), 1).ends().verdicts(), "no-loss violated");
    assert_eq!(got(two(), 1).verdicts(), "no-loss incomplete");
    assert_eq!(got(got(two(), 1), 2).ends().verdicts(), "no-loss holds");
}
