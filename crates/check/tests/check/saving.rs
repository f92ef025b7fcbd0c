//! Crashes between a save and what it lets go; and a runner that lets go before it saves, which
//! must be found.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use tenure_algorithms::Variants;
use tenure_algorithms::election::{Raft, raft};
use tenure_check::{Check, Report, Saving};
use tenure_core::monitors::{OneLeader, Scope};
use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Algorithm, Card, Delay, Effects, Group, Monitor, Observed, ProcessId, Property, Protocol,
    TICKS_PER_UNIT, Term, Violation,
};

use crate::catalogue::violated;

/// Counts when any of three timers fires, and tells the number: what was counted is saved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Counting {
    me: ProcessId,
    count: u64,
}

impl Protocol for Counting {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = u8;
    type Stable = u64;

    fn boot(group: Group, (): &(), saved: Option<u64>, fx: &mut impl Effects<Self>) -> Self {
        (0..3).for_each(|timer| fx.set_timer(timer, Delay::ticks(1)));
        Counting { me: group.me(), count: saved.unwrap_or_default() }
    }

    fn stable(&self) -> u64 {
        self.count
    }

    fn on_command(&mut self, _: Command, _: &mut impl Effects<Self>) {}

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}

    fn on_timer(&mut self, _: u8, fx: &mut impl Effects<Self>) {
        self.count += 1;
        let (number, leader) = (self.count, self.me);
        fx.emit(Event::Elected { leader, term: Term { number, leader } });
    }
}

impl Algorithm for Counting {
    fn card((): &(), _: u32) -> Card {
        Card::election("counting", "tells how often its timers have fired", "none")
    }
}

/// Of what is counted, at most so many numbers in a row are never told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Skipped {
    most: u64,
    last: u64,
}

impl Monitor<Command, Event> for Skipped {
    fn property(&self) -> Property {
        Property::FreshTerms
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        let Observed::Event(Event::Elected { term, .. }) = seen else { return Ok(()) };
        let skipped = term.number - self.last - 1;
        self.last = term.number;
        if skipped > self.most {
            return Err(Violation { at, says: format!("{skipped} were never told") });
        }
        Ok(())
    }
}

fn counting(saving: Saving, most: u64) -> Report {
    let check = Check::<Counting>::with(1, ()).initiators([]).crashing(1).recovering(1);
    check.saving(saving).always(Skipped { most, last: 0 }).run()
}

/// Nobody hears of one step that was saved, nor of several that one save covered.
#[test]
fn of_what_is_saved_before_a_crash_nobody_hears_however_many_steps_share_the_save() {
    counting(Saving::AtOnce, 0).assert_holds();
    // Each step, becoming mute, the crash, the way back, and the step that tells of it.
    for skipped in 0..3 {
        let report = counting(Saving::Apart, skipped);
        violated(&report, "fresh-terms", 5 + usize::try_from(skipped).expect("a few"));
        let told = report.to_string();
        assert!(told.contains("nobody hears of it: it will crash"), "{told}");
    }
    counting(Saving::Apart, 3).assert_holds();
}

fn raft(saving: Saving, in_flight: usize) -> Report {
    let config = raft::Config {
        rounds: 1,
        variants: Variants::none(),
        ..raft::Config::plain(3, TICKS_PER_UNIT)
    };
    let check = Check::<Raft>::with(3, config).term_max(1).in_flight(in_flight).initiators([]);
    let check = check.crashing(1).recovering(1).saving(saving);
    check.always(OneLeader::new(Scope::PerTerm)).run()
}

#[test]
fn raft_votes_once_wherever_a_crash_comes() {
    let (at_once, apart) = (raft(Saving::AtOnce, 1), raft(Saving::Apart, 1));
    at_once.assert_holds();
    apart.assert_holds();
    assert_eq!((at_once.states, apart.states), (11_895, 18_507));
}

/// The negative control: a vote that left before it was saved is given twice.
#[test]
fn a_runner_that_releases_before_it_saves_is_found() {
    violated(&raft(Saving::Late, 2), "one-leader-per-term", 8);
}
