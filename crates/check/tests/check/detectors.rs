//! The detector by heartbeats, and protocols that listen to it instead of an oracle: what a node
//! runs, as it is. Time is synchronous where timeouts are to be right, and elsewhere timers fire at
//! any time; a local clock reads what it likes below a bound.

use std::ops::RangeInclusive;

use tenure_algorithms::Variants;
use tenure_algorithms::compose::{Detected, detected};
use tenure_algorithms::detector::Heartbeat;
use tenure_algorithms::detector::heartbeat::{Config, Message, Timer};
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::RepairedRing;
use tenure_check::{Check, Checkable, Judgement, Manner, Report};
use tenure_core::monitors::{Agreement, MutualExclusion, OneLeader, Scope, Validity};
use tenure_core::service::detector::{Command, Event};
use tenure_core::{
    Algorithm, Delay, Effects, Group, Monitor, Observed, ProcessId, Property, Protocol, Rank,
    TICKS_PER_UNIT, Verdict, Violation,
};

use crate::catalogue::violated;

/// A message takes up to one unit, so two heartbeats arrive at most three apart: a timeout of four
/// is right, and one of three may end in the moment in which the heartbeat comes.
const LATENCY: RangeInclusive<u32> = 0..=1;
const PATIENT: u32 = 4;
const HASTY: u32 = 3;

fn patience(timeout: u32) -> Config {
    let timeout = Delay::units(timeout.into()).max;
    Config { period: Delay::units(2), timeout, increment: TICKS_PER_UNIT, longest: timeout }
}

/// What processes think of each other: of all who are down, and of all who are up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Opinions {
    /// By process, whom it suspects, as bits.
    suspected: Vec<u32>,
    /// Who is down, as bits.
    down: u32,
    judges: Judges,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Judges {
    /// In the end whoever is down is suspected by all who are up.
    #[default]
    Completeness,
    /// Nobody who is up is ever suspected.
    Accuracy,
}

impl Opinions {
    fn of(size: u32, judges: Judges) -> Self {
        Opinions { suspected: vec![0; size as usize], down: 0, judges }
    }
}

impl Monitor<Command, Event> for Opinions {
    fn property(&self) -> Property {
        Property::Own(match self.judges {
            Judges::Completeness => "completeness",
            Judges::Accuracy => "accuracy",
        })
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observed::Event(Event { peer, verdict: Verdict::Suspect }) => {
                self.suspected[at.index()] |= 1 << peer.0;
                if self.judges == Judges::Accuracy && self.down & 1 << peer.0 == 0 {
                    return Err(Violation { at, says: format!("{at} suspects {peer}, who is up") });
                }
            }
            Observed::Event(Event { peer, .. }) => self.suspected[at.index()] &= !(1 << peer.0),
            Observed::Crashed => {
                self.down |= 1 << at.0;
                self.suspected[at.index()] = 0;
            }
            Observed::Recovered => self.down &= !(1 << at.0),
            Observed::Command { .. } | Observed::Sent { .. } => {}
        }
        Ok(())
    }

    fn at_end(&self) -> Result<(), Violation> {
        for (place, suspected) in self.suspected.iter().enumerate() {
            let at = ProcessId::at(place);
            if self.down & 1 << at.0 == 0 && self.down & !suspected != 0 {
                return Err(Violation { at, says: format!("{at} trusts somebody who is down") });
            }
        }
        Ok(())
    }
}

fn complete<P>(check: Check<P>, size: u32) -> Report
where
    P: Checkable<Command = Command, Event = Event>,
{
    check.in_the_end(Opinions::of(size, Judges::Completeness)).run()
}

fn accurate(check: Check<Heartbeat>, size: u32) -> Report {
    check.always(Opinions::of(size, Judges::Accuracy)).run()
}

fn heartbeats(size: u32, timeout: u32) -> Check<Heartbeat> {
    Check::with(size, patience(timeout)).synchronous(LATENCY)
}

/// ◇P of Chandra and Toueg, where the bounds hold from the start.
#[test]
fn with_a_right_timeout_whoever_is_down_is_suspected_and_nobody_else_ever() {
    for size in [2, 3] {
        complete(heartbeats(size, PATIENT).crashing(1), size).assert_holds();
    }
    accurate(heartbeats(2, PATIENT).crashing(1), 2).assert_holds();
    // Whatever its own clock reads, it only grows more patient.
    accurate(heartbeats(2, PATIENT).crashing(1).clock_readings(4), 2).assert_holds();
}

/// The negative control.
#[test]
fn with_a_timeout_of_period_and_delay_somebody_who_is_up_is_suspected() {
    let report = accurate(heartbeats(2, HASTY), 2);
    assert_eq!(report.of("accuracy"), Judgement::Violated, "{report}");
}

/// Time is no help to somebody who, by its own clock, was away whenever it looks.
#[test]
fn whoever_was_always_away_itself_never_suspects_anybody() {
    let report = complete(heartbeats(2, PATIENT).crashing(1).clock_readings(4), 2);
    assert_eq!(violated(&report, "completeness", 2), Manner::End);
}

/// Without bounds it errs, and still finds out in the end.
#[test]
fn where_timers_fire_at_any_time_whoever_is_down_is_suspected_in_the_end() {
    let anytime = || Check::<Heartbeat>::with(2, patience(PATIENT)).losing(1).in_flight(1);
    complete(anytime().crashing(1), 2).assert_holds();
    violated(&accurate(anytime(), 2), "accuracy", 1);
}

fn led(timeout: u32, switches: &[bully::Switch]) -> Check<Detected<Heartbeat, Bully>> {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    let inner = bully::Config { variants, ..bully::Config::plain(2, TICKS_PER_UNIT) };
    let config = detected::Config { detector: patience(timeout), inner };
    let check = Check::with(2, config).synchronous(LATENCY).initiators([ProcessId(0)]);
    check.term_max_by(|node| Algorithm::highest_term(node.inner()), 3)
}

/// As `b2_with_perfect_timeouts…` of the elections has it with an oracle.
#[test]
fn a_bully_that_listens_to_heartbeats_agrees_as_one_that_listens_to_an_oracle() {
    let check = led(PATIENT, &[]).crashing(1).in_the_end(Agreement::new());
    let ranks: Vec<Rank> = (1..=2).map(Rank::of_id).collect();
    let check = check.in_the_end(Validity::new(ranks)).always(OneLeader::new(Scope::Overall));
    check.progress().run().assert_holds();
}

/// Whom a detector suspects wrongly answers, and the bully's own timeout is right: there is one
/// leader all the same.
#[test]
fn a_bully_whose_heartbeats_are_awaited_too_briefly_has_one_leader_at_a_time() {
    led(HASTY, &[]).always(OneLeader::new(Scope::Overall)).run().assert_holds();
}

/// The negative control, 7-B3.
#[test]
fn a_bully_without_terms_that_believes_anybody_disagrees_by_heartbeats_too() {
    let check = led(PATIENT, &[bully::Switch::NoTerms, bully::Switch::AcceptLower]);
    let check = check.crashing(1).crashing_at([ProcessId(1)]).recovering(1);
    let report = check.in_the_end(Agreement::new()).run();
    assert_eq!(report.of("agreement"), Judgement::Violated, "{report}");
}

fn ring(timeout: u32) -> Check<Detected<Heartbeat, RepairedRing>> {
    let config = detected::Config { detector: patience(timeout), inner: Default::default() };
    Check::with(2, config).synchronous(LATENCY)
}

#[test]
fn a_ring_that_listens_to_heartbeats_is_safe_while_they_are_right_and_only_then() {
    let right = ring(PATIENT).crashing(1).always(MutualExclusion::new());
    right.starvation_free().max_states(200_000).run().assert_holds();
    let wrong = ring(HASTY).always(MutualExclusion::new()).max_states(200_000).run();
    assert_eq!(wrong.of("mutual-exclusion"), Judgement::Violated, "{wrong}");
}

/// Says to its user what it is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mirror;

impl Protocol for Mirror {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = ();
    type Stable = ();

    fn boot(_: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Mirror
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, _: &mut impl Effects<Self>) {
        match command {}
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        fx.emit(Event { peer, verdict });
    }
}

/// A detector that hears nothing of new sessions: it goes on thinking of the one before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Deaf(Heartbeat);

impl Protocol for Deaf {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<()>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        Deaf(Heartbeat::boot(group, config, stable, &mut inside(fx)))
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, _: &mut impl Effects<Self>) {
        match command {}
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        self.0.on_message(from, message, &mut inside(fx));
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        self.0.on_timer(timer, &mut inside(fx));
    }
}

fn inside(fx: &mut impl Effects<Deaf>) -> impl Effects<Heartbeat> {
    fx.wrap(|message| message, |timer| timer, Some)
}

/// P2 crashes, comes back, is met, and crashes before it has said anything.
fn back_and_gone<P>(check: Check<P>) -> Report
where
    P: Checkable<Command = Command, Event = Event>,
{
    let check = check.synchronous(LATENCY).crashing(2).crashing_at([ProcessId(1)]).recovering(1);
    complete(check.meeting_new_sessions(), 2)
}

fn listening() -> detected::Config<Config, ()> {
    detected::Config { detector: patience(PATIENT), inner: () }
}

#[test]
fn whoever_dies_again_right_after_it_was_met_is_suspected_again() {
    back_and_gone(Check::<Detected<Heartbeat, Mirror>>::with(2, listening())).assert_holds();
}

/// The negative control.
#[test]
fn a_detector_that_is_not_told_of_new_sessions_trusts_the_dead() {
    let report = back_and_gone(Check::<Detected<Deaf, Mirror>>::with(2, listening()));
    assert_eq!(report.of("completeness"), Judgement::Violated, "{report}");
}
