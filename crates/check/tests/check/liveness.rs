//! Tests of liveness. Blocking, deadlock and starvation are distinct violations, and each judgement
//! depends on the assumed fairness.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use tenure_algorithms::mutex::{Central, Raymond, RicartAgrawala, TokenRing, raymond};
use tenure_check::{Check, RequestLimit, ViolationKind};
use tenure_core::monitors::{Bypass, MutualExclusion};
use tenure_core::tree::TreeShape;

use crate::by_service::{after, of, with};
use crate::catalogue::{holds, violates};
use crate::survival::survives;
use crate::symmetry::{Manner, QueueCoordinator};
use crate::textbook::{Mistake, Textbook};
use crate::verdicts::states;

/// Returns a check of a lock with an unfair coordinator, P1. Among the waiting processes, P1 always
/// serves the one with the smallest number. P2 and P3 request again and again, and P4 requests
/// once.
fn unfair_coordinator() -> Check<QueueCoordinator> {
    let check = Check::with_protocol_config(4, Manner::SmallestFirst).fifo().request_limits(vec![
        RequestLimit::AtMost(0),
        RequestLimit::Unbounded,
        RequestLimit::Unbounded,
        RequestLimit::AtMost(1),
    ]);
    check.configure(|config| config.bounds.accepts_unbounded_entries = true)
}

#[test]
fn unfair_coordinator_starves_process() {
    let report =
        unfair_coordinator().always(MutualExclusion::new()).check_starvation_freedom().run();
    let found = report.counterexample("starvation-freedom").unwrap_or_else(|| panic!("{report}"));
    assert_eq!(found.kind, ViolationKind::Starvation, "{found}");
    let repeats = found.run.repeats_from.expect("the end repeats");
    let cycle = &found.step_inputs()[repeats..];
    assert!(cycle.iter().any(|step| step.ends_with("asks to enter")), "{found}");
    assert!(!cycle.iter().any(|step| step.starts_with("P4")), "{found}");
}

#[test]
fn any_number_of_threads_finds_the_same_cycle() {
    let found = |threads| {
        let report = unfair_coordinator().threads(threads).check_starvation_freedom().run();
        let found = report.counterexample("starvation-freedom");
        let found = found.unwrap_or_else(|| panic!("{report}"));
        (report.states, report.transitions, found.step_inputs().to_vec(), found.run.repeats_from)
    };
    let expected = found(1);
    for threads in [2, 3, 8] {
        assert_eq!(found(threads), expected, "{threads} threads");
    }
}

#[test]
fn starvation_does_not_violate_deadlock_freedom() {
    let report = unfair_coordinator().check_deadlock_freedom().check_starvation_freedom().run();
    holds(&report, "deadlock-freedom");
    violates(&report, "starvation-freedom");
    assert!(report.to_string().contains("weak fairness"), "{report}");
}

#[test]
fn deadlock_violates_both_liveness_properties() {
    let check = Check::<Textbook>::with_protocol_config(2, Mistake::NoTieBreakDefer)
        .always(Bypass::at_most(1));
    let report = check.check_deadlock_freedom().check_starvation_freedom().run();
    holds(&report, "bounded-bypass");
    let found = report.counterexample("deadlock-freedom").expect("both defer");
    assert_eq!((found.kind, found.step_count()), (ViolationKind::Deadlock, 2));
    assert_eq!(found.explanation, "P1 and P2 wait, and no process can ever enter again");
    let found = report.counterexample("starvation-freedom").expect("both defer");
    assert_eq!((found.kind, found.step_count()), (ViolationKind::Deadlock, 2));
}

#[test]
fn lost_request_blocks_then_deadlocks() {
    let check =
        Check::<Textbook>::new(2).request_limits([1, 1]).max_losses(1).check_deadlock_freedom();
    let found = check.run();
    let found = found.counterexample("deadlock-freedom").expect("lost request");
    assert_eq!(found.kind, ViolationKind::Deadlock, "{found}");
    assert!(found.explanation.contains("no process can ever enter again"), "{found}");
}

#[test]
fn raymond_and_central_have_unbounded_bypass() {
    let config = raymond::Config::with_tree_shape(TreeShape::Path, 3);
    let raymond = with::<Raymond>(3, config).fifo().request_limits([1, 2, 1]);
    raymond.check_deadlock_freedom().check_starvation_freedom().run().assert_holds();
    let central = || of::<Central>(3).request_limits([0, 2, 2]);
    central().check_deadlock_freedom().check_starvation_freedom().run().assert_holds();
    violates(&central().always(Bypass::at_most(1)).run(), "bounded-bypass");
}

#[test]
fn finite_requests_hide_starvation() {
    let check = Check::<QueueCoordinator>::with_protocol_config(3, Manner::SmallestFirst)
        .request_limits([0, 2, 2]);
    check.fifo().always(MutualExclusion::new()).check_starvation_freedom().run().assert_holds();
}

#[test]
fn circulating_token_is_not_starvation() {
    of::<TokenRing>(3).request_limits(2).check_starvation_freedom().run().assert_holds();
}

#[test]
fn textbook_never_starves_with_endless_requests() {
    let check = Check::<Textbook>::new(3)
        .request_limits(RequestLimit::Unbounded)
        .reducing_by_timestamp_shifts();
    check.fifo().always(MutualExclusion::new()).check_starvation_freedom().run().assert_holds();
    let check = Check::<Textbook>::new(2)
        .request_limits(RequestLimit::Unbounded)
        .reducing_by_timestamp_shifts();
    check.always(MutualExclusion::new()).check_starvation_freedom().run().assert_holds();
}

#[test]
fn shipped_algorithm_never_starves_with_endless_requests() {
    let check = || {
        of::<RicartAgrawala>(3)
            .request_limits(RequestLimit::Unbounded)
            .reducing_by_timestamp_shifts()
    };
    survives(check().fifo());
    let bypass = check().fifo().measuring_bypass(9).run().bypass.expect("measured");
    assert_eq!((bypass.max, bypass.is_lower_bound), (2, false));
}

#[test]
#[ignore = "takes several seconds on two cores when optimised"]
fn textbook_of_four_never_starves_with_endless_requests() {
    let check = Check::<Textbook>::new(4)
        .request_limits(RequestLimit::Unbounded)
        .reducing_by_timestamp_shifts()
        .fifo();
    assert_eq!(states(check.always(MutualExclusion::new()).check_starvation_freedom()), 1_722_408);
}

#[test]
fn distinguishes_deadlock_from_blocked_process() {
    let check = Check::<Textbook>::with_protocol_config(2, Mistake::NoTieBreakDefer)
        .check_starvation_freedom();
    let report = check.run();
    let found = report.counterexample("starvation-freedom").expect("both defer");
    assert_eq!((found.kind, found.step_count()), (ViolationKind::Deadlock, 2));
    assert_eq!(found.explanation, "P1 and P2 can never be served from here");
    let check =
        Check::<Textbook>::new(2).request_limits([1, 0]).max_losses(1).check_starvation_freedom();
    let found = check.run();
    let found = found.counterexample("starvation-freedom").expect("lost request");
    assert_eq!((found.kind, found.step_count()), (ViolationKind::Blocked, 2));
    assert_eq!(found.step_inputs(), ["P1 asks to enter", "request from P1 to P2 is lost"]);
}

#[test]
fn prescribed_steps_do_not_shorten_counterexamples() {
    let run = |before: &str| {
        let check = Check::<Textbook>::new(2)
            .request_limits([1, 0])
            .max_losses(1)
            .check_starvation_freedom();
        after(check, before).run()
    };
    let found = run("enter p1; lose p1→p2");
    let found = found.counterexample("starvation-freedom").expect("the request is lost");
    assert_eq!((found.kind, found.step_count()), (ViolationKind::Blocked, 2), "{found}");
    let found = run("enter p1; deliver p1→p2; lose p2→p1");
    let found = found.counterexample("starvation-freedom").expect("the reply is lost");
    assert_eq!((found.kind, found.step_count()), (ViolationKind::Blocked, 3), "{found}");
    run("enter p1; deliver p1→p2; deliver p2→p1").assert_holds();
}

#[test]
fn bypass_bound_matches_catalogue() {
    let ring = of::<TokenRing>(3).request_limits(2).measuring_bypass(9).run();
    assert_eq!(ring.bypass.expect("measured").max, 1);
    let stamped = of::<RicartAgrawala>(2).request_limits(4).measuring_bypass(9).run();
    assert_eq!(stamped.bypass.expect("measured").max, 2);
    let central = of::<Central>(3).request_limits([0, 5, 1]).measuring_bypass(9).run();
    let central = central.bypass.expect("measured");
    assert_eq!((central.max, central.is_lower_bound), (5, false));
    assert!(!central.run.step_inputs().is_empty());
}
