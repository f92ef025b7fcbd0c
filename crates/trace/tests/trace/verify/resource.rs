use tenure_core::ProcessId;
use tenure_trace::{
    Judgement, RecordKind, RecordSubject, ResourceAccessRecord, ResourceCounterResult,
    ResourceOperation, Service,
};

use super::story::Story;

fn lock() -> Story {
    Story::real(Service::Mutex)
}

const HOLDS: &str = "counter holds, fenced-access holds, fencing holds, mutual-exclusion holds";

#[test]
fn accepts_correct_counter() {
    let story = lock().enters(1, 1).puts(1, 1, 1).exits(1).enters(2, 2).puts(2, 2, 2).exits(2);
    assert_eq!(story.verdicts(), HOLDS);
    let verified = story.verified();
    assert_eq!(verified.counter, Some(ResourceCounterResult { expected: 2, found: 2, lost: 0 }));
    assert_eq!((verified.accesses.accepted, verified.accesses.refused), (2, 0));
}

#[test]
fn finds_lost_update_without_lock() {
    let story = lock().unfenced().puts(1, 0, 1).puts(2, 0, 1).puts(1, 0, 2);
    assert_eq!(story.verdicts(), "counter violated, mutual-exclusion holds");
    let verified = story.verified();
    assert_eq!(verified.counter, Some(ResourceCounterResult { expected: 3, found: 2, lost: 1 }));
    assert_eq!(verified.verdict, Judgement::Violated);
}

#[test]
fn get_is_not_an_increment() {
    let operation = ResourceOperation::Get;
    let by = ProcessId(0);
    let access = ResourceAccessRecord {
        by,
        operation,
        fence: None,
        value: 1,
        accepted: true,
        highest: None,
    };
    let story = lock().puts(1, 1, 1).record(RecordSubject::Resource, RecordKind::Access(access));
    assert_eq!(
        story.verified().counter,
        Some(ResourceCounterResult { expected: 1, found: 1, lost: 0 })
    );
}

#[test]
fn overlaps_only_count_while_resource_rejects_lower_fence() {
    let overlap = || lock().enters(1, 1).puts(1, 1, 1).enters(2, 2).puts(2, 2, 2);
    let refused = overlap().refuses(1, 1).exits(1);
    assert_eq!(refused.verdicts(), HOLDS);
    assert_eq!(refused.verified().overlaps, 1);
    assert_eq!(refused.verified().accesses.refused, 1);
}

#[test]
fn finds_accepted_stale_access() {
    let story = lock().enters(1, 1).puts(1, 1, 1).enters(2, 2).puts(2, 2, 2).puts(1, 1, 3);
    let description =
        "counter holds, fenced-access violated, fencing holds, mutual-exclusion violated";
    assert_eq!(story.verdicts(), description);
}

#[test]
fn stale_access_after_entry_blames_only_resource() {
    let story = lock().enters(1, 1).puts(1, 1, 1).exits(1).enters(2, 2).puts(2, 2, 2);
    let description =
        "counter holds, fenced-access violated, fencing holds, mutual-exclusion holds";
    assert_eq!(story.puts(1, 1, 3).verdicts(), description);
}

#[test]
fn superseded_holder_continues_until_higher_fence_is_seen() {
    let story = lock().enters(1, 1).enters(2, 2).puts(1, 1, 1).exits(1).puts(2, 2, 2);
    assert_eq!(story.verdicts(), HOLDS);
}

#[test]
fn unfenced_overlap_is_a_violation() {
    let story = lock().unfenced().enters(1, 1).puts(1, 1, 1).enters(2, 2).puts(2, 2, 2);
    assert_eq!(story.verdicts(), "counter holds, mutual-exclusion violated");
}

#[test]
fn late_entry_is_a_fault_only_if_it_knew() {
    let late = || lock().enters(2, 2).puts(2, 2, 1).exits(2);
    let ignorant = late().enters(1, 1).refuses(1, 1);
    assert_eq!(ignorant.verdicts(), HOLDS);
    assert_eq!(ignorant.verified().late, 1);
    let informed = late().sends(2, 3, 1).receives(3, 2, 1).sends(3, 1, 1).receives(1, 3, 1);
    let description =
        "counter holds, fenced-access holds, fencing violated, mutual-exclusion holds";
    assert_eq!(informed.enters(1, 1).refuses(1, 1).verdicts(), description);
}

#[test]
fn received_fence_outweighs_own_fence() {
    let story = lock().enters(1, 1).puts(1, 1, 1).exits(1).enters(2, 3).exits(2);
    let informed = story.sends(2, 1, 1).receives(1, 2, 1).enters(1, 2);
    let description =
        "counter holds, fenced-access holds, fencing violated, mutual-exclusion holds";
    assert_eq!(informed.verdicts(), description);
}

#[test]
fn fences_are_unique() {
    let story = lock().enters(2, 2).puts(2, 2, 1).exits(2).enters(1, 2);
    let description =
        "counter holds, fenced-access holds, fencing violated, mutual-exclusion holds";
    assert_eq!(story.verdicts(), description);
}
