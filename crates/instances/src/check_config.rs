//! Configuration of an exhaustive check, independent of the protocol's type.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tenure_check::{
    Check, CheckError, Checkable, EntryLimits, MemoryReader, Progress, Report, Saving,
};
use tenure_core::monitors::{
    Agreement, AgreementMonitor, Bypass, Fencing, FreshTerms, MessageBudget, MutualExclusion,
    OneLeader, Order as InOrder, Scope, SteadyLeader, Validity,
};
use tenure_core::{
    Algorithm, Card, Detection, Election, Mutex, Order, ProcessId, Property, Rank, Timing, Topology,
};

use tenure_trace::{Action, FollowError, Schedule, Trace};

/// Limit of the measured bypass: a higher count is reported as unbounded.
const MAX_COUNTED_BYPASSES: u32 = 16;

/// Callback that receives the progress of a search.
pub type Watch = Box<dyn FnMut(&Progress) + Send>;

/// Configuration of a check. Options that are `None` follow from the card of the algorithm.
#[derive(Clone, Debug)]
pub struct CheckConfig {
    /// Number of processes.
    pub size: u32,
    /// Rank of each process, which decides elections.
    pub ranks: Arc<[Rank]>,
    /// Properties to check.
    pub properties: Vec<Property>,
    /// Number of critical-section requests of each user.
    pub entries: EntryLimits,
    /// Processes whose users start an election. `None`: all.
    pub initiators: Option<Vec<ProcessId>>,
    /// Processes that have crashed before the search begins.
    pub initially_down: Vec<ProcessId>,
    /// Delivery order on a link. `None`: the order that the card assumes.
    pub channel_order: Option<Order>,
    /// Timing model. `None`: the model that the card assumes.
    pub timing: Option<Timing>,
    /// Latency of a message in synchronous time, in whole units.
    pub latency_units: RangeInclusive<u32>,
    /// Maximum number of lost messages.
    pub lose: u32,
    /// Maximum number of duplicated messages.
    pub duplicate: u32,
    /// Maximum number of crashes.
    pub crash: u32,
    /// Maximum number of recoveries.
    pub recover: u32,
    /// Steps that a crash can separate when a process saves its state.
    pub saving: Saving,
    /// Processes that a partition may separate from the others.
    pub partition: Option<Vec<ProcessId>>,
    /// Maximum number of false suspicions.
    pub false_suspicion: u32,
    /// True if a recovered process appears to its peers with a new session.
    pub has_new_sessions: bool,
    /// Maximum number of messages between applications.
    pub app_messages: u32,
    /// Capacity of a link, in messages.
    pub in_flight: usize,
    /// True if the search does not continue from states in which a link is full, even if messages
    /// may be lost.
    pub is_cut_when_full: bool,
    /// Actions to perform before the search begins.
    pub prefix: Vec<Action>,
    /// Highest term. The search does not continue from states with a higher one.
    pub term_max: u64,
    /// True if the check may exceed the assumptions of the card.
    pub is_beyond_assumptions: bool,
    /// True if states that differ only in the identity of positions count as one (symmetry
    /// reduction).
    pub is_reduced: bool,
    /// True if the search stores full states instead of fingerprints.
    pub is_exact: bool,
    /// Number of search threads. `None`: one for each core.
    pub threads: Option<usize>,
    /// Approximate number of states after which the search stops.
    pub max_states: Option<u64>,
    /// Approximate memory use after which the search stops, in bytes.
    pub max_memory: Option<u64>,
    /// Function that returns the memory use of this process, for `max_memory`.
    pub memory_reader: Option<MemoryReader>,
    /// Duration after which the search stops.
    pub max_time: Option<Duration>,
    /// Flag that stops the search soon after it is set.
    pub stop_flag: Arc<AtomicBool>,
    /// Function that creates a progress callback for each search.
    pub watch: Option<fn() -> Watch>,
}

/// Checks a mutual exclusion algorithm.
pub(crate) fn check_lock<P: Mutex + Algorithm>(
    check_config: &CheckConfig,
    config: &P::Config,
) -> Result<Report, CheckError> {
    let has_application_messages = check_config.app_messages > 0
        || check_config.properties.contains(&Property::OrderWithMessages);
    let started = Instant::now();
    let check = |properties: &[Property], app_messages: u32| {
        let search = check_config.starting_after(started.elapsed());
        let mut check = search.to_check::<P>(config).application_messages(app_messages);
        for property in properties {
            check = match property {
                Property::MutualExclusion => check.always(MutualExclusion::new()),
                Property::AtMost(most) => check.always(MutualExclusion::at_most(*most)),
                Property::Fencing => check.always(Fencing::new()),
                Property::Order => check.always(InOrder::new()),
                Property::OrderWithMessages => {
                    check.application_messages(app_messages.max(1)).always(InOrder::with_messages())
                }
                Property::Bypass(None) => check.measuring_bypass(MAX_COUNTED_BYPASSES),
                Property::Bypass(Some(most)) => check.always(Bypass::at_most(*most)),
                Property::DeadlockFreedom => check.deadlock_free(),
                Property::StarvationFreedom => check.starvation_free(),
                Property::Progress => check.progress(),
                Property::Topology => check.on_ring(P::card(config, check_config.size).topology),
                Property::Cost => {
                    match MessageBudget::within(&P::card(config, check_config.size).messages) {
                        // Missing messages are known only at the end.
                        Some(spending) => check.always_and_at_end(spending),
                        None => check,
                    }
                }
                other => panic!("{other} cannot be checked for a lock"),
            };
        }
        check.try_run()
    };
    if !has_application_messages || !check_config.properties.contains(&Property::Order) {
        return check(&check_config.properties, check_config.app_messages);
    }
    // Application messages affect only the properties that consider their causality, so the plain
    // order is checked without them, in a smaller state space.
    let (order, others): (Vec<Property>, Vec<Property>) =
        check_config.properties.iter().partition(|property| **property == Property::Order);
    let alone = check(&order, 0)?;
    if others.is_empty() {
        return Ok(alone);
    }
    Ok(check(&others, check_config.app_messages)?.and(alone))
}

/// Checks an election algorithm.
pub(crate) fn check_election<P: Election + Algorithm>(
    check_config: &CheckConfig,
    config: &P::Config,
) -> Result<Report, CheckError> {
    let mut check = check_config.to_check::<P>(config);
    for property in &check_config.properties {
        check = match property {
            Property::Agreement => check.always_and_at_end(Agreement::new()),
            Property::Validity => check.always_and_at_end(
                Validity::new(check_config.ranks.to_vec()).without(&check_config.initially_down),
            ),
            Property::OneLeaderAtATime => check.always(OneLeader::new(Scope::Overall)),
            Property::OneLeaderPerTerm => check.always(OneLeader::new(Scope::PerTerm)),
            Property::FreshTerms => check.always(FreshTerms::new()),
            Property::SteadyLeader => check.always(SteadyLeader::of(check_config.size)),
            Property::Progress => check.progress(),
            Property::Topology => check.on_ring(P::card(config, check_config.size).topology),
            Property::Cost => {
                match MessageBudget::within(&P::card(config, check_config.size).messages) {
                    Some(spending) => check.always(spending),
                    None => check,
                }
            }
            other => panic!("{other} cannot be checked for an election"),
        };
    }
    check.try_run()
}

/// Checks an algorithm for any agreement service.
pub(crate) fn check_agreement<P: tenure_core::Agreement + Algorithm>(
    check_config: &CheckConfig,
    config: &P::Config,
) -> Result<Report, CheckError> {
    let service = P::card(config, check_config.size).service;
    let mut check = check_config.to_check::<P>(config);
    for property in &check_config.properties {
        let monitor = AgreementMonitor::of(
            service,
            *property,
            check_config.size,
            &check_config.initially_down,
        );
        check = match monitor {
            Some(monitor) if monitor.is_judged_at_end() => check.always_and_at_end(monitor),
            Some(monitor) => check.always(monitor),
            None if *property == Property::Progress => check.progress(),
            None => panic!("{property} cannot be checked for a {}", service.name()),
        };
    }
    check.try_run()
}

/// Replays one schedule in the checker.
pub(crate) fn replay<P: Algorithm + Checkable>(
    schedule: &Schedule,
    config: &P::Config,
) -> Result<Trace, FollowError<CheckError>> {
    let Card { name, service, .. } = P::card(config, schedule.size);
    Check::<P>::with(schedule.size, config.clone()).named(name).serving(service).follow(schedule)
}

impl CheckConfig {
    /// Returns this configuration for a search that begins `elapsed` later. All searches of a check
    /// share `max_time`.
    fn starting_after(&self, elapsed: Duration) -> Self {
        let max_time = self.max_time.map(|time| time.saturating_sub(elapsed));
        CheckConfig { max_time, ..self.clone() }
    }

    /// Creates a check with all settings except the properties.
    fn to_check<P: Algorithm + Checkable>(&self, config: &P::Config) -> Check<P> {
        let card = P::card(config, self.size);
        let mut check = Check::<P>::with(self.size, config.clone())
            .serving(card.service)
            .entries(self.entries.clone())
            .down(self.initially_down.iter().copied())
            .channel(self.channel_order.unwrap_or(card.order))
            .losing(self.lose)
            .duplicating(self.duplicate)
            .crashing(self.crash)
            .recovering(self.recover)
            .suspecting_falsely(self.false_suspicion)
            .in_flight(self.in_flight.max(1))
            .after(self.prefix.iter().cloned())
            .term_max(self.term_max)
            .stop_when(Arc::clone(&self.stop_flag));
        if let Some(initiators) = &self.initiators {
            check = check.initiators(initiators.iter().copied());
        }
        if card.detection != Detection::None {
            check = check.detecting();
        }
        if self.timing.unwrap_or(card.timing) == Timing::Synchronous {
            check = check.synchronous(self.latency_units.clone());
        }
        check = check.saving(self.saving);
        if self.is_cut_when_full {
            check = check.pruning_full_links();
        }
        if self.has_new_sessions {
            check = check.detecting_restarts();
        }
        if let Some(side) = &self.partition {
            check = check.partitioning(side.iter().copied());
        }
        if self.is_reduced {
            check = check.rebasing();
            if card.topology == Topology::UnidirectionalRing {
                check = check.ample();
            }
        }
        if !self.is_beyond_assumptions {
            check = check.assuming(&card);
        }
        if self.is_exact {
            check = check.exact();
        }
        self.with_limits(check.named(card.name))
    }

    fn with_limits<P: Algorithm + Checkable>(&self, mut check: Check<P>) -> Check<P> {
        if let Some(threads) = self.threads {
            check = check.threads(threads);
        }
        if let Some(states) = self.max_states {
            check = check.max_states(states);
        }
        if let Some(bytes) = self.max_memory {
            check = check.max_memory(bytes);
        }
        if let Some(read) = self.memory_reader {
            check = check.memory_reader(read);
        }
        if let Some(time) = self.max_time {
            check = check.max_time(time);
        }
        match self.watch {
            Some(watch) => check.on_progress(watch()),
            None => check,
        }
    }
}
