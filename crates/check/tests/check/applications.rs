//! What a leader is elected for, in every schedule: under a leader that every process makes out for
//! itself from what its detector says, which has few states.
//!
//! Numbers of states are pins against regressions: the program printed them, and nobody else did.

use tenure_algorithms::Variants;
use tenure_algorithms::application::led::{self, Led};
use tenure_algorithms::application::{
    Application, Berkeley, PrimaryBackup, SpanningTree, ThreePhaseCommit, TwoPhaseCommit, berkeley,
    primary_backup, spanning_tree, three_phase_commit, two_phase_commit,
};
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::election::{Bully, bully};
use tenure_check::{Check, Checkable, Entries, Manner, Report};
use tenure_claims::claims;
use tenure_core::monitors::{Atomicity, Durability, OnApplication, OneTree};
use tenure_core::service::clock;
use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Effects, Group, Monitor, Observed, ProcessId, ProcessSet, Property, Protocol, TICKS_PER_UNIT,
    Term, Verdict, Violation,
};
use tenure_trace::Judge;

use crate::catalogue::holds;

/// The first of those whom a process trusts leads, and whoever was suspected as leader or comes
/// back never does again: so no two terms are the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Succession {
    group: Group,
    suspected: ProcessSet,
    leader: Option<ProcessId>,
}

impl Protocol for Succession {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, (): &(), stable: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let mut process = Succession { group, suspected: ProcessSet::new(), leader: None };
        if stable.is_none() {
            process.follow(ProcessId(0), fx);
        }
        process
    }

    fn stable(&self) {}

    fn on_command(&mut self, _: Command, _: &mut impl Effects<Self>) {}

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        if verdict == Verdict::Trust {
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

impl Succession {
    fn follow(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        self.leader = Some(leader);
        fx.emit(Event::Elected { leader, term: term_of(leader) });
    }
}

fn term_of(leader: ProcessId) -> Term {
    Term { number: u64::from(leader.number()), leader }
}

fn under_succession<A>(application: A) -> led::Config<A, ()> {
    led::Config { application, election: () }
}

/// How many states there are, where everything holds in all of them.
fn states(report: Report) -> u64 {
    report.assert_holds();
    assert!(report.bounds.is_empty(), "{report}");
    report.states
}

/// How many steps it takes to violate a property, and how. Its trace is judged as the search was.
fn steps(report: Report, property: &str) -> (usize, Manner) {
    let found = report.counterexample(property).unwrap_or_else(|| panic!("{report}"));
    let mut judge = Judge::new(&found.trace.header);
    found.trace.records.iter().for_each(|record| judge.read(record));
    let violations = judge.finish().violations;
    let is_seen = violations.iter().any(|violated| violated.property.name() == property);
    assert_eq!(is_seen, found.manner == Manner::Step, "{violations:?}");
    (found.length(), found.manner)
}

type Replicated = Led<PrimaryBackup, Succession>;

fn replicated(size: u32, switches: &[primary_backup::Switch]) -> Check<Replicated> {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    let config = under_succession(primary_backup::Config { variants });
    let check = Check::with(size, config).fifo().detecting().initiators([]).in_flight(8);
    check.always(OnApplication(Durability::new()))
}

#[claims("4-replication")]
#[test]
fn no_acknowledged_write_is_lost_by_two_or_three_whoever_crashes_or_is_suspected() {
    let two = || replicated(2, &[]).entries([2, 1]);
    let three = || replicated(3, &[]).entries([1, 1, 0]);
    let found = [
        two().progress().run(),
        two().crashing(1).recovering(1).run(),
        two().suspecting_falsely(1).run(),
        three().crashing(1).run(),
        three().suspecting_falsely(1).run(),
    ];
    assert_eq!(found.map(states), [48, 2326, 1336, 4024, 149_100]);
}

#[claims("4-replication")]
#[test]
fn without_its_rules_a_primary_loses_what_it_acknowledged() {
    use primary_backup::Switch::{AcknowledgeEarly, NoInquiry, NoTerms};
    let once = |switch| replicated(3, &[switch]).entries([1, 0, 0]);
    let found = [
        once(AcknowledgeEarly).crashing(1).run(),
        once(NoInquiry).crashing(1).run(),
        replicated(3, &[NoTerms]).entries([1, 1, 0]).suspecting_falsely(1).run(),
    ];
    let found = found.map(|report| steps(report, "durability"));
    assert_eq!(found, [(11, Manner::Step), (9, Manner::Step), (12, Manner::Step)]);
}

type Committing = Led<TwoPhaseCommit, Succession>;

fn committing(size: u32, switches: &[two_phase_commit::Switch]) -> Check<Committing> {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    let config = under_succession(two_phase_commit::Config { variants });
    let check = Check::with(size, config).fifo().detecting().initiators([]).in_flight(8);
    let check = match size {
        2 => check.entries([1, 0]),
        _ => check.entries([1, 0, 0]),
    };
    check.always(OnApplication(Atomicity::new()))
}

#[claims("4-commit")]
#[test]
fn all_commit_or_all_abort_and_whoever_crashes_none_does_the_other() {
    let found = [
        committing(2, &[]).progress().run(),
        committing(3, &[]).progress().run(),
        committing(2, &[]).crashing(2).recovering(1).run(),
        committing(3, &[]).crashing(1).run(),
        committing(2, &[]).suspecting_falsely(1).progress().run(),
        committing(3, &[]).suspecting_falsely(1).run(),
    ];
    assert_eq!(found.map(states), [60, 920, 3500, 8080, 978, 170_418]);
}

#[test]
#[ignore = "some seconds of two cores"]
fn all_commit_or_all_abort_where_two_of_three_crash_and_one_is_back() {
    assert_eq!(states(committing(3, &[]).crashing(2).recovering(1).run()), 3_193_411);
}

/// What is uncertain is known again when the coordinator is, but not before.
#[claims("4-commit")]
#[test]
fn a_coordinator_that_crashes_blocks_the_others_until_it_is_back_with_its_log() {
    let crashing = |size| committing(size, &[]).crashing(1).crashing_at([ProcessId(0)]);
    let for_good = [2, 3].map(|size| steps(crashing(size).progress().run(), "progress"));
    assert_eq!(for_good, [(4, Manner::Blocked), (6, Manner::Deadlock)]);
    // Nothing obliges it to come back, but it is enough.
    let and_back = [2, 3].map(|size| {
        let report = crashing(size).recovering(1).progress().run();
        holds(&report, "atomicity");
        steps(report, "progress").1
    });
    assert_eq!(and_back, [Manner::Starvation; 2]);
}

#[claims("4-commit")]
#[test]
fn without_a_rule_one_commits_what_another_aborts() {
    use two_phase_commit::Switch::{Guess, NoTerms, Unlogged};
    let crashing = |size, switch| committing(size, &[switch]).crashing(1);
    let found = [
        crashing(2, Guess).run(),
        crashing(3, Guess).run(),
        committing(3, &[NoTerms]).suspecting_falsely(1).run(),
        // Whoever has forgotten its yes lets a new leader believe that it never voted.
        committing(3, &[Unlogged]).crashing(2).recovering(1).run(),
    ];
    let found = found.map(|report| steps(report, "atomicity"));
    let steps = |length| (length, Manner::Step);
    assert_eq!(found, [7, 13, 12, 15].map(steps));
}

fn in_three(size: u32, switches: &[three_phase_commit::Switch]) -> Check<ThirdPhase> {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    let config = under_succession(three_phase_commit::Config { variants });
    let check = Check::with(size, config).fifo().detecting().initiators([]).in_flight(8);
    let once = [1, 0, 0].map(Entries::AtMost);
    check.entries(once[..size as usize].to_vec()).always(OnApplication(Atomicity::new()))
}

type ThirdPhase = Led<ThreePhaseCommit, Succession>;

/// Skeen: where crashes are known for certain, nobody who is up is ever blocked.
#[claims("4-third-phase")]
#[test]
fn in_three_phases_a_coordinator_that_crashes_blocks_nobody() {
    let found = [
        in_three(2, &[]).crashing(1).progress().run(),
        in_three(3, &[]).crashing(1).progress().run(),
        in_three(2, &[]).crashing(2).recovering(1).run(),
    ];
    assert_eq!(found.map(states), [201, 9098, 4990]);
}

#[test]
#[ignore = "half a minute of two cores"]
fn in_three_phases_nobody_is_blocked_where_two_of_three_crash() {
    let found = [
        in_three(3, &[]).crashing(2).progress().run(),
        in_three(3, &[]).crashing(2).recovering(1).run(),
    ];
    assert_eq!(found.map(states), [13_580, 6_164_856]);
}

/// Whom one side takes for dead decides on the other; two phases wait instead.
#[claims("4-third-phase")]
#[test]
fn where_the_network_parts_three_phases_split_and_two_wait() {
    let parted = in_three(3, &[]).partitioning([ProcessId(0)]).run();
    assert_eq!(steps(parted, "atomicity"), (15, Manner::Step));
    committing(3, &[]).partitioning([ProcessId(0)]).run().assert_holds();
}

#[test]
fn without_a_rule_of_the_third_phase_one_commits_what_another_aborts() {
    use three_phase_commit::Switch::{CommitDirectly, TwoPhases};
    let found = [
        in_three(3, &[TwoPhases]).crashing(1).run(),
        in_three(3, &[CommitDirectly]).crashing(2).run(),
    ];
    let found = found.map(|report| steps(report, "atomicity"));
    let steps = |length| (length, Manner::Step);
    assert_eq!(found, [13, 17].map(steps));
}

type Growing = Led<SpanningTree, Succession>;

fn growing(size: u32, edges: &[(u32, u32)]) -> Check<Growing> {
    let edges = edges.iter().map(|(one, other)| (ProcessId(*one), ProcessId(*other)));
    let config = under_succession(spanning_tree::Config::of(size, edges));
    let check = Check::with(size, config).detecting().initiators([]).entries(0);
    check.always(OnApplication(OneTree::new()))
}

#[claims("4-tree")]
#[test]
fn every_schedule_grows_a_tree_that_reaches_the_root() {
    let path = [(0, 1), (1, 2)];
    let triangle = [(0, 1), (1, 2), (0, 2)];
    let square = [(0, 1), (1, 2), (2, 3), (3, 0)];
    let found = [
        growing(2, &path[..1]).progress().run(),
        growing(3, &path).progress().run(),
        growing(3, &triangle).progress().run(),
        growing(4, &square).progress().run(),
        growing(3, &triangle).fifo().crashing(1).progress().run(),
    ];
    assert_eq!(found.map(states), [3, 5, 28, 50, 491]);
}

type Together = Led<Berkeley, Succession>;

fn together(size: u32, clock_readings: u32) -> Check<Together> {
    let config = under_succession(berkeley::Config::default());
    let check = Check::with(size, config).detecting().initiators([]).entries(0);
    check.clock_readings(clock_readings)
}

/// The adjustments of a round sum to zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Balance(i64);

impl Monitor<clock::Command, clock::Event> for Balance {
    fn property(&self) -> Property {
        Property::Own("balance")
    }

    fn observe(
        &mut self,
        _: ProcessId,
        seen: Observed<'_, clock::Command, clock::Event>,
    ) -> Result<(), Violation> {
        if let Observed::Event(clock::Event::Adjusted { by, .. }) = seen {
            self.0 += by;
        }
        Ok(())
    }

    fn at_end(&self) -> Result<(), Violation> {
        if self.0 == 0 {
            return Ok(());
        }
        let says = format!("{} ticks came from nowhere", self.0);
        Err(Violation { at: ProcessId(0), says })
    }
}

#[claims("4-berkeley")]
#[test]
fn whatever_clocks_show_adjustments_sum_to_zero_and_whoever_crashes_the_others_are_adjusted() {
    let balanced = |check: Check<Together>| check.in_the_end(OnApplication(Balance(0)));
    let found = [
        balanced(together(2, 3)).progress().run(),
        balanced(together(3, 2)).progress().run(),
        together(2, 2).crashing(1).progress().run(),
        together(3, 1).crashing(1).progress().run(),
    ];
    assert_eq!(found.map(states), [30, 158, 57, 188]);
    // Whom the leader has told to adjust is not told by how much it would have adjusted itself.
    let report = balanced(together(3, 2)).crashing(1).run();
    assert_eq!(steps(report, "balance"), (5, Manner::End));
}

/// On links that lose, repeat and reorder; where there is room for one message, more are lost.
#[test]
fn over_the_reliable_channel_a_loss_and_a_duplicate_do_no_harm() {
    fn over<A: Application + Checkable>(config: A::Config) -> Check<Fifo<Led<A, Succession>>> {
        let around = fifo::Config::around(under_succession(config));
        let check = Check::with(2, fifo::Config { window: 1, ..around });
        check.entries([1, 0]).initiators([]).in_flight(1).losing(1).duplicating(1).progress()
    }
    let primary = over::<PrimaryBackup>(primary_backup::Config::default());
    let primary = primary.always(OnApplication(Durability::new())).run();
    let commit = over::<TwoPhaseCommit>(two_phase_commit::Config::default());
    let commit = commit.always(OnApplication(Atomicity::new())).run();
    let edge = [(ProcessId(0), ProcessId(1))];
    let tree = over::<SpanningTree>(spanning_tree::Config::of(2, edge));
    let tree = tree.always(OnApplication(OneTree::new())).run();
    for report in [&primary, &commit, &tree] {
        report.assert_holds();
    }
    assert_eq!([primary, commit, tree].map(|report| report.states), [658, 2702, 322]);
}

/// The same under an election that sends messages.
#[test]
fn under_a_bully_writes_are_not_lost_and_transactions_are_atomic() {
    fn under<A: Application + Checkable>(
        size: u32,
        application: A::Config,
    ) -> Check<Led<A, Bully>> {
        let election = bully::Config::plain(size, TICKS_PER_UNIT);
        let check = Check::with(size, led::Config { application, election });
        check.fifo().detecting().initiators([ProcessId(size - 1)]).in_flight(8).entries(1)
    }
    let written = under::<PrimaryBackup>(2, primary_backup::Config::default()).crashing(1);
    let done = under::<TwoPhaseCommit>(2, two_phase_commit::Config::default()).crashing(1);
    let found = [
        written.always(OnApplication(Durability::new())).run(),
        done.always(OnApplication(Atomicity::new())).run(),
    ];
    assert_eq!(found.map(states), [218, 693]);
}
