//! Tests of swarm searches. A swarm search stores the visited states in a table of fixed size. If
//! the table has room, the search visits all states. Otherwise, the search omits some states, and
//! the report estimates their number. Swarm searches find the known mistakes that an exhaustive
//! search finds. A swarm search never reports that a property holds.

use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::{Maekawa, RicartAgrawala, maekawa, ricart_agrawala};
use tenure_check::{
    Check, CheckError, CheckReport, Judgement, StopReason, SwarmMemberConfig, ViolationKind,
};
use tenure_core::TICKS_PER_TIME_UNIT;
use tenure_core::monitors::{LeaderAgreement, MutualExclusion};
use tenure_core::quorum::QuorumKind;

use crate::by_service::{ServiceCheck, of, variants, with};
use crate::catalogue::{safe_and_live, violates};
use crate::panics::PanicOnGreeting;
use crate::textbook::{Mistake, Textbook};

/// Returns the configuration of member `number` of the swarm. The table of visited states has
/// `bytes` bytes.
fn member(number: u64, bytes: u64) -> SwarmMemberConfig {
    SwarmMemberConfig { table_bytes: bytes, ..SwarmMemberConfig::for_member(number, 8) }
}

fn locks(size: u32) -> ServiceCheck<RicartAgrawala> {
    of::<RicartAgrawala>(size)
        .request_limits(2)
        .always(MutualExclusion::new())
        .check_starvation_freedom()
}

#[test]
fn member_with_enough_memory_visits_every_state_and_proves_nothing() {
    let exhaustive = locks(2).run();
    exhaustive.assert_holds();
    for number in 1..=4 {
        let report = locks(2).swarm_member(member(number, 1 << 20)).run();
        assert_eq!(report.states, exhaustive.states, "member {number}");
        assert_eq!(report.transitions, exhaustive.transitions);
        assert_eq!(report.judgement(), Judgement::Incomplete, "{report}");
        assert!(!report.holds() && report.counterexamples.is_empty());
        let coverage = report.swarm.expect("a swarm search reports its coverage");
        assert!(coverage.is_exhausted && coverage.explored_share() > Some(0.999), "{report}");
        let text = report.to_string();
        assert!(text.contains("no violation found in"), "{text}");
        assert!(!text.contains("holds"), "{text}");
    }
}

#[test]
fn crashes_timers_and_synchronous_time_lead_to_the_same_states() {
    let check = || {
        let config = bully::Config::with_defaults(2, TICKS_PER_TIME_UNIT);
        with::<Bully>(2, config).synchronous(0..=1).max_crashes(1).detecting_failures().max_term(2)
    };
    let exhaustive = check().always(LeaderAgreement::new()).run();
    let report = check().always(LeaderAgreement::new()).swarm_member(member(3, 1 << 20)).run();
    assert_eq!((report.states, report.transitions), (exhaustive.states, exhaustive.transitions));
}

/// If the table is too small, the search omits states, and the report estimates their number. The
/// search also misses states that can be reached only through omitted states. The estimate does not
/// count the missed states, so it is a lower bound. The coverage in the report is therefore an
/// upper bound.
#[test]
fn estimated_omissions_are_a_lower_bound() {
    let check = || of::<RicartAgrawala>(3).request_limits([2, 1, 1]).always(MutualExclusion::new());
    let all = check().run().states as f64;
    let mut explored = Vec::new();
    for (number, states_per_byte) in [(1, 1.5), (2, 1.5), (3, 0.5)] {
        let report = check().swarm_member(member(number, (all / states_per_byte) as u64)).run();
        let coverage = report.swarm.expect("a swarm search reports its coverage");
        let (missing, estimated) = (all - report.states as f64, coverage.expected_omissions);
        assert!(missing > 1.0, "{missing} of {all} states are missing");
        assert!(estimated < 1.3 * missing + 20.0, "{estimated} for {missing} of {all}");
        assert!(estimated > missing / 8.0, "{estimated} for {missing} of {all}");
        assert!(coverage.explored_share().is_some_and(|most| most < 1.0), "{report}");
        explored.push(report.states);
    }
    assert_ne!(explored[0], explored[1], "different members omit different states");
    assert!(explored[2] > explored[0], "a larger table omits fewer states");
}

/// An exhaustive search and every member of a swarm find each known mistake.
#[test]
fn every_member_finds_mistakes_of_locks() {
    let textbook = |mistake| {
        safe_and_live(Check::<Textbook>::with_protocol_config(2, mistake).request_limits(2))
    };
    for mistake in [Mistake::NoTieBreakReply, Mistake::IdsAsStamps, Mistake::NoClockOnRequest] {
        let shortest = textbook(mistake).run();
        let shortest = shortest.counterexample("mutual-exclusion").expect("a mistake").step_count();
        for number in 1..=8 {
            let report = textbook(mistake).swarm_member(member(number, 1 << 18)).run();
            let found =
                report.shortest_counterexample().unwrap_or_else(|| panic!("{mistake:?} {report}"));
            if found.property.name() == "mutual-exclusion" {
                assert!(found.step_count() >= shortest, "{mistake:?} by {number}: {report}");
                assert!(found.step_count() <= shortest + 4, "{mistake:?} by {number}: {report}");
                assert_eq!(found.kind, ViolationKind::Step);
            }
        }
    }
    let check = |switches: &[ricart_agrawala::VariantId]| {
        let check = with::<RicartAgrawala>(3, variants(switches));
        check.always(MutualExclusion::new())
    };
    let mistake = ricart_agrawala::VariantId::ClockOnlyStrict;
    for number in 1..=4 {
        let report = check(&[mistake]).swarm_member(member(number, 1 << 18)).run();
        violates(&report, "mutual-exclusion");
        // Negative control: without the mistake the same search finds nothing.
        let report = check(&[]).swarm_member(member(number, 1 << 18)).max_states(10_000).run();
        assert_eq!(report.judgement(), Judgement::Incomplete, "{report}");
    }
}

#[test]
fn deadlock_is_found_where_a_run_ends() {
    let check = |switches: &[maekawa::VariantId]| {
        let config = maekawa::Config::with_quorum_kind(QuorumKind::Pairs, 3).expect("pairs exist");
        let config = maekawa::Config { variants: variants(switches), ..config };
        with::<Maekawa>(3, config)
            .fifo()
            .check_deadlock_freedom()
            .swarm_member(member(2, 1 << 20))
            .run()
    };
    let report = check(&[maekawa::VariantId::Basic]);
    let found = report.counterexample("deadlock-freedom").unwrap_or_else(|| panic!("{report}"));
    assert_eq!(found.kind, ViolationKind::End);
    assert!(found.explanation.contains("wait, and the run can end here"), "{report}");
    let correct = check(&[]);
    assert_eq!(correct.judgement_of("deadlock-freedom"), Judgement::Incomplete, "{correct}");
}

#[test]
fn limits_and_depth_leave_the_coverage_unknown() {
    let report = locks(3).swarm_member(member(1, 1 << 20)).max_states(1_000).run();
    assert_eq!(
        (report.reached_limit, report.states),
        (Some(StopReason::States), 1_000),
        "{report}"
    );
    let shallow = SwarmMemberConfig { depth_max: 5, ..member(1, 1 << 20) };
    let cut: CheckReport = locks(3).swarm_member(shallow).run();
    assert_eq!(cut.depth, 5, "{cut}");
    for report in [report, cut] {
        let coverage = report.swarm.expect("a swarm search reports its coverage");
        assert_eq!(coverage.explored_share(), None, "{report}");
        assert!(report.to_string().contains("coverage: not known"), "{report}");
    }
}

#[test]
fn handler_panic_reports_the_run() {
    let check = Check::<PanicOnGreeting>::with_protocol_config(3, ())
        .request_limits(2)
        .always(MutualExclusion::new());
    let error = check.swarm_member(member(1, 1 << 20)).try_run().expect_err("a handler panics");
    assert!(error.to_string().contains("greets a process that is inside"), "{error}");
    assert!(error.to_string().contains("receives hello"), "{error}");
}

#[test]
fn table_beyond_the_memory_is_an_error() {
    // No allocation can be larger than half of the address space.
    for bytes in [1 << 63, u64::MAX] {
        let error = locks(2).swarm_member(member(1, bytes)).try_run().expect_err("no memory");
        assert_eq!(error, CheckError::TableMemory { bytes });
        assert!(error.to_string().contains(&bytes.to_string()), "{error}");
    }
}
