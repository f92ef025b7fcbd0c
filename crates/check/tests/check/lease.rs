//! Tests of a lock whose entries expire. Messages may be lost, and processes may crash. If clocks
//! are accurate, two processes are never inside the critical section at the same time. In the
//! negative controls, the lock omits a rule, or the holder is paused.

use std::ops::RangeInclusive;

use tenure_algorithms::mutex::lease::{Config, VariantId};
use tenure_algorithms::mutex::{LeaseDurations, LeaseMutex};
use tenure_algorithms::reduction::ElectionFromMutex;
use tenure_check::{Check, Judgement};
use tenure_core::monitors::{Fencing, LeaderScope, MutualExclusion, OneLeader};
use tenure_core::{Mutex, ProcessId, TICKS_PER_TIME_UNIT};

use crate::by_service::{ServiceCheck, variants, with};
use crate::catalogue::violates;

fn config(switches: &[VariantId]) -> Config {
    let plain = Config::with_defaults(TICKS_PER_TIME_UNIT);
    let times = LeaseDurations { request_modulus: 1, ..plain.durations };
    Config { durations: times, variants: variants(switches), ..plain }
}

/// Returns a check in synchronous time. The latency of a message is within `latency`, in units.
fn timed(size: u32, config: Config, latency: RangeInclusive<u32>) -> ServiceCheck<LeaseMutex> {
    with::<LeaseMutex>(size, config).synchronous(latency)
}

fn exclusive<P: Mutex>(check: Check<P>) -> Check<P> {
    check.always(MutualExclusion::new()).always(Fencing::new())
}

fn two(switches: &[VariantId]) -> ServiceCheck<LeaseMutex> {
    exclusive(timed(2, config(switches), 0..=1))
}

const P2: [ProcessId; 1] = [ProcessId(1)];

#[test]
fn safe_and_live_with_accurate_clocks() {
    two(&[]).request_limits(2).check_starvation_freedom().run().assert_holds();
    two(&[])
        .request_limits([0, 2])
        .max_losses(1)
        .max_duplicates(1)
        .check_starvation_freedom()
        .run()
        .assert_holds();
}

#[test]
fn safe_with_partition_or_recovery() {
    two(&[]).partitioning(P2).run().assert_holds();
    two(&[]).max_crashes(1).max_recoveries(1).run().assert_holds();
}

#[test]
fn safe_for_three() {
    let three = || exclusive(timed(3, config(&[]), 0..=1)).request_limits([0, 1, 1]);
    three().partitioning(P2).run().assert_holds();
    three().max_crashes(1).max_recoveries(1).run().assert_holds();
}

/// Each of these variants omits a rule of the lock. With every one of them, two processes may be
/// inside the critical section.
#[test]
fn every_rule_is_needed_for_safety() {
    use VariantId::{DeadlineFromAnswer, ForgottenGrants, Impatient, NoMargin, RenewalIgnored};
    let group = |size, switch| timed(size, config(&[switch]), 0..=1).always(MutualExclusion::new());
    let found = [
        group(2, DeadlineFromAnswer).partitioning(P2).run(),
        group(2, NoMargin).partitioning(P2).run(),
        group(2, RenewalIgnored).run(),
        group(2, Impatient).run(),
        group(3, ForgottenGrants).request_limits([0, 1, 1]).max_crashes(1).max_recoveries(1).run(),
    ];
    let lengths = found.map(|report| {
        let found = report.counterexample("mutual-exclusion");
        found.unwrap_or_else(|| panic!("{report}")).step_count()
    });
    assert_eq!(lengths, [9, 9, 8, 5, 8]);
}

/// If timers fire at any time, a holder may be paused. It then continues inside the critical
/// section although its lease has expired.
#[test]
fn paused_holder_wakes_up_beside_another_holder() {
    let check = with::<LeaseMutex>(2, config(&[])).always(MutualExclusion::new());
    violates(&check.in_flight_per_link(2).run(), "mutual-exclusion");
}

#[test]
fn leader_lease_ends_before_next_election() {
    let report = |switches: &[VariantId]| {
        let check = with::<ElectionFromMutex<LeaseMutex>>(2, config(switches)).synchronous(0..=1);
        check.always(OneLeader::new(LeaderScope::Overall)).partitioning(P2).run()
    };
    report(&[]).assert_holds();
    assert_eq!(
        report(&[VariantId::NoMargin]).judgement_of("one-leader-at-a-time"),
        Judgement::Violated
    );
}
