//! Liveness: blocking, deadlock and starvation are distinct violations, and depend on the assumed
//! fairness.
//!
//! The expected numbers of states were computed by this checker, and detect changes. They have no
//! independent confirmation.

use serde::{Deserialize, Serialize};
use tenure_algorithms::mutex::{Central, Raymond, RicartAgrawala, TokenRing, raymond};
use tenure_check::{Check, Entries, Judgement, ViolationKind};
use tenure_core::monitors::{Bypass, Fencing, MutualExclusion};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::tree::Shape;
use tenure_core::{Algorithm, Card, Effects, Fence, Group, ProcessId, Protocol, labelled};
use tenure_trace::Action;

use crate::by_service::{ServiceCheck, of, with};
use crate::textbook::{Mistake, Textbook};

/// A centralised lock whose coordinator, P1, always serves the waiting process with the smallest
/// number. So it is unfair.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct UnfairCoordinator {
    group: Group,
    waiting: Vec<ProcessId>,
    inside: Option<ProcessId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Request,
    Grant,
    Release,
}

labelled!(Message, Mutex, Request => "request", Grant => "grant", Release => "release");

impl Protocol for UnfairCoordinator {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, _: &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        UnfairCoordinator { group, waiting: Vec::new(), inside: None }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let message = match command {
            Command::Enter => Message::Request,
            Command::Exit => Message::Release,
        };
        if command == Command::Exit {
            fx.emit(Event::Exited);
        }
        fx.send(ProcessId(0), message);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request => {
                let place = self.waiting.partition_point(|other| *other < from);
                self.waiting.insert(place, from);
            }
            Message::Release => self.inside = None,
            Message::Grant => return fx.emit(Event::Entered { fence: Fence::NONE }),
        }
        if self.inside.is_none() && !self.waiting.is_empty() {
            let next = self.waiting.remove(0);
            self.inside = Some(next);
            fx.send(next, Message::Grant);
        }
        assert!(self.group.me() == ProcessId(0), "only the coordinator has a queue");
    }
}

impl Algorithm for UnfairCoordinator {
    fn card((): &(), _: u32) -> Card {
        Card::mutex("favourites", "an unfair coordinator", "none")
    }
}

#[test]
fn unfair_coordinator_starves_process() {
    let check = Check::<UnfairCoordinator>::of(4).entries(vec![
        Entries::AtMost(0),
        Entries::Unbounded,
        Entries::Unbounded,
        Entries::AtMost(1),
    ]);
    let report = check
        .fifo()
        .configure(|config| config.bounds.accepts_unbounded_entries = true)
        .always(MutualExclusion::new())
        .starvation_free()
        .run();
    let found = report.counterexample("starvation-freedom").unwrap_or_else(|| panic!("{report}"));
    assert_eq!(found.kind, ViolationKind::Starvation, "{found}");
    let repeats = found.run.repeats_from.expect("the end repeats");
    let cycle = &found.steps()[repeats..];
    assert!(cycle.iter().any(|step| step.ends_with("asks to enter")), "{found}");
    assert!(!cycle.iter().any(|step| step.starts_with("P4")), "{found}");
}

#[test]
fn starvation_does_not_violate_deadlock_freedom() {
    let check = Check::<UnfairCoordinator>::of(4).entries(vec![
        Entries::AtMost(0),
        Entries::Unbounded,
        Entries::Unbounded,
        Entries::AtMost(1),
    ]);
    let check = check.fifo().configure(|config| config.bounds.accepts_unbounded_entries = true);
    let report = check.deadlock_free().starvation_free().run();
    assert_eq!(report.of("deadlock-freedom"), Judgement::Holds, "{report}");
    assert_eq!(report.of("starvation-freedom"), Judgement::Violated, "{report}");
    assert!(report.to_string().contains("weak fairness"), "{report}");
}

#[test]
fn deadlock_violates_both_liveness_properties() {
    let check = Check::<Textbook>::with(2, Mistake::NoTieBreakDefer).always(Bypass::at_most(1));
    let report = check.deadlock_free().starvation_free().run();
    assert_eq!(report.of("bounded-bypass"), Judgement::Holds, "{report}");
    let found = report.counterexample("deadlock-freedom").expect("both defer");
    assert_eq!((found.kind, found.length()), (ViolationKind::Deadlock, 2));
    assert_eq!(found.explanation, "P1 and P2 wait, and no process can ever enter again");
    let found = report.counterexample("starvation-freedom").expect("both defer");
    assert_eq!((found.kind, found.length()), (ViolationKind::Deadlock, 2));
}

#[test]
fn lost_request_blocks_then_deadlocks() {
    let check = Check::<Textbook>::of(2).entries([1, 1]).losing(1).deadlock_free();
    let found = check.run();
    let found = found.counterexample("deadlock-freedom").expect("lost request");
    assert_eq!(found.kind, ViolationKind::Deadlock, "{found}");
    assert!(found.explanation.contains("no process can ever enter again"), "{found}");
}

#[test]
fn raymond_and_central_have_unbounded_bypass() {
    let config = raymond::Config::of(Shape::Path, 3);
    let raymond = with::<Raymond>(3, config).fifo().entries([1, 2, 1]);
    raymond.deadlock_free().starvation_free().run().assert_holds();
    let central = || of::<Central>(3).entries([0, 2, 2]);
    central().deadlock_free().starvation_free().run().assert_holds();
    let bypassed = central().always(Bypass::at_most(1)).run();
    assert_eq!(bypassed.of("bounded-bypass"), Judgement::Violated, "{bypassed}");
}

#[test]
fn finite_requests_hide_starvation() {
    let check = Check::<UnfairCoordinator>::of(3).entries([0, 2, 2]);
    check.fifo().always(MutualExclusion::new()).starvation_free().run().assert_holds();
}

#[test]
fn circulating_token_is_not_starvation() {
    of::<TokenRing>(3).entries(2).starvation_free().run().assert_holds();
}

#[test]
fn textbook_never_starves_with_endless_requests() {
    let check = Check::<Textbook>::of(3).entries(Entries::Unbounded).rebasing();
    check.fifo().always(MutualExclusion::new()).starvation_free().run().assert_holds();
    let check = Check::<Textbook>::of(2).entries(Entries::Unbounded).rebasing();
    check.always(MutualExclusion::new()).starvation_free().run().assert_holds();
}

#[test]
fn shipped_algorithm_never_starves_with_endless_requests() {
    let check = || of::<RicartAgrawala>(3).entries(Entries::Unbounded).rebasing();
    let with_properties = |check: ServiceCheck<RicartAgrawala>| {
        check.always(MutualExclusion::new()).always(Fencing::new()).starvation_free().run()
    };
    with_properties(check().fifo()).assert_holds();
    let bypass = check().fifo().measuring_bypass(9).run().bypass.expect("measured");
    assert_eq!((bypass.max, bypass.at_least), (2, false));
}

#[test]
#[ignore = "takes several seconds on two cores when optimised"]
fn textbook_of_four_never_starves_with_endless_requests() {
    let check = Check::<Textbook>::of(4).entries(Entries::Unbounded).rebasing().fifo();
    let report = check.always(MutualExclusion::new()).starvation_free().run();
    report.assert_holds();
    assert_eq!(report.states, 1_722_408);
}

#[test]
fn distinguishes_deadlock_from_blocked_process() {
    let check = Check::<Textbook>::with(2, Mistake::NoTieBreakDefer).starvation_free();
    let report = check.run();
    let found = report.counterexample("starvation-freedom").expect("both defer");
    assert_eq!((found.kind, found.length()), (ViolationKind::Deadlock, 2));
    assert_eq!(found.explanation, "P1 and P2 can never be served from here");
    let check = Check::<Textbook>::of(2).entries([1, 0]).losing(1).starvation_free();
    let found = check.run();
    let found = found.counterexample("starvation-freedom").expect("lost request");
    assert_eq!((found.kind, found.length()), (ViolationKind::Blocked, 2));
    assert_eq!(found.steps(), ["P1 asks to enter", "request from P1 to P2 is lost"]);
}

#[test]
fn prescribed_steps_do_not_shorten_counterexamples() {
    let run = |before: &str| {
        let action = |text: &str| text.parse::<Action>().expect("an action");
        let prefix = before.split("; ").map(action).collect();
        let check = Check::<Textbook>::of(2).entries([1, 0]).losing(1).starvation_free();
        check.configure(|config| config.model.prefix = prefix).run()
    };
    let found = run("enter p1; lose p1→p2");
    let found = found.counterexample("starvation-freedom").expect("the request is lost");
    assert_eq!((found.kind, found.length()), (ViolationKind::Blocked, 2), "{found}");
    let found = run("enter p1; deliver p1→p2; lose p2→p1");
    let found = found.counterexample("starvation-freedom").expect("the reply is lost");
    assert_eq!((found.kind, found.length()), (ViolationKind::Blocked, 3), "{found}");
    run("enter p1; deliver p1→p2; deliver p2→p1").assert_holds();
}

#[test]
fn bypass_bound_matches_catalogue() {
    let ring = of::<TokenRing>(3).entries(2).measuring_bypass(9).run();
    assert_eq!(ring.bypass.expect("measured").max, 1);
    let stamped = of::<RicartAgrawala>(2).entries(4).measuring_bypass(9).run();
    assert_eq!(stamped.bypass.expect("measured").max, 2);
    let central = of::<Central>(3).entries([0, 5, 1]).measuring_bypass(9).run();
    let central = central.bypass.expect("measured");
    assert_eq!((central.max, central.at_least), (5, false));
    assert!(!central.run.steps().is_empty());
}
