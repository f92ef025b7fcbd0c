//! Mistakes made on purpose: each must be found, by a run as short as it can be.

use tenure_check::{Check, Judgement, Manner, Report};
use tenure_core::monitors::{Fencing, MutualExclusion, Order};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Monitor, Observed, ProcessId, Property, Violation};

use crate::textbook::{Mistake, Textbook};

fn check(size: u32, mistake: Mistake) -> Check<Textbook> {
    Check::with(size, mistake).always(MutualExclusion::new()).starvation_free()
}

fn shortest(report: &Report, property: &str) -> (usize, Manner) {
    let found = report.counterexample(property).unwrap_or_else(|| panic!("{report}"));
    (found.length(), found.manner)
}

#[test]
fn without_a_tie_break_both_reply_or_both_defer() {
    let both_reply = check(2, Mistake::NoTieBreakReply).fifo().run();
    assert_eq!(shortest(&both_reply, "mutual-exclusion"), (6, Manner::Step));
    let both_defer = check(2, Mistake::NoTieBreakDefer).fifo().run();
    assert_eq!(both_defer.of("mutual-exclusion"), Judgement::Holds);
    assert_eq!(shortest(&both_defer, "starvation-freedom"), (2, Manner::Deadlock));
}

#[test]
fn ids_as_stamps_are_safe_only_for_two_and_only_first_in_first_out() {
    check(2, Mistake::IdsAsStamps).entries(2).fifo().run().assert_holds();
    let reordered = check(2, Mistake::IdsAsStamps).entries(2).run();
    assert_eq!(reordered.of("mutual-exclusion"), Judgement::Violated);
    let three = check(3, Mistake::IdsAsStamps).fifo().run();
    assert_eq!(three.of("mutual-exclusion"), Judgement::Violated);
}

#[test]
fn a_clock_that_ignores_requests_is_unsafe_where_messages_overtake() {
    check(2, Mistake::NoClockOnRequest).entries(2).fifo().run().assert_holds();
    let reordered = check(2, Mistake::NoClockOnRequest).entries(2).run();
    assert_eq!(reordered.of("mutual-exclusion"), Judgement::Violated);
}

#[test]
fn whoever_is_never_answered_is_blocked_as_soon_as_it_asks() {
    let report = check(2, Mistake::NeverReplies).entries([1, 0]).run();
    assert_eq!(shortest(&report, "starvation-freedom"), (1, Manner::Blocked));
    let found = report.counterexample("starvation-freedom").unwrap();
    assert_eq!(found.steps(), ["P1 asks to enter"]);
    assert_eq!(found.says, "P1 can never be served from here");
}

#[test]
fn a_bare_reply_loses_the_order_of_happened_before() {
    let report = Check::<Textbook>::of(3).entries([2, 1, 1]).fifo().always(Order::new()).run();
    assert_eq!(report.of("order"), Judgement::Violated);
}

#[test]
fn fences_of_the_textbook_are_those_of_its_requests_and_increase() {
    let check = Check::<Textbook>::of(3).entries(2).fifo().always(Fencing::new());
    let plain = check.run();
    plain.assert_holds();
    let rebased = Check::<Textbook>::of(3).entries(2).fifo().always(Fencing::new()).rebasing();
    let rebased = rebased.run();
    rebased.assert_holds();
    assert!(rebased.states < plain.states);
}

/// Claims that nobody ever enters.
#[derive(Clone, PartialEq, Eq, Hash)]
struct NobodyEnters;

impl Monitor<Command, Event> for NobodyEnters {
    fn property(&self) -> Property {
        Property::Own("nobody-enters")
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        if let Observed::Event(Event::Entered { .. }) = seen {
            let says = format!("{at} entered");
            return Err(Violation { at, says });
        }
        Ok(())
    }

    fn at_end(&self) -> Result<(), Violation> {
        let says = "the run ended".to_owned();
        Err(Violation { at: ProcessId(0), says })
    }
}

#[test]
fn a_monitor_that_is_wrong_makes_the_checker_fail() {
    let report = Check::<Textbook>::of(2).always(NobodyEnters).run();
    assert_eq!(shortest(&report, "nobody-enters"), (3, Manner::Step));
    let found = report.counterexample("nobody-enters").unwrap();
    assert_eq!(found.steps()[0], "P1 asks to enter");
    assert_eq!(found.says, "P1 entered");
}

#[test]
fn an_end_that_no_run_can_avoid_makes_the_checker_fail() {
    let report = Check::<Textbook>::of(2).entries(0).in_the_end(NobodyEnters).run();
    assert_eq!(shortest(&report, "nobody-enters"), (0, Manner::End));
}
