//! A lock that ends by itself: never two inside while clocks keep time, whatever becomes of
//! messages and processes; what it costs to leave out one of its rules; and that a stopped holder
//! is one of two.

use std::ops::RangeInclusive;

use tenure_algorithms::Variants;
use tenure_algorithms::mutex::lease::{Config, Switch};
use tenure_algorithms::mutex::{Lease, Times};
use tenure_algorithms::reduction::ElectionFromMutex;
use tenure_check::{Check, Judgement};
use tenure_core::monitors::{Fencing, MutualExclusion, OneLeader, Scope};
use tenure_core::{Mutex, ProcessId, TICKS_PER_UNIT};

use crate::among::{Among, with};

fn config(switches: &[Switch]) -> Config {
    let variants = switches.iter().fold(Variants::none(), |all, one| all.with(*one));
    let plain = Config::plain(TICKS_PER_UNIT);
    Config { times: Times { rounds: 1, ..plain.times }, variants, ..plain }
}

/// Time passes for all alike.
fn timed(size: u32, config: Config, latency: RangeInclusive<u32>) -> Among<Lease> {
    with::<Lease>(size, config).synchronous(latency)
}

fn exclusive<P: Mutex>(check: Check<P>) -> Check<P> {
    check.always(MutualExclusion::new()).always(Fencing::new())
}

fn two(switches: &[Switch]) -> Among<Lease> {
    exclusive(timed(2, config(switches), 0..=1))
}

const P2: [ProcessId; 1] = [ProcessId(1)];

#[test]
fn while_clocks_keep_time_two_are_never_inside_and_both_are_served() {
    two(&[]).entries(2).starvation_free().run().assert_holds();
    two(&[]).entries([0, 2]).losing(1).duplicating(1).starvation_free().run().assert_holds();
}

#[test]
fn nor_are_they_where_one_is_cut_off_or_crashes_and_comes_back() {
    two(&[]).partitioning(P2).run().assert_holds();
    two(&[]).crashing(1).recovering(1).run().assert_holds();
}

#[test]
fn nor_are_two_of_three() {
    let three = || exclusive(timed(3, config(&[]), 0..=1)).entries([0, 1, 1]);
    three().partitioning(P2).run().assert_holds();
    three().crashing(1).recovering(1).run().assert_holds();
}

/// The negative controls: each rule is needed.
#[test]
fn without_one_of_its_rules_two_are_inside() {
    use Switch::{DeadlineFromAnswer, ForgottenGrants, Impatient, NoMargin, RenewalIgnored};
    let group = |size, switch| timed(size, config(&[switch]), 0..=1).always(MutualExclusion::new());
    let found = [
        group(2, DeadlineFromAnswer).partitioning(P2).run(),
        group(2, NoMargin).partitioning(P2).run(),
        group(2, RenewalIgnored).run(),
        group(2, Impatient).run(),
        group(3, ForgottenGrants).entries([0, 1, 1]).crashing(1).recovering(1).run(),
    ];
    let lengths = found.map(|report| {
        let found = report.counterexample("mutual-exclusion");
        found.unwrap_or_else(|| panic!("{report}")).length()
    });
    assert_eq!(lengths, [9, 9, 8, 5, 8]);
}

/// Where timers fire at any time, a holder may be stopped: it wakes up inside, and believes it.
#[test]
fn whoever_is_stopped_inside_is_one_of_two_when_it_wakes_up() {
    let check = with::<Lease>(2, config(&[])).always(MutualExclusion::new());
    let report = check.in_flight(2).run();
    assert_eq!(report.of("mutual-exclusion"), Judgement::Violated, "{report}");
}

/// A leader by a lease is deposed before another can be elected.
#[test]
fn whoever_leads_by_a_lease_is_out_of_office_before_another_is_in() {
    let office = |switches: &[Switch]| {
        let check = with::<ElectionFromMutex<Lease>>(2, config(switches)).synchronous(0..=1);
        check.always(OneLeader::new(Scope::Overall)).partitioning(P2).run()
    };
    office(&[]).assert_holds();
    assert_eq!(office(&[Switch::NoMargin]).of("one-leader-at-a-time"), Judgement::Violated);
}
