//! Tests of properties that are written as expressions. These properties lead to the same
//! judgements and to the same shortest counterexamples as the built-in monitors. If a reduction
//! would hide a violation of such a property, the check turns this reduction off.

use std::num::NonZeroU32;

use tenure_algorithms::Variants;
use tenure_algorithms::election::{Bully, ChangRoberts, bully, chang_roberts};
use tenure_algorithms::mutex::{Central, KMutex, central, k_mutex};
use tenure_check::{Check, CheckReport, Checkable, Fairness, Judgement, ViolationKind};
use tenure_core::monitors::{Bypass, Fencing, LeaderScope, MutualExclusion, OneLeader};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Delay, Effects, Fence, Group, Never, ProcessId, Property, Protocol, Service,
    TICKS_PER_TIME_UNIT,
};
use tenure_trace::property::{ExpressionProperty, TemporalOperator, Vocabulary};

use crate::by_service::{of, with};
use crate::elections::ranks;
use crate::symmetry::{Manner, QueueCoordinator};
use crate::textbook::{Mistake, Textbook};

fn own(form: TemporalOperator, text: &str, size: u32, service: Service) -> ExpressionProperty {
    let vocabulary = Vocabulary { messages: None, ..Vocabulary::new(size, service) };
    ExpressionProperty::parse(form, text, &vocabulary).unwrap_or_else(|error| panic!("{error}"))
}

fn lock(form: TemporalOperator, text: &str, size: u32) -> ExpressionProperty {
    own(form, text, size, Service::Mutex)
}

fn election(form: TemporalOperator, text: &str, size: u32) -> ExpressionProperty {
    own(form, text, size, Service::Election)
}

/// Returns the judgement of the only property of a report. If the property is violated, also
/// returns the length of the counterexample.
fn result(report: &CheckReport) -> (Judgement, Option<usize>) {
    assert_eq!(report.properties.len(), 1, "{report}");
    (report.properties[0].1, report.shortest_counterexample().map(|found| found.step_count()))
}

/// Asserts that a built-in monitor and an expression lead to the same result, and that both
/// judgements equal `expected`.
fn agree<P: Checkable>(
    check: impl Fn() -> Check<P>,
    built_in: impl Fn(Check<P>) -> Check<P>,
    own: ExpressionProperty,
    expected: Judgement,
) {
    let (theirs, ours) = (built_in(check()).run(), check().custom_property(own.clone()).run());
    assert_eq!(result(&theirs), result(&ours), "{}:\n{theirs}\n{ours}", own.text());
    assert_eq!(ours.judgement(), expected, "{}", own.text());
}

use Judgement::{Holds, Violated};

#[test]
fn mutual_exclusion_agrees_with_monitor() {
    for (mistake, expected) in [(Mistake::None, Holds), (Mistake::NoTieBreakReply, Violated)] {
        for (form, text) in [
            (TemporalOperator::Never, "inside(p) & inside(q) & p != q"),
            (TemporalOperator::Never, "inside(P1) & inside(P2)"),
            (TemporalOperator::Always, "count(p: inside(p)) <= 1"),
            (TemporalOperator::Always, "forall p, q: inside(p) & inside(q) => p = q"),
        ] {
            let check = || Check::<Textbook>::with_protocol_config(2, mistake).fifo();
            let monitor = |check: Check<Textbook>| check.always(MutualExclusion::new());
            agree(check, monitor, lock(form, text, 2), expected);
        }
    }
}

#[test]
fn bounded_admission_agrees_with_monitor() {
    for (most, expected) in [(2, Holds), (1, Violated)] {
        let config = || k_mutex::Config::with_max_inside(NonZeroU32::new(2).unwrap());
        let text = format!("count(p: inside(p)) <= {most}");
        let monitor = |check: Check<_>| check.always(MutualExclusion::at_most(most));
        agree(
            || with::<KMutex>(3, config()),
            monitor,
            lock(TemporalOperator::Always, &text, 3),
            expected,
        );
    }
}

#[test]
fn bypass_of_zero_agrees_with_monitor() {
    for (entries, expected) in [([1, 0, 0], Holds), ([1, 1, 0], Violated)] {
        let property = lock(TemporalOperator::Never, "enters(q) & waiting(p) & p != q", 3);
        let check = || of::<Central>(3).request_limits(entries);
        agree(check, |check| check.always(Bypass::at_most(0)), property, expected);
    }
}

#[test]
fn fencing_agrees_with_monitor() {
    let text = "enters(p) & p != q & fence(p) <= fence(q)";
    for (mistake, expected) in [(Mistake::None, Holds), (Mistake::NoTieBreakReply, Violated)] {
        let check = || Check::<Textbook>::with_protocol_config(2, mistake).fifo();
        let property = lock(TemporalOperator::Never, text, 2);
        agree(check, |check| check.always(Fencing::new()), property, expected);
    }
}

#[test]
fn starvation_and_deadlock_freedom_agree_with_search() {
    let starvation = "waiting(p) ~> inside(p)";
    let deadlock = "waiting(p) ~> exists q: enters(q)";
    for (mistake, expected) in [(Mistake::None, Holds), (Mistake::NoTieBreakDefer, Violated)] {
        let check = || Check::<Textbook>::with_protocol_config(2, mistake).fifo();
        let property = lock(TemporalOperator::LeadsTo, starvation, 2);
        agree(check, Check::check_starvation_freedom, property, expected);
        let property = lock(TemporalOperator::LeadsTo, deadlock, 2);
        agree(check, Check::check_deadlock_freedom, property, expected);
    }
    let property = lock(TemporalOperator::LeadsTo, starvation, 3);
    agree(|| of::<Central>(3), Check::check_starvation_freedom, property, Holds);
}

#[test]
fn elections_agree_with_monitors() {
    let rings = |ids: &[u32]| chang_roberts::Config::with_ranks(ranks(ids), Variants::none());
    let leaders = "leads(p) & leads(q) & p != q";
    let per_term = "leads(p) & leads(q) & p != q & term(p) = term(q)";
    let told = "asks(p) ~> elected(p)";
    let ids = [3, 1, 2];
    for (text, scope) in [(leaders, LeaderScope::Overall), (per_term, LeaderScope::PerTerm)] {
        let ring = || with::<ChangRoberts>(3, rings(&ids)).fifo();
        let property = election(TemporalOperator::Never, text, 3);
        agree(ring, |it| it.always(OneLeader::new(scope)), property, Holds);
    }
    // Each side of a partition elects its own leader.
    let bully = || {
        let check = with::<Bully>(2, bully::Config::with_defaults(2, TICKS_PER_TIME_UNIT))
            .detecting_failures();
        check.partitioning([ProcessId(0)])
    };
    let property = election(TemporalOperator::Never, leaders, 2);
    agree(bully, |it| it.always(OneLeader::new(LeaderScope::Overall)), property, Violated);
    let fifo = || with::<ChangRoberts>(3, rings(&ids)).fifo();
    assert_eq!(
        fifo().custom_property(election(TemporalOperator::LeadsTo, told, 3)).run().judgement(),
        Holds
    );
    let lossy = || fifo().max_losses(1);
    let report = lossy().custom_property(election(TemporalOperator::LeadsTo, told, 3)).run();
    assert_eq!(report.judgement(), lossy().check_progress().run().judgement());
    assert_eq!(report.judgement(), Violated);
}

#[test]
fn states_and_messages_are_read() {
    let check = || Check::<Textbook>::new(2).fifo();
    let judged = |form, text| check().custom_property(lock(form, text, 2)).run();
    let holds = [
        (TemporalOperator::Always, "inside(p) => state(p).phase = Inside"),
        (TemporalOperator::Always, "waiting(p) = (state(p).phase = Waiting)"),
        (TemporalOperator::Never, "in_flight(request, p, q) > 1"),
        (TemporalOperator::Always, "sent(reply, p, q) => state(q).phase = Waiting"),
        (TemporalOperator::Never, "p in state(p).phase.awaited"),
        (TemporalOperator::Always, "state(p).phase = Idle => !inside(p)"),
    ];
    for (form, text) in holds {
        judged(form, text).assert_holds();
    }
    let violated = [
        (TemporalOperator::Never, "state(p).clock > 0", 1),
        (TemporalOperator::Never, "in_flight(request)", 1),
        (TemporalOperator::Never, "sent(reply)", 2),
        (TemporalOperator::Never, "q in state(p).phase.awaited", 1),
        (
            TemporalOperator::Never,
            "state(p).deferred = Deferred | exists q: q in state(p).deferred",
            3,
        ),
    ];
    for (form, text, steps) in violated {
        assert_eq!(result(&judged(form, text)), (Violated, Some(steps)), "{text}");
    }
}

#[test]
fn initial_state_is_judged() {
    let report = Check::<Textbook>::new(2)
        .custom_property(lock(TemporalOperator::Always, "waiting(P2)", 2))
        .run();
    let found = report.shortest_counterexample().expect("no process waits first");
    assert_eq!((found.step_count(), found.kind), (0, ViolationKind::Step));
    assert_eq!(found.explanation, "waiting(P2) is false here");
}

#[test]
fn counterexample_names_property_and_values() {
    let check = Check::<Textbook>::with_protocol_config(2, Mistake::NoTieBreakReply).fifo();
    let property = lock(TemporalOperator::Never, "inside(p) & inside(q) & p != q", 2);
    let report = check.custom_property(property).run();
    let found = report.shortest_counterexample().expect("both enter");
    let name = "never inside(p) & inside(q) & p != q";
    assert_eq!(found.property, Property::Custom(name));
    let expected = "inside(p) & inside(q) & p != q is true here for p = P1, q = P2";
    assert_eq!(found.explanation, expected);
    assert_eq!(found.trace.header.violates.as_deref(), Some(name));
}

#[test]
fn fairness_decides_liveness() {
    let property = || lock(TemporalOperator::LeadsTo, "waiting(p) ~> inside(p)", 2);
    let judged =
        |fairness| Check::<Textbook>::new(2).custom_property(property()).fairness(fairness).run();
    let none = judged(Fairness::None);
    assert_eq!(none.judgement(), Violated);
    let found = none.shortest_counterexample().expect("the run stops");
    assert_eq!((found.step_count(), found.kind), (1, ViolationKind::End));
    judged(Fairness::Weak).assert_holds();
    judged(Fairness::Strong).assert_holds();
}

/// A process with two timers. The timer `Toggle` fires again and again, and alternately sets and
/// cancels the timer `Enter`. The process enters when `Enter` fires.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Toggling {
    is_armed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Alarm {
    Toggle,
    Enter,
}

impl Protocol for Toggling {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Never;
    type Timer = Alarm;
    type Stable = ();

    fn boot(_: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Toggling { is_armed: false }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => fx.set_timer(Alarm::Toggle, Delay::time_units(1)),
            Command::Exit => fx.emit(Event::Exited),
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Never, _: &mut impl Effects<Self>) {
        match message {}
    }

    fn on_timer(&mut self, timer: Alarm, fx: &mut impl Effects<Self>) {
        match timer {
            Alarm::Toggle => {
                self.is_armed = !self.is_armed;
                match self.is_armed {
                    true => fx.set_timer(Alarm::Enter, Delay::time_units(1)),
                    false => fx.cancel_timer(Alarm::Enter),
                }
                fx.set_timer(Alarm::Toggle, Delay::time_units(1));
            }
            Alarm::Enter => {
                fx.cancel_timer(Alarm::Toggle);
                fx.emit(Event::Entered { fence: Fence::NONE });
            }
        }
    }
}

/// The timer `Enter` is set and cancelled again and again, so it never stays armed. A weakly fair
/// run may therefore never fire this timer. A strongly fair run must fire it.
#[test]
fn strong_fairness_takes_steps_that_weak_fairness_may_skip() {
    let judged = |fairness| {
        let property = lock(TemporalOperator::LeadsTo, "waiting(p) ~> inside(p)", 1);
        Check::<Toggling>::new(1).custom_property(property).fairness(fairness).run()
    };
    let weak = judged(Fairness::Weak);
    let found = weak.shortest_counterexample().expect("the timer is always cancelled");
    assert_eq!(found.kind, ViolationKind::Starvation);
    assert!(found.run.repeats_from.is_some());
    judged(Fairness::Strong).assert_holds();
    let built_in =
        Check::<Toggling>::new(1).check_starvation_freedom().fairness(Fairness::Strong).run();
    built_in.assert_holds();
}

/// Users need not issue requests, so a run may stay in its initial state. The counterexample then
/// has no steps, no cycle and no diagram.
#[test]
fn run_that_may_stay_in_initial_state_is_explained() {
    let property = lock(TemporalOperator::Eventually, "inside(p)", 2);
    let report =
        Check::<Textbook>::with_protocol_config(2, Mistake::None).custom_property(property).run();
    let found = report.shortest_counterexample().unwrap_or_else(|| panic!("{report}"));
    let (kind, repeats) = (found.kind, found.run.repeats_from);
    assert_eq!((kind, repeats, found.step_count()), (ViolationKind::End, None, 0), "{found}");
    let expected = "eventually inside(p) violated after 0 steps (end): inside(p) does not happen \
                    for p = P1: the run may stay in this state, as requests, faults and \
                    recoveries need not happen\n";
    assert_eq!(found.to_string(), expected);
}

/// If a property names processes, the search does not merge symmetric states. Otherwise it could
/// keep the state "P2 crashed, P3 waits" and drop the state "P3 crashed, P2 waits". It would then
/// miss a violation that occurs only in the dropped state. If a property names no process, the
/// search merges symmetric states.
#[test]
fn symmetry_is_off_for_named_processes() {
    let clients = [ProcessId(1), ProcessId(2)];
    let plain = || {
        let check = Check::<QueueCoordinator>::with_protocol_config(3, Manner::Fair)
            .request_limits([0, 1, 1])
            .max_crashes(1);
        check.crashing_only_in(tenure_check::UserPhase::Idle)
    };
    let symmetric = || plain().reducing_by_symmetry(clients);
    let mirrored = ["crashed(P3) & sent(grant, P1, P2)", "crashed(P2) & sent(grant, P1, P3)"];
    let results = mirrored.map(|text| {
        let report = symmetric().custom_property(lock(TemporalOperator::Never, text, 3)).run();
        assert!(!report.reduced, "{text}");
        result(&report)
    });
    assert_eq!(results, [(Violated, Some(3)); 2]);
    let count = || lock(TemporalOperator::Always, "count(p: inside(p)) <= 1", 3);
    let reduced = symmetric().custom_property(count()).run();
    let plain = plain().custom_property(count()).run();
    assert!(reduced.reduced && reduced.states < plain.states);
    assert_eq!(reduced.judgement(), plain.judgement());
}

#[test]
fn ample_sets_are_off_for_own_properties() {
    let config = || chang_roberts::Config::with_ranks(ranks(&[3, 1, 2]), Variants::none());
    let check = || with::<ChangRoberts>(3, config()).fifo();
    // With ample sets, one message is delivered while the others wait, so the two messages are
    // never in flight together.
    let property =
        election(TemporalOperator::Never, "in_flight(election, P1) & in_flight(election, P2)", 3);
    let reduced = check().reducing_by_ample_sets().custom_property(property.clone()).run();
    let plain = check().custom_property(property).run();
    assert_eq!((reduced.judgement(), reduced.states), (plain.judgement(), plain.states));
    assert_eq!(reduced.judgement(), Violated);
    assert!(!reduced.reduced);
}

#[test]
fn timestamps_are_not_shifted_for_numbers_of_states() {
    let property = lock(TemporalOperator::Never, "state(p).clock > 4", 2);
    let check =
        || Check::<Textbook>::new(2).request_limits(3).fifo().reducing_by_timestamp_shifts();
    let report = check().custom_property(property).run();
    assert_eq!(report.judgement(), Violated);
    assert!(!report.reduced);
    let report =
        check().custom_property(lock(TemporalOperator::Never, "inside(P1) & inside(P2)", 2)).run();
    assert!(report.holds() && report.reduced);
}

#[test]
fn rejects_too_many_bindings() {
    let property = lock(TemporalOperator::LeadsTo, "waiting(p) & waiting(q) ~> inside(r)", 4);
    let error = of::<Central>(4).custom_property(property).try_run().expect_err("64 bindings");
    assert!(error.to_string().starts_with("too many values of the free variables"), "{error}");
}

#[test]
fn variants_of_central_are_judged_by_expressions() {
    let variants = Variants::none().with(central::VariantId::UntaggedGrant);
    let config = || central::Config { variants, ..central::Config::default() };
    let check = || with::<Central>(3, config()).request_limits([0, 2, 2]).max_duplicates(1);
    let property = lock(TemporalOperator::Never, "inside(p) & inside(q) & p != q", 3);
    agree(check, |check| check.always(MutualExclusion::new()), property, Violated);
}
