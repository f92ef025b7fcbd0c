use tenure_core::service::stream;
use tenure_core::{Layer, ProcessId, Property, VectorClock};
use tenure_trace::{Judgement, Kind, Record, Service};

use super::story::Story;

fn lock() -> Story {
    Story::of(Service::Mutex)
}

#[test]
fn one_after_another_is_fine_and_measured() {
    let story = lock().asks(1).asks(2).enters(1, 1).exits(1).wait(5).enters(2, 2).exits(2).ends();
    assert_eq!(story.verdicts(), "fencing holds, mutual-exclusion holds");
    let judged = story.judged();
    assert_eq!(judged.verdict, Judgement::Holds);
    assert_eq!((judged.entries, judged.overlaps, judged.late, judged.bypass_max), (2, 0, 0, 1));
    assert_eq!((judged.latency.p50, judged.latency.p99, judged.latency.max), (2.0, 8.0, 8.0));
}

#[test]
fn a_double_entry_is_found() {
    let story = lock().enters(1, 1).enters(2, 2);
    assert_eq!(story.verdicts(), "fencing holds, mutual-exclusion violated");
    let judged = story.judged();
    assert_eq!((judged.verdict, judged.overlaps), (Judgement::Violated, 1));
    assert_eq!(judged.violations[0].at, 1.0);
    assert!(judged.to_string().contains("P2 entered"), "{judged}");
}

#[test]
fn a_crash_ends_an_entry() {
    let holds = "fencing holds, mutual-exclusion holds";
    assert_eq!(lock().enters(1, 1).at(1, Kind::Crash).enters(2, 2).verdicts(), holds);
    let story = lock().enters(1, 1).at(1, Kind::End).enters(2, 2);
    assert_eq!(story.verdicts(), holds);
    assert_eq!(story.judged().crashes, 0, "it left in good order");
}

#[test]
fn the_dead_do_not_enter() {
    let story = lock().at(1, Kind::Crash).enters(1, 1).enters(2, 2);
    assert_eq!(story.verdicts(), "fencing holds, mutual-exclusion holds");
    assert_eq!(story.judged().entries, 1);
}

#[test]
fn a_stopped_process_is_still_inside() {
    let story = lock().enters(1, 1).at(1, Kind::Stop).enters(2, 2);
    assert_eq!(story.verdicts(), "fencing holds, mutual-exclusion violated");
}

#[test]
fn booting_in_another_session_means_having_crashed() {
    let boot = |session| move |record: Record| record.in_session(session);
    // A node that saved something says that it recovers.
    for kind in [Kind::Boot, Kind::Recover] {
        let story = lock().at(1, Kind::Boot).but(boot(1)).enters(1, 1);
        let again = story.at(1, kind).but(boot(2)).enters(2, 2);
        assert_eq!(again.verdicts(), "fencing holds, mutual-exclusion holds");
        assert_eq!(again.judged().crashes, 1);
    }
    let same = lock().at(1, Kind::Boot).enters(1, 1).at(1, Kind::Boot).enters(2, 2);
    assert_eq!(same.judged().crashes, 0);
}

#[test]
fn a_fence_that_goes_back_is_found() {
    let story = lock().enters(1, 5).exits(1).enters(2, 4).exits(2);
    assert_eq!(story.verdicts(), "fencing violated, mutual-exclusion holds");
    assert_eq!(story.judged().late, 1);
}

#[test]
fn without_fences_they_are_not_judged() {
    let story = lock().unfenced().enters(1, 5).exits(1).enters(2, 4).exits(2);
    assert_eq!(story.verdicts(), "mutual-exclusion holds");
}

#[test]
fn a_lock_for_two_lets_in_two_and_not_three() {
    let mut story = lock().unfenced().enters(1, 0).enters(2, 0);
    story.header.most_inside = 2;
    assert_eq!(story.verdicts(), "at-most-k holds");
    assert_eq!(story.judged().overlaps, 0);
    assert_eq!(story.enters(3, 0).verdicts(), "at-most-k violated");
}

#[test]
fn entering_against_happened_before_is_found_where_there_are_clocks() {
    let clock = |counts: [u64; 3]| {
        move |record: tenure_trace::Record| record.with_clock(VectorClock::from(counts.to_vec()))
    };
    let asked = || lock().asks(1).but(clock([1, 0, 0])).asks(2).but(clock([1, 1, 0]));
    let wrong = asked().enters(2, 1).exits(2).enters(1, 2);
    assert_eq!(wrong.verdicts(), "fencing holds, mutual-exclusion holds, order violated");
    let right = asked().enters(1, 1).exits(1).enters(2, 2);
    assert_eq!(right.verdicts(), "fencing holds, mutual-exclusion holds, order holds");
}

#[test]
fn who_waits_in_the_end_is_named() {
    let story = lock().asks(3).asks(1).asks(2).enters(2, 1).at(3, Kind::Crash).ends();
    assert_eq!(story.judged().waiting, [1]);
}

#[test]
fn what_is_not_promised_is_reported_and_does_not_count() {
    let mut story = lock().enters(1, 5).exits(1).enters(2, 4);
    story.header.promises = vec!["mutual-exclusion".into(), "starvation-freedom".into()];
    let judged = story.judged();
    assert_eq!(judged.properties[&Property::Fencing], Judgement::Violated);
    assert_eq!(judged.verdict, Judgement::Holds);
    assert!(!judged.violations[0].counts);
}

#[test]
fn messages_are_counted_by_layer_and_kind_but_not_those_to_oneself() {
    let story = lock().sends(1, 2, 1).sends(1, 3, 2).sends(1, 1, 3).receives(2, 1, 1);
    let messages = story.judged().messages;
    assert_eq!(messages.sent[&Layer::Mutex]["request"], 2);
    assert_eq!((messages.total(), messages.received), (2, 1));
    assert_eq!((messages.sent_in(Layer::Mutex), messages.sent_in(Layer::Election)), (2, 0));
}

#[test]
fn an_item_that_is_missing_in_between_or_in_the_end_is_found() {
    let to = ProcessId(1);
    let sent =
        |story: Story, item| story.at(1, Kind::Command(stream::Command::Send { to, item }.into()));
    let got = |story: Story, item| {
        let received = stream::Event::Received { from: ProcessId(0), item };
        story.at(2, Kind::Event(received.into()))
    };
    let two = || sent(sent(Story::of(Service::Stream), 1), 2);
    assert_eq!(got(two(), 2).verdicts(), "no-loss violated");
    assert_eq!(got(two(), 1).ends().verdicts(), "no-loss violated");
    assert_eq!(got(two(), 1).verdicts(), "no-loss incomplete");
    assert_eq!(got(got(two(), 1), 2).ends().verdicts(), "no-loss holds");
}
