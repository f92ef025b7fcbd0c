//! Known mistakes in algorithms. The checker must find each mistake by a shortest run.

use tenure_check::{Check, CheckReport, ViolationKind};
use tenure_core::monitors::{Fencing, MutualExclusion, RequestOrder};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Monitor, MutexObservation, Observation, ProcessId, Property, Violation};

use crate::catalogue::{holds, violates};
use crate::textbook::{Mistake, Textbook};
use crate::verdicts::states;

fn check(size: u32, mistake: Mistake) -> Check<Textbook> {
    Check::with_protocol_config(size, mistake)
        .always(MutualExclusion::new())
        .check_starvation_freedom()
}

fn shortest(report: &CheckReport, property: &str) -> (usize, ViolationKind) {
    let found = report.counterexample(property).unwrap_or_else(|| panic!("{report}"));
    (found.step_count(), found.kind)
}

#[test]
fn missing_tie_break_is_unsafe_or_deadlocks() {
    let both_reply = check(2, Mistake::NoTieBreakReply).fifo().run();
    assert_eq!(shortest(&both_reply, "mutual-exclusion"), (6, ViolationKind::Step));
    let both_defer = check(2, Mistake::NoTieBreakDefer).fifo().run();
    holds(&both_defer, "mutual-exclusion");
    assert_eq!(shortest(&both_defer, "starvation-freedom"), (2, ViolationKind::Deadlock));
}

#[test]
fn ids_as_stamps_are_safe_only_for_two_with_fifo() {
    check(2, Mistake::IdsAsStamps).request_limits(2).fifo().run().assert_holds();
    violates(&check(2, Mistake::IdsAsStamps).request_limits(2).run(), "mutual-exclusion");
    violates(&check(3, Mistake::IdsAsStamps).fifo().run(), "mutual-exclusion");
}

#[test]
fn clock_ignoring_requests_is_unsafe_with_reordering() {
    check(2, Mistake::NoClockOnRequest).request_limits(2).fifo().run().assert_holds();
    violates(&check(2, Mistake::NoClockOnRequest).request_limits(2).run(), "mutual-exclusion");
}

#[test]
fn unanswered_request_blocks_immediately() {
    let report = check(2, Mistake::NeverReplies).request_limits([1, 0]).run();
    assert_eq!(shortest(&report, "starvation-freedom"), (1, ViolationKind::Blocked));
    let found = report.counterexample("starvation-freedom").unwrap();
    assert_eq!(found.step_inputs(), ["P1 asks to enter"]);
    assert_eq!(found.explanation, "P1 can never be served from here");
}

#[test]
fn bare_reply_loses_causal_order() {
    let report = Check::<Textbook>::new(3)
        .request_limits([2, 1, 1])
        .fifo()
        .always(RequestOrder::new())
        .run();
    violates(&report, "order");
}

#[test]
fn textbook_fences_increase() {
    let check = || Check::<Textbook>::new(3).request_limits(2).fifo().always(Fencing::new());
    assert!(states(check().reducing_by_timestamp_shifts()) < states(check()));
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct NoEntry;

impl Monitor<Command, Event> for NoEntry {
    fn property(&self) -> Property {
        Property::Custom("no-entry")
    }

    fn observe(&mut self, at: ProcessId, seen: MutexObservation<'_>) -> Result<(), Violation> {
        if let Observation::Event(Event::Entered { .. }) = seen {
            let description = format!("{at} entered");
            return Err(Violation { at, message: description });
        }
        Ok(())
    }

    fn check_final_state(&self) -> Result<(), Violation> {
        let description = "the run ended".to_owned();
        Err(Violation { at: ProcessId(0), message: description })
    }
}

#[test]
fn wrong_monitor_fails_the_check() {
    let report = Check::<Textbook>::new(2).always(NoEntry).run();
    assert_eq!(shortest(&report, "no-entry"), (3, ViolationKind::Step));
    let found = report.counterexample("no-entry").unwrap();
    assert_eq!(found.step_inputs()[0], "P1 asks to enter");
    assert_eq!(found.explanation, "P1 entered");
}

#[test]
fn unavoidable_end_fails_the_check() {
    let report = Check::<Textbook>::new(2).request_limits(0).always_and_at_end(NoEntry).run();
    assert_eq!(shortest(&report, "no-entry"), (0, ViolationKind::End));
}
