//! Liveness: blocked, deadlocked and starving are three things, and fairness tells them apart.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use serde::{Deserialize, Serialize};
use tenure_algorithms::mutex::{Central, Raymond, RicartAgrawala, TokenRing, raymond};
use tenure_check::{Check, Entries, Judgement, Manner};
use tenure_core::monitors::{Bypass, Fencing, MutualExclusion};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::tree::Shape;
use tenure_core::{Algorithm, Card, Effects, Fence, Group, ProcessId, Protocol, labelled};

use crate::among::{Among, of, with};
use crate::textbook::{Mistake, Textbook};

/// A coordinator (P1) that serves whoever it prefers: always the smallest that waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Favourites {
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

impl Protocol for Favourites {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, _: &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Favourites { group, waiting: Vec::new(), inside: None }
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
        assert!(self.group.me() == ProcessId(0), "only the coordinator keeps a queue");
    }
}

impl Algorithm for Favourites {
    fn card((): &(), _: u32) -> Card {
        Card::mutex("favourites", "the coordinator prefers some", "none")
    }
}

#[test]
fn a_coordinator_with_favourites_lets_others_starve() {
    let check = Check::<Favourites>::of(4).entries(vec![
        Entries::AtMost(0),
        Entries::Unbounded,
        Entries::Unbounded,
        Entries::AtMost(1),
    ]);
    let report =
        check.fifo().without_stamps().always(MutualExclusion::new()).starvation_free().run();
    let found = report.counterexample("starvation-freedom").unwrap_or_else(|| panic!("{report}"));
    assert_eq!(found.manner, Manner::Starvation, "{found}");
    let repeats = found.story.repeats_from.expect("the end repeats");
    let circle = &found.steps()[repeats..];
    assert!(circle.iter().any(|step| step.ends_with("asks to enter")), "{found}");
    assert!(!circle.iter().any(|step| step.starts_with("P4")), "{found}");
}

#[test]
fn deadlock_freedom_holds_where_one_process_starves() {
    let check = Check::<Favourites>::of(4).entries(vec![
        Entries::AtMost(0),
        Entries::Unbounded,
        Entries::Unbounded,
        Entries::AtMost(1),
    ]);
    let report = check.fifo().without_stamps().deadlock_free().starvation_free().run();
    assert_eq!(report.of("deadlock-freedom"), Judgement::Holds, "{report}");
    assert_eq!(report.of("starvation-freedom"), Judgement::Violated, "{report}");
    assert!(report.to_string().contains("weak fairness"), "{report}");
}

#[test]
fn a_deadlock_violates_both_and_no_bound_on_bypass() {
    let check = Check::<Textbook>::with(2, Mistake::NoTieBreakDefer).always(Bypass::at_most(1));
    let report = check.deadlock_free().starvation_free().run();
    assert_eq!(report.of("bounded-bypass"), Judgement::Holds, "{report}");
    let found = report.counterexample("deadlock-freedom").expect("both defer");
    assert_eq!((found.manner, found.length()), (Manner::Deadlock, 2));
    assert_eq!(found.says, "P1 and P2 wait, and no process can ever enter again");
    let found = report.counterexample("starvation-freedom").expect("both defer");
    assert_eq!((found.manner, found.length()), (Manner::Deadlock, 2));
}

#[test]
fn a_lost_request_blocks_one_process_and_is_a_deadlock_once_no_other_enters() {
    let check = Check::<Textbook>::of(2).entries([1, 1]).losing(1).deadlock_free();
    let found = check.run();
    let found = found.counterexample("deadlock-freedom").expect("a request is lost");
    assert_eq!(found.manner, Manner::Deadlock, "{found}");
    assert!(found.says.contains("no process can ever enter again"), "{found}");
}

#[test]
fn raymond_and_central_are_free_of_starvation_and_unbounded_in_bypass() {
    let config = raymond::Config::of(Shape::Path, 3);
    let raymond = with::<Raymond>(3, config).fifo().entries([1, 2, 1]);
    raymond.deadlock_free().starvation_free().run().assert_holds();
    let central = || of::<Central>(3).entries([0, 2, 2]);
    central().deadlock_free().starvation_free().run().assert_holds();
    let bypassed = central().always(Bypass::at_most(1)).run();
    assert_eq!(bypassed.of("bounded-bypass"), Judgement::Violated, "{bypassed}");
}

#[test]
fn with_finitely_many_requests_even_favourites_serve_everybody() {
    let check = Check::<Favourites>::of(3).entries([0, 2, 2]);
    check.fifo().always(MutualExclusion::new()).starvation_free().run().assert_holds();
}

#[test]
fn nobody_starves_on_a_ring_although_the_token_circles_for_ever() {
    of::<TokenRing>(3).entries(2).starvation_free().run().assert_holds();
}

#[test]
fn with_endless_requests_the_textbook_lets_nobody_starve() {
    let check = Check::<Textbook>::of(3).entries(Entries::Unbounded).rebasing();
    check.fifo().always(MutualExclusion::new()).starvation_free().run().assert_holds();
    let check = Check::<Textbook>::of(2).entries(Entries::Unbounded).rebasing();
    check.always(MutualExclusion::new()).starvation_free().run().assert_holds();
}

#[test]
fn with_endless_requests_nobody_starves_in_the_algorithm_that_ships() {
    let check = || of::<RicartAgrawala>(3).entries(Entries::Unbounded).rebasing();
    let judged = |check: Among<RicartAgrawala>| {
        check.always(MutualExclusion::new()).always(Fencing::new()).starvation_free().run()
    };
    judged(check().fifo()).assert_holds();
    let bypass = check().fifo().measuring_bypass(9).run().bypass.expect("measured");
    assert_eq!((bypass.most, bypass.at_least), (2, false));
}

#[test]
#[ignore = "several seconds of two cores when optimised"]
fn with_endless_requests_of_four_the_textbook_lets_nobody_starve() {
    let check = Check::<Textbook>::of(4).entries(Entries::Unbounded).rebasing().fifo();
    let report = check.always(MutualExclusion::new()).starvation_free().run();
    report.assert_holds();
    assert_eq!(report.states, 1_722_408);
}

#[test]
fn a_deadlock_of_two_is_told_from_one_that_is_blocked() {
    let check = Check::<Textbook>::with(2, Mistake::NoTieBreakDefer).starvation_free();
    let report = check.run();
    let found = report.counterexample("starvation-freedom").expect("both defer");
    assert_eq!((found.manner, found.length()), (Manner::Deadlock, 2));
    assert_eq!(found.says, "P1 and P2 can never be served from here");
    let check = Check::<Textbook>::of(2).entries([1, 0]).losing(1).starvation_free();
    let found = check.run();
    let found = found.counterexample("starvation-freedom").expect("a request is lost");
    assert_eq!((found.manner, found.length()), (Manner::Blocked, 2));
    assert_eq!(found.steps(), ["P1 asks to enter", "request from P1 to P2 is lost"]);
}

#[test]
fn the_bypass_bound_is_that_of_the_catalogue() {
    let ring = of::<TokenRing>(3).entries(2).measuring_bypass(9).run();
    assert_eq!(ring.bypass.expect("measured").most, 1);
    let stamped = of::<RicartAgrawala>(2).entries(4).measuring_bypass(9).run();
    assert_eq!(stamped.bypass.expect("measured").most, 2);
    let central = of::<Central>(3).entries([0, 5, 1]).measuring_bypass(9).run();
    let central = central.bypass.expect("measured");
    assert_eq!((central.most, central.at_least), (5, false));
    assert!(!central.story.steps().is_empty());
}
