//! Tests of applications that run at an elected leader, in every schedule. In these tests, the
//! election derives the leader from the failure detector alone, which keeps the number of states
//! small.
//!
//! The expected numbers of states are earlier results of this checker, which no other program has
//! confirmed. They change only if the algorithm or the checker changes.

use tenure_algorithms::application::with_election::{self, WithElection};
use tenure_algorithms::application::{
    Application, Berkeley, PrimaryBackup, SpanningTree, ThreePhaseCommit, TwoPhaseCommit, berkeley,
    primary_backup, spanning_tree, three_phase_commit, two_phase_commit,
};
use tenure_algorithms::channel::{FifoChannel, fifo};
use tenure_algorithms::election::{Bully, bully};
use tenure_check::{Check, CheckReport, Checkable, ViolationKind};
use tenure_core::monitors::{
    ApplicationProjection, OneTreePerWave, TransactionAtomicity, WriteDurability,
};
use tenure_core::service::clock_synchronisation;
use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Effects, Group, Monitor, Observation, PeerVerdict, ProcessId, ProcessSet, Property, Protocol,
    TICKS_PER_TIME_UNIT, Term, Violation,
};
use tenure_trace::TraceVerifier;

use crate::by_service::variants;
use crate::catalogue::holds;
use crate::either::Either::{self, First, Second};

/// An election without messages. P1 leads first. When a process suspects its leader, it follows the
/// trusted process with the next higher number. The leadership never returns to a lower number, so
/// no term occurs twice. A recovered process follows no leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct DetectorElection {
    group: Group,
    suspected: ProcessSet,
    leader: Option<ProcessId>,
}

impl Protocol for DetectorElection {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, (): &(), stable: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let mut process = DetectorElection { group, suspected: ProcessSet::new(), leader: None };
        if stable.is_none() {
            process.follow(ProcessId(0), fx);
        }
        process
    }

    fn stable(&self) {}

    fn on_command(&mut self, _: Command, _: &mut impl Effects<Self>) {}

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        if verdict == PeerVerdict::Trust {
            self.suspected.remove(peer);
            return;
        }
        self.suspected.insert(peer);
        if self.leader == Some(peer) {
            fx.emit(Event::Deposed { term: term_of(peer) });
            let later = |next: &ProcessId| *next > peer && !self.suspected.contains(*next);
            self.leader = self.group.processes().find(later);
            if let Some(next) = self.leader {
                self.follow(next, fx);
            }
        }
    }
}

impl DetectorElection {
    fn follow(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        self.leader = Some(leader);
        fx.emit(Event::Elected { leader, term: term_of(leader) });
    }
}

fn term_of(leader: ProcessId) -> Term {
    Term { number: u64::from(leader.display_number()), leader }
}

type AnyElection = Either<DetectorElection, Bully>;
type Plain<A> = WithElection<A, AnyElection>;

/// An application over plain links or over the reliable channel.
type Any<A> = Either<Plain<A>, FifoChannel<Plain<A>>>;

type AnyCommit = Either<TwoPhaseCommit, ThreePhaseCommit>;

fn under_detector_election<A>(
    application: A,
) -> with_election::Config<A, Either<(), bully::Config>> {
    with_election::Config { application, election: First(()) }
}

fn over_plain_links<A: Application + Checkable>(
    size: u32,
    application: A::Config,
) -> Check<Any<A>> {
    Check::with_protocol_config(size, First(under_detector_election(application)))
}

/// Asserts that every property holds, and returns the number of states.
fn states(report: CheckReport) -> u64 {
    report.assert_holds();
    assert!(report.bounds.is_empty(), "{report}");
    report.states
}

/// Returns the length and the kind of the counterexample to a property. Also verifies the trace of
/// the counterexample. Asserts that this verification reports a violation that a step causes, and
/// no violation of another kind, such as a deadlock.
fn steps(report: CheckReport, property: &str) -> (usize, ViolationKind) {
    let found = report.counterexample(property).unwrap_or_else(|| panic!("{report}"));
    let mut judge = TraceVerifier::new(&found.trace.header);
    found.trace.records.iter().for_each(|record| judge.verify_record(record));
    let violations = judge.finish().violations;
    let is_seen = violations.iter().any(|violated| violated.property.name() == property);
    assert_eq!(is_seen, found.kind == ViolationKind::Step, "{violations:?}");
    (found.step_count(), found.kind)
}

fn replicated(size: u32, switches: &[primary_backup::VariantId]) -> Check<Any<PrimaryBackup>> {
    let check = over_plain_links(size, variants(switches));
    let check = check.fifo().detecting_failures().initiators([]).in_flight_per_link(8);
    check.always(ApplicationProjection(WriteDurability::new()))
}

#[test]
fn acknowledged_writes_survive_crashes_and_false_suspicions() {
    let two = || replicated(2, &[]).request_limits([2, 1]);
    let three = || replicated(3, &[]).request_limits([1, 1, 0]);
    let found = [
        two().check_progress().run(),
        two().max_crashes(1).max_recoveries(1).run(),
        two().max_false_suspicions(1).run(),
        three().max_crashes(1).run(),
        three().max_false_suspicions(1).run(),
    ];
    assert_eq!(found.map(states), [48, 2326, 1336, 4024, 149_100]);
}

#[test]
fn unsound_primary_loses_acknowledged_writes() {
    use primary_backup::VariantId::{AcknowledgeEarly, NoInquiry, NoTerms};
    let once = |switch| replicated(3, &[switch]).request_limits([1, 0, 0]);
    let found = [
        once(AcknowledgeEarly).max_crashes(1).run(),
        once(NoInquiry).max_crashes(1).run(),
        replicated(3, &[NoTerms]).request_limits([1, 1, 0]).max_false_suspicions(1).run(),
    ];
    let found = found.map(|report| steps(report, "durability"));
    assert_eq!(found, [11, 9, 12].map(|length| (length, ViolationKind::Step)));
}

fn committing(size: u32, switches: &[two_phase_commit::VariantId]) -> Check<Any<AnyCommit>> {
    transaction(size, First(variants(switches)))
}

fn transaction(size: u32, config: <AnyCommit as Protocol>::Config) -> Check<Any<AnyCommit>> {
    let check = over_plain_links(size, config);
    let check = check.fifo().detecting_failures().initiators([]).in_flight_per_link(8);
    check
        .request_limits(&[1, 0, 0][..size as usize])
        .always(ApplicationProjection(TransactionAtomicity::new()))
}

#[test]
fn two_phase_commit_is_atomic_under_one_crash() {
    let found = [
        committing(2, &[]).check_progress().run(),
        committing(3, &[]).check_progress().run(),
        committing(2, &[]).max_crashes(2).max_recoveries(1).run(),
        committing(3, &[]).max_crashes(1).run(),
        committing(2, &[]).max_false_suspicions(1).check_progress().run(),
        committing(3, &[]).max_false_suspicions(1).run(),
    ];
    assert_eq!(found.map(states), [60, 920, 3500, 8080, 978, 170_418]);
}

#[test]
#[ignore = "takes some seconds on two cores"]
fn two_phase_commit_is_atomic_with_two_crashes_and_recovery() {
    assert_eq!(states(committing(3, &[]).max_crashes(2).max_recoveries(1).run()), 3_193_411);
}

#[test]
#[ignore = "long: 6 s"]
fn crashed_coordinator_blocks_others_until_recovery() {
    let crashing = |size| committing(size, &[]).max_crashes(1).crashing_only([ProcessId(0)]);
    let for_good = [2, 3].map(|size| steps(crashing(size).check_progress().run(), "progress"));
    assert_eq!(for_good, [(4, ViolationKind::Blocked), (6, ViolationKind::Deadlock)]);
    // If P1 recovers, the waiting processes decide. Progress is still violated, because P1 need not
    // recover.
    let and_back = [2, 3].map(|size| {
        let report = crashing(size).max_recoveries(1).check_progress().run();
        holds(&report, "atomicity");
        steps(report, "progress").1
    });
    assert_eq!(and_back, [ViolationKind::End; 2]);
}

#[test]
fn unsound_two_phase_commit_violates_atomicity() {
    use two_phase_commit::VariantId::{Guess, NoTerms, Unlogged};
    let crashing = |size, switch| committing(size, &[switch]).max_crashes(1);
    let found = [
        crashing(2, Guess).run(),
        crashing(3, Guess).run(),
        committing(3, &[NoTerms]).max_false_suspicions(1).run(),
        // The recovered process has lost its vote, so a new leader concludes that this process
        // never voted.
        committing(3, &[Unlogged]).max_crashes(2).max_recoveries(1).run(),
    ];
    let found = found.map(|report| steps(report, "atomicity"));
    let steps = |length| (length, ViolationKind::Step);
    assert_eq!(found, [7, 13, 12, 15].map(steps));
}

fn three_phase(size: u32, switches: &[three_phase_commit::VariantId]) -> Check<Any<AnyCommit>> {
    transaction(size, Second(variants(switches)))
}

/// With perfect failure detection, three-phase commit (Skeen) never blocks a live process.
#[test]
fn three_phase_commit_survives_coordinator_crash() {
    let found = [
        three_phase(2, &[]).max_crashes(1).check_progress().run(),
        three_phase(3, &[]).max_crashes(1).check_progress().run(),
        three_phase(2, &[]).max_crashes(2).max_recoveries(1).run(),
    ];
    assert_eq!(found.map(states), [201, 9098, 4990]);
}

#[test]
#[ignore = "takes half a minute on two cores"]
fn three_phase_commit_survives_two_crashes_of_three() {
    let found = [
        three_phase(3, &[]).max_crashes(2).check_progress().run(),
        three_phase(3, &[]).max_crashes(2).max_recoveries(1).run(),
    ];
    assert_eq!(found.map(states), [13_580, 6_164_856]);
}

/// A partition makes the processes on each side suspect the processes on the opposite side. With
/// three-phase commit, each side then decides alone. With two-phase commit, the processes wait for
/// the opposite side.
#[test]
fn partition_splits_three_phases_and_blocks_two_phases() {
    let parted = three_phase(3, &[]).partitioning([ProcessId(0)]).run();
    assert_eq!(steps(parted, "atomicity"), (15, ViolationKind::Step));
    committing(3, &[]).partitioning([ProcessId(0)]).run().assert_holds();
}

#[test]
fn unsound_three_phase_commit_violates_atomicity() {
    use three_phase_commit::VariantId::{CommitDirectly, TwoPhases};
    let found = [
        three_phase(3, &[TwoPhases]).max_crashes(1).run(),
        three_phase(3, &[CommitDirectly]).max_crashes(2).run(),
    ];
    let found = found.map(|report| steps(report, "atomicity"));
    let steps = |length| (length, ViolationKind::Step);
    assert_eq!(found, [13, 17].map(steps));
}

fn growing(size: u32, edges: &[(u32, u32)]) -> Check<Any<SpanningTree>> {
    let edges = edges.iter().map(|(one, other)| (ProcessId(*one), ProcessId(*other)));
    let check = over_plain_links(size, spanning_tree::Config::with_edges_and_echoes(size, edges));
    let check = check.detecting_failures().initiators([]).request_limits(0);
    check.always(ApplicationProjection(OneTreePerWave::new()))
}

#[test]
fn every_schedule_builds_a_spanning_tree() {
    let path = [(0, 1), (1, 2)];
    let triangle = [(0, 1), (1, 2), (0, 2)];
    let square = [(0, 1), (1, 2), (2, 3), (3, 0)];
    let found = [
        growing(2, &path[..1]).check_progress().run(),
        growing(3, &path).check_progress().run(),
        growing(3, &triangle).check_progress().run(),
        growing(4, &square).check_progress().run(),
        growing(3, &triangle).fifo().max_crashes(1).check_progress().run(),
    ];
    assert_eq!(found.map(states), [3, 5, 28, 50, 491]);
}

fn synchronising(size: u32, clock_readings: u32) -> Check<Plain<Berkeley>> {
    let config = under_detector_election(berkeley::Config::default());
    let check = Check::with_protocol_config(size, config)
        .detecting_failures()
        .initiators([])
        .request_limits(0);
    check.configure(|config| config.model.clock_readings = clock_readings)
}

/// Monitor that requires that the clock adjustments of one round sum to zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ZeroSum(i64);

impl Monitor<clock_synchronisation::Command, clock_synchronisation::Event> for ZeroSum {
    fn property(&self) -> Property {
        Property::Custom("balance")
    }

    fn observe(
        &mut self,
        _: ProcessId,
        seen: Observation<'_, clock_synchronisation::Command, clock_synchronisation::Event>,
    ) -> Result<(), Violation> {
        if let Observation::Event(clock_synchronisation::Event::Adjusted { by, .. }) = seen {
            self.0 += by;
        }
        Ok(())
    }

    fn check_final_state(&self) -> Result<(), Violation> {
        if self.0 == 0 {
            return Ok(());
        }
        let description = format!("adjustments differ from zero by {} ticks", self.0);
        Err(Violation { at: ProcessId(0), message: description })
    }
}

#[test]
fn clock_adjustments_sum_to_zero_and_survive_crashes() {
    let balanced =
        |check: Check<Plain<Berkeley>>| check.always_and_at_end(ApplicationProjection(ZeroSum(0)));
    let found = [
        balanced(synchronising(2, 3)).check_progress().run(),
        balanced(synchronising(3, 2)).check_progress().run(),
        synchronising(2, 2).max_crashes(1).check_progress().run(),
        synchronising(3, 1).max_crashes(1).check_progress().run(),
    ];
    assert_eq!(found.map(states), [30, 158, 57, 188]);
    // If a process crashes during a round, only some processes adjust their clocks, so the sum is
    // not zero.
    let report = balanced(synchronising(3, 2)).max_crashes(1).run();
    assert_eq!(steps(report, "balance"), (5, ViolationKind::End));
}

/// The links lose, duplicate and reorder messages. A link that holds one message loses every
/// further message. The reliable channel hides these faults from the applications.
#[test]
fn reliable_channel_hides_loss_and_duplication() {
    fn over<A: Application + Checkable>(inner: A::Config) -> Check<Any<A>> {
        let around = fifo::Config::with_inner_config(under_detector_election(inner));
        let check = Check::with_protocol_config(2, Second(fifo::Config { window: 1, ..around }));
        check
            .request_limits([1, 0])
            .initiators([])
            .in_flight_per_link(1)
            .max_losses(1)
            .max_duplicates(1)
            .check_progress()
    }
    let primary = over::<PrimaryBackup>(primary_backup::Config::default());
    let primary = primary.always(ApplicationProjection(WriteDurability::new())).run();
    let commit = over::<AnyCommit>(First(two_phase_commit::Config::default()));
    let commit = commit.always(ApplicationProjection(TransactionAtomicity::new())).run();
    let edge = [(ProcessId(0), ProcessId(1))];
    let tree = over::<SpanningTree>(spanning_tree::Config::with_edges_and_echoes(2, edge));
    let tree = tree.always(ApplicationProjection(OneTreePerWave::new())).run();
    for report in [&primary, &commit, &tree] {
        report.assert_holds();
    }
    assert_eq!([primary, commit, tree].map(|report| report.states), [658, 2702, 322]);
}

/// Replication and commit keep their properties if the bully algorithm elects the leader. In the
/// other tests of this module, the election sends no messages.
#[test]
fn applications_are_sound_under_bully_election() {
    fn under<A: Application + Checkable>(size: u32, inner: A::Config) -> Check<Any<A>> {
        let election = Second(bully::Config::with_defaults(size, TICKS_PER_TIME_UNIT));
        let check = Check::with_protocol_config(
            size,
            First(with_election::Config { application: inner, election }),
        );
        check
            .fifo()
            .detecting_failures()
            .initiators([ProcessId(size - 1)])
            .in_flight_per_link(8)
            .request_limits(1)
    }
    let written = under::<PrimaryBackup>(2, primary_backup::Config::default()).max_crashes(1);
    let done = under::<AnyCommit>(2, First(two_phase_commit::Config::default())).max_crashes(1);
    let found = [
        written.always(ApplicationProjection(WriteDurability::new())).run(),
        done.always(ApplicationProjection(TransactionAtomicity::new())).run(),
    ];
    assert_eq!(found.map(states), [218, 693]);
}
