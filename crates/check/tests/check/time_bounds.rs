//! Tests of timeouts under known bounds on latency, steps and drift. The tests search for the
//! shortest safe timeouts, and check the timeouts that are derived from the bounds. Independent
//! searches in whole units of time confirm the verdicts and the lengths of the counterexamples.

use tenure_algorithms::catalogue::{FromParameters, Parameters};
use tenure_algorithms::detector::AdaptiveTimeoutDetector;
use tenure_algorithms::detector::heartbeat::Config as HeartbeatConfig;
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::{LeaseMutex, lease};
use tenure_check::{Check, CheckReport, Checkable, Measure};
use tenure_core::monitors::{LeaderAgreement, LeaderScope, MutualExclusion, OneLeader};
use tenure_core::{Delay, ProcessId, TICKS_PER_TIME_UNIT};

use crate::by_service::{ServiceCheck, with};
use crate::catalogue::violates;
use crate::detectors::accurate;
use crate::independent::searches::timed::Bounds;
use crate::independent::searches::timed_bully::two_leaders;
use crate::independent::searches::timed_heartbeat::false_suspicion;

/// Returns all combinations of three ranges of latency, three ranges of the duration of a step, and
/// clocks with and without drift.
fn all_bounds() -> impl Iterator<Item = Bounds> {
    let latencies = [(0, 1), (1, 1), (1, 2)];
    let steps = [(0, 0), (0, 1), (1, 1)];
    latencies.into_iter().flat_map(move |latency| {
        let drifts = steps.into_iter().flat_map(|step| [(step, 0), (step, 20)]);
        drifts.map(move |(step, drift)| Bounds { latency, step, drift })
    })
}

fn within<P: Checkable>(check: Check<P>, bounds: Bounds) -> Check<P> {
    let Bounds { latency, step, drift } = bounds;
    let check = check.synchronous(latency.0..=latency.1).steps_lasting(step.0..=step.1);
    check.drifting(drift * 10_000)
}

/// Returns the length of the counterexample to the only property of the check. `None` if the
/// property holds.
fn length(report: &CheckReport) -> Option<usize> {
    let found = report.counterexamples.first().map(|found| found.step_count());
    assert!(found.is_some() || report.holds() && report.bounds.in_flight.is_none(), "{report}");
    found
}

/// Returns a check of the bully algorithm with this configuration. The users of the first
/// `initiators` processes start an election. The search prunes terms above 1.
fn bully_with(size: u32, config: bully::Config, initiators: u32) -> ServiceCheck<Bully> {
    let check = with::<Bully>(size, config).initiators((0..initiators).map(ProcessId));
    check.always(OneLeader::new(LeaderScope::Overall)).max_term(1)
}

fn bully_timeouts(size: u32, [answer, coordinator]: [u32; 2]) -> bully::Config {
    let [answer, coordinator] = [answer, coordinator].map(|units| Delay::time_units(units.into()));
    bully::Config {
        answer_timeout: answer,
        coordinator_timeout: coordinator,
        ..bully::Config::with_defaults(size, TICKS_PER_TIME_UNIT)
    }
}

/// Returns the least answer timeout T at which two processes never lead at the same time. The
/// coordinator timeout T1 is long.
fn least_safe_answer(size: u32, initiators: u32, bounds: Bounds) -> u32 {
    let all: Vec<usize> = (0..initiators as usize).collect();
    for answer in 1.. {
        let timeouts = [answer, 40 * answer];
        let check = bully_with(size, bully_timeouts(size, timeouts), initiators);
        let ours = length(&within(check, bounds).run());
        assert_eq!(
            ours,
            two_leaders(size as usize, &all, timeouts, bounds, 1),
            "T = {answer}: {size} processes, {bounds:?}"
        );
        if ours.is_none() {
            return answer;
        }
    }
    unreachable!("there is a safe timeout")
}

/// Returns the least answer timeout T that is safe in theory. Let L be the greatest latency, and S
/// the greatest duration of a step. A question, a step and an answer take at most 2 L + S. After
/// this time, even the fastest clock must show less than T.
fn safe_answer(bounds: Bounds) -> u32 {
    let longest = 2 * bounds.latency.1 + bounds.step.1;
    let mut safe = (1..).filter(|answer| answer * 100 > longest * (100 + bounds.drift));
    safe.next().expect("there is a safe timeout")
}

#[test]
fn least_safe_answer_timeout_matches_independent_search() {
    for bounds in all_bounds() {
        assert_eq!(least_safe_answer(2, 1, bounds), safe_answer(bounds), "{bounds:?}");
        assert_eq!(least_safe_answer(2, 2, bounds), safe_answer(bounds), "{bounds:?}");
    }
}

#[test]
fn least_safe_answer_timeout_is_the_same_for_three() {
    for bounds in all_bounds().filter(|bounds| bounds.latency.1 == 1) {
        assert_eq!(least_safe_answer(3, 1, bounds), safe_answer(bounds), "{bounds:?}");
    }
}

fn derived<C: FromParameters>(size: u32, bounds: Bounds) -> C {
    let Bounds { latency, step, drift } = bounds;
    let [latency, step] = [latency.1, step.1].map(|units| u64::from(units) * TICKS_PER_TIME_UNIT);
    let parameters = Parameters { sequence_number_modulus: 1, ..Parameters::with_defaults(size) };
    C::from_parameters(&parameters.with_timing_bounds(latency, step, drift * 10_000))
        .expect("a configuration")
}

#[test]
fn derived_timeouts_of_bully_are_safe() {
    for bounds in all_bounds() {
        assert_eq!(length(&within(bully_with(2, derived(2, bounds), 2), bounds).run()), None);
    }
    let bounds = Bounds { latency: (0, 1), step: (0, 1), drift: 20 };
    assert_eq!(length(&within(bully_with(3, derived(3, bounds), 1), bounds).run()), None);
    let crashing =
        with::<Bully>(2, derived(2, bounds)).detecting_failures().max_crashes(1).max_term(1);
    let crashing = crashing.always_and_at_end(LeaderAgreement::new()).check_progress();
    within(crashing, bounds).run().assert_holds();
}

#[test]
fn timeouts_for_smaller_bounds_are_unsafe() {
    let [steady, slow] = [(0, 0), (1, 4)].map(|step| Bounds { latency: (0, 1), step, drift: 0 });
    assert!(length(&within(bully_with(2, derived(2, steady), 1), slow).run()).is_some());
    let drifting = Bounds { drift: 40, ..steady };
    assert!(length(&within(bully_with(2, derived(2, steady), 1), drifting).run()).is_some());
    assert_eq!(length(&within(bully_with(2, derived(2, steady), 1), steady).run()), None);
}

fn heartbeats(period: u32, timeout: u32) -> Check<AdaptiveTimeoutDetector> {
    let timeout = Delay::time_units(timeout.into()).max;
    let period = Delay::time_units(period.into());
    Check::with_protocol_config(
        2,
        HeartbeatConfig { period, initial_timeout: timeout, increment: 0, max_timeout: timeout },
    )
}

/// Returns the least timeout at which a detector never suspects a live process.
fn least_accurate_timeout(period: u32, bounds: Bounds) -> u32 {
    for timeout in period + 1.. {
        let ours = length(&accurate(within(heartbeats(period, timeout), bounds)));
        let theirs = false_suspicion(period, timeout, bounds);
        assert_eq!(ours, theirs, "period {period}, timeout {timeout}, {bounds:?}");
        if ours.is_none() {
            return timeout;
        }
    }
    unreachable!("there is an accurate timeout")
}

/// Compares the shortest timeout without false suspicions with the longest time between two
/// heartbeats. Without drift, this time is the sum of three numbers: the period, the variation of
/// the latency, and twice the variation of the duration of a step. The last number is doubled
/// because one step sends the heartbeat, and another step receives it.
#[test]
fn least_accurate_timeout_matches_independent_search() {
    for bounds in all_bounds() {
        let least = least_accurate_timeout(3, bounds);
        let Bounds { latency, step, drift } = bounds;
        let apart = 3 + (latency.1 - latency.0) + 2 * (step.1 - step.0);
        assert!(drift > 0 || least == apart + 1, "{bounds:?}: {least}");
        assert!(least > apart, "{bounds:?}: {least}");
    }
}

#[test]
fn no_timeout_is_safe_in_asynchronous_time() {
    for timeout in [4, 4_000] {
        assert_eq!(length(&accurate(heartbeats(3, timeout).in_flight_per_link(1))), Some(1));
        let check = bully_with(2, bully_timeouts(2, [timeout, 40 * timeout]), 2);
        assert_eq!(length(&check.run()), Some(3));
    }
}

/// A lease is safe if its timeouts are derived from the bound on drift. A lease is unsafe if its
/// timeouts ignore this bound.
#[test]
fn derived_timeouts_of_lease_are_safe() {
    let lease = |config: lease::Config, step, drift| {
        let check = with::<LeaseMutex>(2, config).always(MutualExclusion::new());
        let bounds = Bounds { latency: (0, 0), step, drift };
        within(check.partitioning([ProcessId(1)]), bounds).run()
    };
    let bounds = Bounds { latency: (0, 1), step: (0, 0), drift: 0 };
    for (step, drift) in [((0, 0), 20), ((1, 1), 10)] {
        lease(derived(2, Bounds { drift, ..bounds }), step, drift).assert_holds();
    }
    violates(&lease(derived(2, bounds), (0, 0), 20), "mutual-exclusion");
}

/// A process sends the messages of a step when the step ends, and the measure counts them at that
/// time. The number of messages does not depend on the duration of steps.
#[test]
fn measures_count_messages_at_the_end_of_steps() {
    let measured = |step| {
        let bounds = Bounds { latency: (0, 1), step, drift: 0 };
        let check = within(with::<Bully>(2, derived(2, bounds)), bounds).initiators([ProcessId(0)]);
        let report = check.measure(Measure::Messages).expect("a measure");
        report.exact_minimum().zip(report.exact_maximum())
    };
    assert_eq!(measured((0, 0)), Some((3, 3)));
    assert_eq!(measured((0, 2)), Some((3, 3)));
}

#[test]
fn counterexample_shows_the_ends_of_steps() {
    let bounds = Bounds { latency: (1, 1), step: (1, 1), drift: 0 };
    let report = within(bully_with(2, bully_timeouts(2, [3, 99]), 1), bounds).run();
    violates(&report, "one-leader-at-a-time");
    let shown = report.to_string();
    assert!(shown.contains("(end of a step of P1)"), "{shown}");
    assert_eq!(length(&report), Some(3), "ends of steps are not counted: {shown}");
}
