use tenure_core::ProcessId;
use tenure_trace::{Access, Counter, Judgement, Kind, Operation, Service, Who};

use super::story::Story;

fn lock() -> Story {
    Story::real(Service::Mutex)
}

const HOLDS: &str = "counter holds, fenced-access holds, fencing holds, mutual-exclusion holds";

#[test]
fn a_counter_that_comes_out_right_is_fine() {
    let story = lock().enters(1, 1).puts(1, 1, 1).exits(1).enters(2, 2).puts(2, 2, 2).exits(2);
    assert_eq!(story.verdicts(), HOLDS);
    let judged = story.judged();
    assert_eq!(judged.counter, Some(Counter { expected: 2, found: 2, lost: 0 }));
    assert_eq!((judged.accesses.accepted, judged.accesses.refused), (2, 0));
}

#[test]
fn a_lost_update_is_found_even_without_a_lock() {
    let story = lock().unfenced().puts(1, 0, 1).puts(2, 0, 1).puts(1, 0, 2);
    assert_eq!(story.verdicts(), "counter violated, mutual-exclusion holds");
    let judged = story.judged();
    assert_eq!(judged.counter, Some(Counter { expected: 3, found: 2, lost: 1 }));
    assert_eq!(judged.verdict, Judgement::Violated);
}

#[test]
fn a_get_is_no_increment() {
    let operation = Operation::Get;
    let by = ProcessId(0);
    let access = Access { by, operation, fence: None, value: 1, accepted: true, highest: None };
    let story = lock().puts(1, 1, 1).record(Who::Resource, Kind::Access(access));
    assert_eq!(story.judged().counter, Some(Counter { expected: 1, found: 1, lost: 0 }));
}

#[test]
fn entries_that_overlap_are_only_counted_while_the_resource_refuses_the_lower_fence() {
    let overlap = || lock().enters(1, 1).puts(1, 1, 1).enters(2, 2).puts(2, 2, 2);
    let refused = overlap().refuses(1, 1).exits(1);
    assert_eq!(refused.verdicts(), HOLDS);
    assert_eq!(refused.judged().overlaps, 1);
    assert_eq!(refused.judged().accesses.refused, 1);
}

#[test]
fn a_stale_access_that_is_accepted_is_found() {
    let story = lock().enters(1, 1).puts(1, 1, 1).enters(2, 2).puts(2, 2, 2).puts(1, 1, 3);
    let says = "counter holds, fenced-access violated, fencing holds, mutual-exclusion violated";
    assert_eq!(story.verdicts(), says);
}

#[test]
fn a_stale_access_after_the_entry_is_the_resources_fault_alone() {
    let story = lock().enters(1, 1).puts(1, 1, 1).exits(1).enters(2, 2).puts(2, 2, 2);
    let says = "counter holds, fenced-access violated, fencing holds, mutual-exclusion holds";
    assert_eq!(story.puts(1, 1, 3).verdicts(), says);
}

#[test]
fn the_superseded_may_go_on_until_the_higher_fence_was_seen() {
    let story = lock().enters(1, 1).enters(2, 2).puts(1, 1, 1).exits(1).puts(2, 2, 2);
    assert_eq!(story.verdicts(), HOLDS);
}

#[test]
fn without_fences_any_overlap_is_a_violation() {
    let story = lock().unfenced().enters(1, 1).puts(1, 1, 1).enters(2, 2).puts(2, 2, 2);
    assert_eq!(story.verdicts(), "counter holds, mutual-exclusion violated");
}

#[test]
fn a_late_entry_is_no_fault_unless_it_could_have_known() {
    let late = || lock().enters(2, 2).puts(2, 2, 1).exits(2);
    let ignorant = late().enters(1, 1).refuses(1, 1);
    assert_eq!(ignorant.verdicts(), HOLDS);
    assert_eq!(ignorant.judged().late, 1);
    let told = late().sends(2, 3, 1).receives(3, 2, 1).sends(3, 1, 1).receives(1, 3, 1);
    let says = "counter holds, fenced-access holds, fencing violated, mutual-exclusion holds";
    assert_eq!(told.enters(1, 1).refuses(1, 1).verdicts(), says);
}

#[test]
fn what_a_process_was_told_outweighs_what_it_had_itself() {
    let story = lock().enters(1, 1).puts(1, 1, 1).exits(1).enters(2, 3).exits(2);
    let told = story.sends(2, 1, 1).receives(1, 2, 1).enters(1, 2);
    let says = "counter holds, fenced-access holds, fencing violated, mutual-exclusion holds";
    assert_eq!(told.verdicts(), says);
}

#[test]
fn no_two_entries_have_the_same_fence() {
    let story = lock().enters(2, 2).puts(2, 2, 1).exits(2).enters(1, 2);
    let says = "counter holds, fenced-access holds, fencing violated, mutual-exclusion holds";
    assert_eq!(story.verdicts(), says);
}
