//! Tests of crashes between a save and the release of the effects. The checker must also detect a
//! runner that releases effects before it saves.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use tenure_algorithms::Variants;
use tenure_algorithms::election::{RaftElection, raft};
use tenure_check::{Check, CheckReport, Checkable, SaveTiming};
use tenure_core::monitors::{LeaderScope, OneLeader};
use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Algorithm, Card, Delay, Effects, ElectionObservation, Group, Monitor, Observation, ProcessId,
    Property, Protocol, TICKS_PER_TIME_UNIT, Term, Violation,
};
use tenure_sim::{ProcessConfigs, Settings, Simulation};
use tenure_trace::{Record, RecordKind, Schedule, ScriptAction, merge_files_for_verification};

use crate::by_service::with;
use crate::catalogue::violated;

/// A process that counts how often its three timers fire. It saves the count and reports it to the
/// user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FiringCounter {
    me: ProcessId,
    count: u64,
}

impl Protocol for FiringCounter {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = u8;
    type Stable = u64;

    fn boot(group: Group, (): &(), saved: Option<u64>, fx: &mut impl Effects<Self>) -> Self {
        (0..3).for_each(|timer| fx.set_timer(timer, Delay::ticks(1)));
        FiringCounter { me: group.me(), count: saved.unwrap_or_default() }
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

impl Algorithm for FiringCounter {
    fn card((): &(), _: u32) -> Card {
        Card::election("counting", "reports how often its timers have fired", "none")
    }
}

/// Monitor of a process that counts its steps and reports the count to its user. The monitor
/// permits the process to skip at most `max` successive counts between two reports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MaxSkipped {
    max: u64,
    last: u64,
}

impl Monitor<Command, Event> for MaxSkipped {
    fn property(&self) -> Property {
        Property::FreshTerms
    }

    fn observe(&mut self, at: ProcessId, seen: ElectionObservation<'_>) -> Result<(), Violation> {
        let Observation::Event(Event::Elected { term, .. }) = seen else { return Ok(()) };
        let skipped = term.number - self.last - 1;
        self.last = term.number;
        if skipped > self.max {
            return Err(Violation { at, message: format!("{skipped} were never seen") });
        }
        Ok(())
    }
}

fn counting(saving: SaveTiming, max: u64) -> CheckReport {
    let check = Check::<FiringCounter>::with_protocol_config(1, ())
        .initiators([])
        .max_crashes(1)
        .max_recoveries(1);
    let check = check.configure(|config| config.faults.saving = saving);
    check.always(MaxSkipped { max, last: 0 }).run()
}

/// A process saves one step, or several steps together, and crashes before it releases their
/// effects. None of these effects is released later.
#[test]
fn crash_after_save_suppresses_all_effects() {
    counting(SaveTiming::Atomic, 0).assert_holds();
    // The run has `skipped + 1` steps whose effects are lost, and four further steps: the process
    // stops releasing effects, crashes, recovers and reports a count.
    for skipped in 0..3 {
        let report = counting(SaveTiming::BeforeRelease, skipped);
        violated(&report, "fresh-terms", 5 + usize::try_from(skipped).expect("a few"));
        let visible_records = report.to_string();
        assert!(visible_records.contains("without releasing their effects"), "{visible_records}");
    }
    counting(SaveTiming::BeforeRelease, 3).assert_holds();
}

fn three() -> raft::Config {
    let plain = raft::Config::with_defaults(3, TICKS_PER_TIME_UNIT);
    raft::Config { heartbeat_modulus: 1, variants: Variants::none(), ..plain }
}

fn raft(saving: SaveTiming, in_flight: usize) -> CheckReport {
    let check =
        with::<RaftElection>(3, three()).max_term(1).in_flight_per_link(in_flight).initiators([]);
    let check = check.max_crashes(1).max_recoveries(1);
    let check = check.configure(|config| config.faults.saving = saving);
    check.always(OneLeader::new(LeaderScope::PerTerm)).run()
}

#[test]
fn raft_votes_once_despite_crash_around_save() {
    let (at_once, apart) = (raft(SaveTiming::Atomic, 1), raft(SaveTiming::BeforeRelease, 1));
    at_once.assert_holds();
    apart.assert_holds();
    assert_eq!((at_once.states, apart.states), (11_895, 18_507));
}

/// The checker detects a runner that releases a vote before it saves the vote: the process may vote
/// twice.
#[test]
fn finds_runner_that_releases_before_saving() {
    violated(&raft(SaveTiming::AfterRelease, 2), "one-leader-per-term", 8);
}

/// Returns the events that users see, and the records about saves, crashes and recoveries.
fn visible_records(records: &[Record]) -> Vec<Record> {
    let of_note = |it: &&Record| {
        matches!(
            it.kind,
            RecordKind::Event(_)
                | RecordKind::Mute
                | RecordKind::Unsaved
                | RecordKind::Crash
                | RecordKind::Recover
        )
    };
    let records = records.iter().filter(of_note);
    records.map(|it| Record::new(0, it.process, it.kind.clone())).collect()
}

/// Asserts that the checker and the simulator can replay the counterexample in `report`. Saves are
/// lost in this counterexample. Without the steps that lose a save, the replay must fail, or must
/// lead to a different run.
fn assert_replays<P: Checkable>(
    (size, config): (u32, P::Config),
    check: Check<impl Checkable>,
    report: &CheckReport,
) {
    let found = report.shortest_counterexample().expect("violated property");
    let schedule = Schedule::from_trace(&found.trace).expect("a schedule");
    assert_eq!(schedule.step_count(), found.step_count(), "{found}");
    let wanted = visible_records(&found.trace.records);
    let again = check.run_schedule(&schedule).expect("each step is possible");
    assert_eq!(visible_records(&again.records), wanted, "in the checker");
    let folder = tempfile::tempdir().expect("a folder");
    let simulated = |schedule: &Schedule| {
        let file = folder.path().join("simulated.ndjson");
        let to = std::fs::File::create(&file).expect("a file");
        let simulation =
            Simulation::<P>::new(ProcessConfigs::Shared(config.clone()), Settings::new(size));
        simulation
            .run_schedule(schedule, to)
            .map(|_| merge_files_for_verification(vec![file]).expect("a trace").records)
    };
    let records = simulated(&schedule).expect("each step is possible");
    assert_eq!(visible_records(&records), wanted, "in the simulator");
    let is_save_fault =
        |action: &ScriptAction| matches!(action, ScriptAction::Mute(_) | ScriptAction::Unsaved(_));
    let mut other = schedule.clone();
    other.actions.retain(|action| !is_save_fault(action));
    assert_ne!(other, schedule, "the schedule contains a lost save");
    let other = simulated(&other).map(|records| visible_records(&records));
    let mut without = wanted;
    without.retain(|it| !matches!(it.kind, RecordKind::Mute | RecordKind::Unsaved));
    assert_ne!(other.ok(), Some(without), "the lost save changes the run");
}

#[test]
fn lost_step_is_lost_again_in_replay() {
    assert_replays::<RaftElection>(
        (3, three()),
        with::<RaftElection>(3, three()),
        &raft(SaveTiming::AfterRelease, 2),
    );
    for skipped in 0..3 {
        let check = Check::<FiringCounter>::with_protocol_config(1, ());
        assert_replays::<FiringCounter>(
            (1, ()),
            check,
            &counting(SaveTiming::BeforeRelease, skipped),
        );
    }
}
