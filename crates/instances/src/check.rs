//! Exhaustive checks of an algorithm. Each service has its own properties.

use std::sync::Arc;

use tenure_check::{
    Check, CheckConfig, CheckError, CheckReport, Checkable, Instant, Measure, MeasureConfig,
    MeasureReport,
};
use tenure_core::monitors::{
    AgreementMonitor, BestRankLeads, Bypass, Fencing, IncreasingOwnTerms, LeaderAgreement,
    LeaderScope, LinksOnly, LocalMutualExclusion, MessageBudget, MutualExclusion, OneLeader,
    OneLeaderPerGroup, RequestOrder, SteadyLeader,
};
use tenure_core::{Algorithm, Card, Election, Mutex, Property, Rank};
use tenure_trace::property::ExpressionProperty;
use tenure_trace::{Schedule, ScheduleReplayError, Trace};

use crate::monitors::custom_monitor;

/// Bypass at which a check stops counting. If a run reaches it, the report states only a lower
/// bound.
const MAX_COUNTED_BYPASS: u32 = 16;

/// Function that measures the costs of an algorithm over all possible schedules. `C` is the type of
/// the algorithm's configuration.
pub(crate) type MeasureFn<C> =
    fn(&CheckConfig, &MeasureConfig, &C) -> Result<MeasureReport, CheckError>;

/// Function that checks properties of an algorithm in all possible schedules. `C` is the type of
/// the algorithm's configuration.
pub(crate) type CheckFn<C> =
    fn(&CheckConfig, &[Property], &[Rank], &C) -> Result<CheckReport, CheckError>;

/// Checks properties of a lock in all possible schedules.
///
/// # Panics
///
/// If a property does not apply to locks.
pub(crate) fn check_lock<P: Mutex + Algorithm>(
    config: &CheckConfig,
    properties: &[Property],
    _ranks: &[Rank],
    protocol: &P::Config,
) -> Result<CheckReport, CheckError> {
    let (size, app_messages) = (config.size, config.model.application_messages);
    let has_application_messages =
        app_messages > 0 || properties.contains(&Property::OrderWithMessages);
    let started = Instant::now();
    let check = |properties: &[Property], app_messages: u32, custom: &[Arc<ExpressionProperty>]| {
        let mut config = config.clone();
        config.custom_properties = custom.to_vec();
        // All searches of a check share the time limit.
        let time = &mut config.search.limits.time;
        *time = time.map(|time| time.saturating_sub(started.elapsed()));
        let mut check = Check::<P>::for_algorithm(protocol.clone(), config)
            .max_application_messages(app_messages);
        let card = P::card(protocol, size);
        for property in properties {
            check = match property {
                Property::MutualExclusion => check.always(MutualExclusion::new()),
                Property::KExclusion(most) => check.always(MutualExclusion::at_most(*most)),
                Property::LocalMutualExclusion => {
                    check.always(LocalMutualExclusion::from_card(&card, size))
                }
                Property::Fencing => check.always(Fencing::new()),
                Property::FirstComeFirstServed => check.always(RequestOrder::new()),
                Property::OrderWithMessages => check
                    .max_application_messages(app_messages.max(1))
                    .always(RequestOrder::with_application_messages()),
                Property::Bypass(None) => check.measuring_bypass(MAX_COUNTED_BYPASS),
                Property::Bypass(Some(most)) => check.always(Bypass::at_most(*most)),
                Property::DeadlockFreedom => check.check_deadlock_freedom(),
                Property::StarvationFreedom => check.check_starvation_freedom(),
                Property::Progress => check.check_progress(),
                Property::Topology => check.always_on_links(LinksOnly::from_card(&card, size)),
                Property::Cost => match MessageBudget::from_cost(&card.messages) {
                    // The monitor also judges the end of a run, because only then it is known that
                    // messages are missing.
                    Some(spending) => check.always_and_at_end(spending),
                    None => check,
                },
                Property::Custom(_) => match custom_monitor(*property) {
                    Some(monitor) => check.always_and_at_end(monitor),
                    None => check,
                },
                other => panic!("{other} cannot be checked for a lock"),
            };
        }
        check.try_run()
    };
    if !has_application_messages || !properties.contains(&Property::FirstComeFirstServed) {
        return check(properties, app_messages, &config.custom_properties);
    }
    // The property `FirstComeFirstServed` does not depend on application messages. Therefore a
    // separate search checks it without them, in a smaller state space. The other search checks all
    // other properties with application messages.
    let (order, others): (Vec<Property>, Vec<Property>) =
        properties.iter().partition(|property| **property == Property::FirstComeFirstServed);
    let alone = check(&order, 0, if others.is_empty() { &config.custom_properties } else { &[] })?;
    if others.is_empty() {
        return Ok(alone);
    }
    Ok(check(&others, app_messages, &config.custom_properties)?.combined_with(alone))
}

/// Measures the costs of a lock over all possible schedules.
pub(crate) fn measure_lock<P: Mutex + Algorithm>(
    config: &CheckConfig,
    measure: &MeasureConfig,
    protocol: &P::Config,
) -> Result<MeasureReport, CheckError> {
    let check = Check::<P>::for_algorithm(protocol.clone(), config.clone());
    let check = match measure.measure {
        Measure::Bypass => check.measuring_bypass(MAX_COUNTED_BYPASS),
        _ => check,
    };
    check.measure(measure.clone())
}

/// Measures the costs of an algorithm over all possible schedules. The algorithm may belong to any
/// service. If `measure` selects the bypass, the result is 0, because only locks have a bypass.
pub(crate) fn measure_any<P: Algorithm + Checkable>(
    config: &CheckConfig,
    measure: &MeasureConfig,
    protocol: &P::Config,
) -> Result<MeasureReport, CheckError> {
    Check::<P>::for_algorithm(protocol.clone(), config.clone()).measure(measure.clone())
}

/// Checks properties of an election in all possible schedules.
///
/// # Panics
///
/// If a property does not apply to elections.
pub(crate) fn check_election<P: Election + Algorithm>(
    config: &CheckConfig,
    properties: &[Property],
    ranks: &[Rank],
    protocol: &P::Config,
) -> Result<CheckReport, CheckError> {
    let card = P::card(protocol, config.size);
    let down = &config.faults.initially_down;
    let mut check = Check::<P>::for_algorithm(protocol.clone(), config.clone());
    for property in properties {
        check = match property {
            Property::Agreement => {
                check.always_and_at_end(LeaderAgreement::new().with_initially_down(down))
            }
            Property::Validity | Property::SmallestLeads => {
                let smallest = *property == Property::SmallestLeads;
                let validity = BestRankLeads::new(ranks.to_vec()).requiring_smallest_rank(smallest);
                check.always_and_at_end(validity.with_initially_down(down))
            }
            Property::OneLeaderPerGroup => check.always_and_at_end(OneLeaderPerGroup::new()),
            Property::OneLeaderAtATime => check.always(OneLeader::new(LeaderScope::Overall)),
            Property::OneLeaderPerTerm => check.always(OneLeader::new(LeaderScope::PerTerm)),
            Property::FreshTerms => check.always(IncreasingOwnTerms::new()),
            Property::SteadyLeader => check.always(SteadyLeader::new(config.size)),
            Property::Progress => check.check_progress(),
            Property::Topology => check.always_on_links(LinksOnly::from_card(&card, config.size)),
            Property::Cost => match MessageBudget::from_cost(&card.messages) {
                Some(spending) => check.always(spending),
                None => check,
            },
            Property::Custom(_) => match custom_monitor(*property) {
                Some(monitor) => check.always_and_at_end(monitor),
                None => check,
            },
            other => panic!("{other} cannot be checked for an election"),
        };
    }
    check.try_run()
}

/// Checks properties of an agreement service in all possible schedules.
///
/// # Panics
///
/// If a property does not apply to the service.
pub(crate) fn check_agreement<P: tenure_core::Agreement + Algorithm>(
    config: &CheckConfig,
    properties: &[Property],
    _ranks: &[Rank],
    protocol: &P::Config,
) -> Result<CheckReport, CheckError> {
    let (service, down) = (config.service, &config.faults.initially_down);
    let mut check = Check::<P>::for_algorithm(protocol.clone(), config.clone());
    let card = P::card(protocol, config.size);
    for property in properties {
        let monitor = AgreementMonitor::for_property(service, *property, config.size, down);
        check = match monitor.map(|monitor| monitor.with_graph(card.graph.as_deref())) {
            Some(monitor) if monitor.is_judged_at_end() => check.always_and_at_end(monitor),
            Some(monitor) => check.always(monitor),
            None if *property == Property::Progress => check.check_progress(),
            None if *property == Property::Topology => {
                check.always_on_links(LinksOnly::from_card(&card, config.size))
            }
            None => panic!("{property} cannot be checked for a {}", service.name()),
        };
    }
    check.try_run()
}

/// Executes the steps of a schedule in the checker, and returns the trace.
pub(crate) fn follow_schedule<P: Algorithm + Checkable>(
    schedule: &Schedule,
    protocol: &P::Config,
) -> Result<Trace, ScheduleReplayError<CheckError>> {
    let Card { name, service, .. } = P::card(protocol, schedule.size);
    let config = CheckConfig::new(name, service, schedule.size);
    Check::<P>::for_algorithm(protocol.clone(), config).run_schedule(schedule)
}
