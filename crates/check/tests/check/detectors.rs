//! Tests of the heartbeat failure detector, and of protocols that use it. In the tests of other
//! files, these protocols use an oracle instead of the detector.
//!
//! Tests of a sufficient timeout use synchronous time. In all other tests, timers fire at any time,
//! and a local clock may show any value below a bound.

use std::ops::RangeInclusive;

use tenure_algorithms::compose::{WithDetector, with_detector};
use tenure_algorithms::detector::AdaptiveTimeoutDetector;
use tenure_algorithms::detector::heartbeat::{Config, Message, Timer};
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::FaultTolerantTokenRing;
use tenure_check::{Check, CheckReport, Checkable, ViolationKind};
use tenure_core::monitors::{
    BestRankLeads, LeaderAgreement, LeaderScope, MutualExclusion, OneLeader, StrongAccuracy,
    StrongCompleteness,
};
use tenure_core::service::detector::{Command, Event};
use tenure_core::{
    Algorithm, Delay, Effects, Group, PeerVerdict, ProcessId, Protocol, Rank, TICKS_PER_TIME_UNIT,
};

use crate::by_service::variants;
use crate::catalogue::{violated, violates};
use crate::either::Either::{self, First, Second};

/// Latency of a message, in units. A heartbeat is sent every two units, so two heartbeats arrive at
/// most three units apart. A timeout of four units is therefore sufficient. A timeout of three
/// units is not: it may fire at the very moment at which the second heartbeat arrives.
const LATENCY: RangeInclusive<u32> = 0..=1;
const SUFFICIENT_TIMEOUT: u32 = 4;
const SHORT_TIMEOUT: u32 = 3;

fn config(timeout: u32) -> Config {
    let timeout = Delay::time_units(timeout.into()).max;
    Config {
        period: Delay::time_units(2),
        initial_timeout: timeout,
        increment: TICKS_PER_TIME_UNIT,
        max_timeout: timeout,
    }
}

fn complete<P>(check: Check<P>, size: u32) -> CheckReport
where
    P: Checkable<Command = Command, Event = Event>,
{
    check.always_and_at_end(StrongCompleteness::new(size)).run()
}

pub(crate) fn accurate(check: Check<AdaptiveTimeoutDetector>) -> CheckReport {
    check.always(StrongAccuracy::new()).run()
}

fn heartbeats(size: u32, timeout: u32) -> Check<AdaptiveTimeoutDetector> {
    Check::with_protocol_config(size, config(timeout)).synchronous(LATENCY)
}

fn with_four_readings() -> Check<AdaptiveTimeoutDetector> {
    let check = heartbeats(2, SUFFICIENT_TIMEOUT).max_crashes(1);
    check.configure(|config| config.model.clock_readings = 4)
}

/// With a sufficient timeout, the detector is perfect, because the bounds on delays hold from the
/// start. In general, it satisfies only ◇P of Chandra and Toueg.
#[test]
fn sufficient_timeout_makes_detector_perfect() {
    for size in [2, 3] {
        complete(heartbeats(size, SUFFICIENT_TIMEOUT).max_crashes(1), size).assert_holds();
    }
    accurate(heartbeats(2, SUFFICIENT_TIMEOUT).max_crashes(1)).assert_holds();
    // The local clock may show any value, which can only delay a suspicion.
    accurate(with_four_readings()).assert_holds();
}

/// A timeout of three units is too short: the detector suspects a live process.
#[test]
fn short_timeout_suspects_live_process() {
    violates(&accurate(heartbeats(2, SHORT_TIMEOUT)), "accuracy");
}

/// At each check of its heartbeats, the process reads a clock that has jumped ahead, as after a
/// pause. The process concludes each time that it was paused, and never suspects a peer, not even a
/// crashed one.
#[test]
fn constantly_paused_process_suspects_none() {
    let report = complete(with_four_readings(), 2);
    assert_eq!(violated(&report, "completeness", 2), ViolationKind::End);
}

/// If delays have no bound, the detector makes mistakes, but it still suspects each crashed process
/// in the end.
#[test]
fn unbounded_timers_keep_completeness() {
    let anytime = || {
        Check::<AdaptiveTimeoutDetector>::with_protocol_config(2, config(SUFFICIENT_TIMEOUT))
            .max_losses(1)
            .in_flight_per_link(1)
    };
    complete(anytime().max_crashes(1), 2).assert_holds();
    violated(&accurate(anytime()), "accuracy", 1);
}

fn bully(
    timeout: u32,
    switches: &[bully::VariantId],
) -> Check<WithDetector<AdaptiveTimeoutDetector, Bully>> {
    let plain = bully::Config::with_defaults(2, TICKS_PER_TIME_UNIT);
    let inner = bully::Config { variants: variants(switches), ..plain };
    let config = with_detector::Config { detector: config(timeout), inner };
    let check =
        Check::with_protocol_config(2, config).synchronous(LATENCY).initiators([ProcessId(0)]);
    check.max_term_of(|node| Algorithm::highest_term(node.inner()), 3)
}

/// The bully algorithm agrees on a leader if a heartbeat detector reports crashes. The module
/// `elections` contains similar tests with an oracle instead of the heartbeat detector. The names
/// of these tests start with `b2_perfect_timeouts`.
#[test]
fn bully_agrees_with_heartbeat_detector() {
    let check =
        bully(SUFFICIENT_TIMEOUT, &[]).max_crashes(1).always_and_at_end(LeaderAgreement::new());
    let ranks: Vec<Rank> = (1..=2).map(Rank::from_id).collect();
    let check = check.always_and_at_end(BestRankLeads::new(ranks)).check_progress();
    check.always(OneLeader::new(LeaderScope::Overall)).run().assert_holds();
}

/// Even if the detector's timeout is too short, there is only one leader. A wrongly suspected
/// process answers within the longer timeout of the bully algorithm.
#[test]
fn bully_with_short_timeout_has_one_leader() {
    bully(SHORT_TIMEOUT, &[]).always(OneLeader::new(LeaderScope::Overall)).run().assert_holds();
}

/// Without terms, the bully algorithm violates agreement after a recovery. The reason is that a
/// process accepts a leader whose rank is lower than its own (7-B3 of the checklist).
#[test]
fn bully_without_terms_disagrees_with_heartbeats() {
    let check =
        bully(SUFFICIENT_TIMEOUT, &[bully::VariantId::NoTerms, bully::VariantId::AcceptLower]);
    let check = check.max_crashes(1).crashing_only([ProcessId(1)]).max_recoveries(1);
    violates(&check.always_and_at_end(LeaderAgreement::new()).run(), "agreement");
}

fn ring(timeout: u32) -> Check<WithDetector<AdaptiveTimeoutDetector, FaultTolerantTokenRing>> {
    let config = with_detector::Config { detector: config(timeout), inner: Default::default() };
    Check::with_protocol_config(2, config).synchronous(LATENCY)
}

#[test]
fn repaired_ring_is_safe_only_with_accurate_heartbeats() {
    let right = ring(SUFFICIENT_TIMEOUT).max_crashes(1).always(MutualExclusion::new());
    right.check_starvation_freedom().max_states(200_000).run().assert_holds();
    let wrong = ring(SHORT_TIMEOUT).always(MutualExclusion::new()).max_states(200_000).run();
    violates(&wrong, "mutual-exclusion");
}

/// Protocol whose processes report each suspicion to their users.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SuspicionEcho;

impl Protocol for SuspicionEcho {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = ();
    type Stable = ();

    fn boot(_: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        SuspicionEcho
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, _: &mut impl Effects<Self>) {
        match command {}
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        fx.emit(Event { peer, verdict });
    }
}

/// A failure detector that ignores new sessions. If a peer restarts, the detector keeps its
/// verdict about the peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SessionBlindDetector(AdaptiveTimeoutDetector);

impl Protocol for SessionBlindDetector {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(group: Group, config: &Config, saved: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        SessionBlindDetector(AdaptiveTimeoutDetector::boot(group, config, saved, &mut inside(fx)))
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

fn inside(fx: &mut impl Effects<SessionBlindDetector>) -> impl Effects<AdaptiveTimeoutDetector> {
    fx.child_effects(|message| message, |timer| timer, Some)
}

type Echoing = WithDetector<Either<AdaptiveTimeoutDetector, SessionBlindDetector>, SuspicionEcho>;

/// Checks runs in which P2 crashes and recovers. P1 detects the new session of P2. P2 then crashes
/// again before it sends a message.
fn crash_after_recovery(detector: Either<Config, Config>) -> CheckReport {
    let check =
        Check::<Echoing>::with_protocol_config(2, with_detector::Config { detector, inner: () });
    let check =
        check.synchronous(LATENCY).max_crashes(2).crashing_only([ProcessId(1)]).max_recoveries(1);
    complete(check.configure(|config| config.model.detects_restarts = true), 2)
}

#[test]
fn second_crash_after_new_session_is_suspected() {
    crash_after_recovery(First(config(SUFFICIENT_TIMEOUT))).assert_holds();
}

#[test]
fn detector_ignoring_sessions_trusts_crashed_process() {
    let report = crash_after_recovery(Second(config(SUFFICIENT_TIMEOUT)));
    violates(&report, "completeness");
}
