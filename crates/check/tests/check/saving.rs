//! Crashes between a save and what it lets go; and a runner that lets go before it saves, which
//! must be found.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use tenure_algorithms::Variants;
use tenure_algorithms::election::{Raft, raft};
use tenure_check::{Check, Checkable, Report, Saving};
use tenure_core::monitors::{OneLeader, Scope};
use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Algorithm, Card, Delay, Effects, Group, Monitor, Observed, ProcessId, Property, Protocol,
    TICKS_PER_UNIT, Term, Violation,
};
use tenure_sim::{Configs, Settings, Simulation};
use tenure_trace::{Action, Course, Kind, Record, merge_files};

use crate::among::with;
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

fn three() -> raft::Config {
    let plain = raft::Config::plain(3, TICKS_PER_UNIT);
    raft::Config { rounds: 1, variants: Variants::none(), ..plain }
}

fn raft(saving: Saving, in_flight: usize) -> Report {
    let check = with::<Raft>(3, three()).term_max(1).in_flight(in_flight).initiators([]);
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

/// What users were told, and what became of saves.
fn told(records: &[Record]) -> Vec<Record> {
    let of_note = |it: &&Record| {
        matches!(it.kind, Kind::Event(_) | Kind::Mute | Kind::Unsaved | Kind::Crash | Kind::Recover)
    };
    let records = records.iter().filter(of_note);
    records.map(|it| Record::new(0, it.process, it.kind.clone())).collect()
}

/// A counterexample happens again in checker and simulator, and does not without what was lost.
fn happens_again<P: Checkable>(
    (size, config): (u32, P::Config),
    check: Check<impl Checkable>,
    report: &Report,
) {
    let found = report.shortest().expect("it is violated");
    let course = Course::of_trace(&found.trace).expect("a course");
    assert_eq!(course.steps(), found.length(), "{found}");
    let wanted = told(&found.trace.records);
    let again = check.follow(&course);
    assert_eq!(told(&again.expect("each step is possible").records), wanted, "in the checker");
    let folder = tempfile::tempdir().expect("a folder");
    let simulated = |course: &Course| {
        let file = folder.path().join("simulated.ndjson");
        let to = std::fs::File::create(&file).expect("a file");
        let simulation = Simulation::<P>::new(Configs::Shared(config.clone()), Settings::new(size));
        simulation.follow(course, to).map(|_| merge_files(vec![file]).expect("a trace").records)
    };
    let records = simulated(&course).expect("each step is possible");
    assert_eq!(told(&records), wanted, "in the simulator");
    let lapses = |action: &Action| matches!(action, Action::Mute(_) | Action::Unsaved(_));
    let mut other = course.clone();
    other.actions.retain(|action| !lapses(action));
    assert_ne!(other, course, "something was lost");
    let other = simulated(&other).map(|records| told(&records));
    let without: Vec<Record> = wanted
        .iter()
        .filter(|it| !matches!(it.kind, Kind::Mute | Kind::Unsaved))
        .cloned()
        .collect();
    assert!(other.is_err() || other.is_ok_and(|other| other != without), "it made a difference");
}

#[test]
fn what_a_crash_lost_is_lost_again_wherever_the_run_is_made_again() {
    happens_again::<Raft>((3, three()), with::<Raft>(3, three()), &raft(Saving::Late, 2));
    for skipped in 0..3 {
        let check = Check::<Counting>::with(1, ());
        happens_again::<Counting>((1, ()), check, &counting(Saving::Apart, skipped));
    }
}
