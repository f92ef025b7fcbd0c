//! Tests of a lock service and its clients. The service offers read and write locks, semaphores,
//! and several locks at once. If clocks are accurate, no two clients hold conflicting parts of a
//! lock at the same time. Fences grow, and every client is served. In each negative control, the
//! service omits a rule.

use tenure_algorithms::catalogue::{self, AlgorithmVisitor, Parameters};
use tenure_check::{Check, CheckReport, Judgement};
use tenure_core::monitors::AgreementMonitor;
use tenure_core::{Agreement, Algorithm, Election, Mutex, ProcessId, Property};

use crate::by_service::after;

/// Limit on the number of states, for searches in which no violation is expected.
const MAX_STATES: u64 = 30_000;

/// A search in synchronous time.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    variants: &'a [&'a str],
    /// For each process, by index: the number of its entries.
    entries: &'a [u32],
    properties: &'a [Property],
    /// Actions that are performed before the search begins. No time passes between these actions.
    before: &'a str,
    /// True if the link of P2 may break.
    partition: bool,
    /// True if P2 may crash once.
    crash: bool,
    duplicates: u32,
    max_states: u64,
}

const SAFE: [Property; 2] = [Property::SessionExclusion, Property::Fencing];
const SAFE_AND_LIVE: [Property; 3] =
    [Property::SessionExclusion, Property::Fencing, Property::Progress];

const TWO: Case<'_> = Case {
    variants: &[],
    entries: &[1, 1],
    properties: &SAFE_AND_LIVE,
    before: "",
    partition: false,
    crash: false,
    duplicates: 0,
    max_states: u64::MAX,
};

impl Case<'_> {
    fn run(&self) -> CheckReport {
        let variants = self.variants.iter().map(ToString::to_string).collect();
        let size = self.entries.len() as u32;
        let parameters =
            Parameters { sequence_number_modulus: 1, variants, ..Parameters::with_defaults(size) };
        let report = catalogue::visit("leased-shares", &parameters, *self);
        report.unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }
}

impl AlgorithmVisitor for Case<'_> {
    type Output = CheckReport;

    fn mutex<P: Mutex + Algorithm>(self, _: P::Config) -> CheckReport {
        unreachable!("the shared lock offers another service")
    }

    fn election<P: Election + Algorithm>(self, _: P::Config) -> CheckReport {
        unreachable!("the shared lock offers another service")
    }

    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> CheckReport {
        let size = self.entries.len() as u32;
        let service = P::card(&config, size).service;
        let mut check = after(Check::<P>::with_protocol_config(size, config), self.before)
            .configure(|config| config.service = service)
            .synchronous(0..=1)
            .request_limits(self.entries)
            .max_duplicates(self.duplicates)
            .max_states(self.max_states);
        if self.partition {
            check = check.partitioning([ProcessId(1)]);
        }
        if self.crash {
            check = check.crashing_only([ProcessId(1)]).max_crashes(1);
        }
        for property in self.properties {
            check = match AgreementMonitor::for_property(service, *property, size, &[]) {
                Some(monitor) => check.always(monitor),
                None => check.check_progress(),
            };
        }
        check.run()
    }
}

/// Checks safety and liveness with accurate clocks, for read and write locks, semaphores, and two
/// locks at once.
#[test]
#[ignore = "long: 9 s"]
fn safe_and_live_with_accurate_clocks() {
    for variants in [&[][..], &["semaphore"], &["two-locks"], &["early-release"]] {
        Case { variants, ..TWO }.run().assert_holds();
    }
}

#[test]
#[ignore = "long: 7 s"]
fn safe_under_partition() {
    for variants in [&[][..], &["early-release"]] {
        Case { variants, partition: true, properties: &SAFE, ..TWO }.run().assert_holds();
    }
}

#[test]
fn lease_ends_crashed_holder() {
    Case { crash: true, ..TWO }.run().assert_holds();
}

/// P1 and P2 hold a part each, such as a read lock. P3 waits for the whole lock, such as a write
/// lock.
const TWO_READERS: &str = "lock p1 part; lock p2 part; deliver p2→p1; deliver p1→p2; \
    deliver p2→p1; deliver p1→p2; lock p3 whole; deliver p3→p1; deliver p1→p3; deliver p3→p1; \
    deliver p1→p3; deliver p3→p1";

/// First the steps of [`TWO_READERS`]. Then P1 releases its part, so that only P2 holds a part
/// while P3 waits.
const ONE_READER: &str = "lock p1 part; lock p2 part; deliver p2→p1; deliver p1→p2; \
    deliver p2→p1; deliver p1→p2; lock p3 whole; deliver p3→p1; deliver p1→p3; deliver p3→p1; \
    deliver p1→p3; deliver p3→p1; unlock p1";

/// P1 holds a part, and P3 waits for the whole lock. P2 has requested a part after the request of
/// P3.
const LATE_READER: &str = "lock p1 part; lock p3 whole; deliver p3→p1; deliver p1→p3; \
    deliver p3→p1; deliver p1→p3; deliver p3→p1; lock p2 part; deliver p2→p1; deliver p1→p2; \
    deliver p2→p1; deliver p1→p2";

/// P2 has made the first of two claims for the whole lock. Then P1 requests a part.
const TWO_CLAIMS: &str =
    "lock p2 whole; deliver p2→p1; deliver p1→p2; deliver p2→p1; deliver p1→p2; lock p1 part";

/// P1 enters with a part of the lock and exits. P2 makes the first of two claims for the whole
/// lock. Then P1 requests the whole lock.
const TWO_UPGRADES: &str = "lock p1 part; unlock p1; lock p2 whole; deliver p2→p1; \
    deliver p1→p2; deliver p2→p1; deliver p1→p2; lock p1 whole";

const LIVE: Case<'_> = Case { properties: &[Property::Progress], ..TWO };
const FENCED: Case<'_> = Case { entries: &[1; 3], properties: &[Property::Fencing], ..TWO };
const EXCLUSIVE: Case<'_> = Case { properties: &[Property::SessionExclusion], ..FENCED };

/// Known mistakes, as triples. The first component is a list of correct variants. The second
/// component is the same list with the mistake added. The third component is a case in which only
/// the second list violates a property.
const MISTAKES: [(&[&str], &[&str], Case<'_>); 5] = [
    (
        &["early-release"],
        &["early-release", "any-holder-hands-over"],
        Case { before: TWO_READERS, ..EXCLUSIVE },
    ),
    (&[], &["readers-overtake"], Case { before: LATE_READER, ..FENCED }),
    (
        &["semaphore"],
        &["semaphore", "permit-counted-twice"],
        Case { before: ONE_READER, duplicates: 1, ..EXCLUSIVE },
    ),
    (&["two-locks"], &["opposite-order"], Case { before: TWO_CLAIMS, ..LIVE }),
    (&[], &["upgrade-while-holding"], Case { entries: &[2, 1], before: TWO_UPGRADES, ..LIVE }),
];

#[test]
fn every_rule_is_needed() {
    for (right, wrong, case) in MISTAKES {
        let report = Case { variants: wrong, ..case }.run();
        let [property] = case.properties else { panic!("one property each: {case:?}") };
        assert_eq!(
            report.judgement_of(property.name()),
            Judgement::Violated,
            "{wrong:?}: {report}"
        );
        let report = Case { variants: right, max_states: MAX_STATES, ..case }.run();
        assert_ne!(
            report.judgement_of(property.name()),
            Judgement::Violated,
            "{right:?}: {report}"
        );
    }
}
