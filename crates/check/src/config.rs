//! Configuration of a check, independent of the type of the protocol.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tenure_core::{Card, ChannelOrder, ProcessId, Service};
use tenure_trace::ScriptAction;
use tenure_trace::property::ExpressionProperty;

use crate::error::CheckError;
use crate::limits::{CheckLimits, SearchProgress};
use crate::liveness::Fairness;
use crate::swarm::SwarmMemberConfig;
use crate::users::crashes::{CrashFilter, SaveTiming};
use crate::users::entries::{RequestLimit, RequestLimits};
use crate::world::network::QueueInterner;
use crate::world::{FaultCounts, LimitedFault, MAX_FAULTS};

/// Configuration of a check: the model, its faults, the bounds of the state space and the search.
///
/// [`Check`](crate::Check) has a method for each common option. [`Check::configure`] sets the
/// others.
///
/// [`Check::configure`]: crate::Check::configure
#[derive(Clone)]
pub struct CheckConfig {
    /// Name of the algorithm in reports.
    pub name: String,
    /// Service that the protocol provides.
    pub service: Service,
    /// Number of processes, from 1 to [`MAX_PROCESSES`](crate::MAX_PROCESSES). At most 16 if the
    /// protocol combines a lock with an election.
    pub size: u32,
    /// Users, links, clocks and failure detectors.
    pub model: ModelConfig,
    /// Faults that the environment may cause.
    pub faults: FaultConfig,
    /// Bounds of the explored state space.
    pub bounds: StateSpaceBounds,
    /// Reductions, limits and progress of the search.
    pub search: SearchConfig,
    /// Properties that the user has written as expressions. A check judges them in addition to the
    /// properties that [`Check`](crate::Check) selects. A measurement does not judge them.
    pub custom_properties: Vec<Arc<ExpressionProperty>>,
    /// Fairness under which liveness is judged.
    pub fairness: Fairness,
}

/// Users, links, clocks and failure detectors of a check.
#[derive(Clone, Debug)]
pub struct ModelConfig {
    /// Number of requests of each user.
    pub request_limits: RequestLimits,
    /// Processes whose users may start an election, or may use an agreement service. Each user
    /// starts at most one election, at any moment. `None` means all processes.
    pub initiators: Option<Vec<ProcessId>>,
    /// True if a user starts no election after it has learned of a leader.
    pub has_single_election: bool,
    /// Order in which a link may deliver its messages.
    pub order: ChannelOrder,
    /// Minimum and maximum latency of a message, in units of synchronous time. `None` means that
    /// time is asynchronous: a message may arrive at any moment.
    pub latency: Option<RangeInclusive<u32>>,
    /// True if all processes step together in rounds of one unit of time. [`Self::latency`] must
    /// then be one unit, and [`Self::step_duration`] must be zero.
    ///
    /// Users issue their commands as soon as they can, so all users start in the same round. A
    /// process can crash while it sends the messages of a round. Any of these messages may then be
    /// lost, and the losses do not count towards [`FaultConfig::losses`]. At the end of a round, a
    /// process first receives all messages that were sent to it in this round. Then its due timers
    /// fire.
    pub has_rounds: bool,
    /// Minimum and maximum duration of a step in synchronous time, in units. It has no effect in
    /// asynchronous time.
    ///
    /// A process handles an input when the input arrives. When the step ends, its messages leave
    /// and its timers start. If an earlier step of the process has not ended, the duration of the
    /// new step begins when the earlier step ends. A crash discards the effects of steps that have
    /// not ended.
    pub step_duration: RangeInclusive<u32>,
    /// Greatest drift of a clock in synchronous time, in parts per million. It must be below one
    /// million.
    ///
    /// A timer of *t* units may fire at any whole unit from *t* / (1 + drift) to *t* / (1 − drift).
    /// If this range contains no whole unit, the timer fires at the next whole unit. In
    /// asynchronous time, a timer fires at any moment, so the drift has no effect.
    pub drift_ppm: u32,
    /// True if each process has a failure detector that eventually suspects every crashed process,
    /// and every process beyond a partition.
    pub has_detectors: bool,
    /// True if live processes detect that a peer has restarted: after a restart, the peer has a new
    /// session. The runtime detects restarts in the same way.
    ///
    /// At some moment after the restart, each live process suspects the peer. The process then
    /// trusts the peer again before it receives any other input. The process does so whether or not
    /// its failure detector has reported the crash.
    pub detects_restarts: bool,
    /// Maximum number of messages that the applications of all processes together send, at most 31.
    pub application_messages: u32,
    /// True if a message between applications extends the causal past of its receiver. False if
    /// only a message of the protocol extends the causal past.
    pub has_application_causality: bool,
    /// Number of different times that a local clock can show. The clock shows whole units of time,
    /// from 0 to this number minus 1. The number 0 has the same effect as 1.
    pub clock_readings: u32,
    /// Actions with which every run begins. The search explores all continuations. Faults and
    /// commands among these actions count towards the limits of this configuration.
    pub prefix: Vec<ScriptAction>,
    /// [`Card`] of the algorithm, whose assumptions the check must not exceed. `None` means that
    /// the check may exceed any assumption.
    pub assumed_card: Option<Card>,
}

/// Faults that a check explores. Each number is a maximum per run, and may be at most 31.
#[derive(Clone, Debug, Default)]
pub struct FaultConfig {
    /// Number of lost messages. Messages that a crash, a partition or a full link removes do not
    /// count.
    pub losses: u32,
    /// Number of duplicated messages.
    pub duplicates: u32,
    /// Number of crashes.
    pub crashes: u32,
    /// Processes that may crash, and the phases of their users in which they may crash.
    pub crash_filter: CrashFilter,
    /// Moments, relative to the save of a process's state, at which the check explores a crash of
    /// this process.
    pub saving: SaveTiming,
    /// Number of recoveries. A process recovers with its saved state.
    pub recoveries: u32,
    /// Number of times that a failure detector suspects a live peer that is not cut off by a
    /// partition. Such suspicions are possible even if [`ModelConfig::has_detectors`] is false.
    pub false_suspicions: u32,
    /// Processes on one side of a partition, which may occur at any moment and lasts forever.
    /// `None` means that no partition occurs.
    pub partition_side: Option<Vec<ProcessId>>,
    /// Processes that are down from the start. They do not count as crashes, but may recover.
    pub initially_down: Vec<ProcessId>,
}

/// Bounds of the state space that a check explores.
#[derive(Clone, Copy, Debug)]
pub struct StateSpaceBounds {
    /// Maximum number of messages in flight per link, at least 1.
    ///
    /// A full link drops further messages if three conditions hold: the check allows losses, the
    /// assumed [`Card`], if any, tolerates any number of losses, and `prunes_full_links` is false.
    /// In all other cases, the search prunes each state in which a link would exceed the maximum.
    /// The report lists this bound if a link was full, whether the link dropped a message or the
    /// search pruned a state.
    pub in_flight: usize,
    /// True if a full link never drops messages. The search then always prunes the states in which
    /// a link would exceed `in_flight`. This leaves fewer states to explore.
    pub prunes_full_links: bool,
    /// Highest term of a process, for protocols with terms. The search prunes states with higher
    /// terms, and the report lists the bound. `None` means no bound.
    pub term_max: Option<u64>,
    /// True if the number of requests may be unbounded although the search does not shift
    /// timestamps. The caller must ensure that the number of states is finite.
    pub accepts_unbounded_entries: bool,
}

/// Reductions, limits and progress reports of a search.
#[derive(Clone, Default)]
pub struct SearchConfig {
    /// True if the search merges states that differ only by a shift of all timestamps. It has no
    /// effect if the protocol defines no such shifts, or if processes may recover. It also has no
    /// effect if application messages carry a clock, or if an expression depends on timestamps.
    pub shifts_timestamps: bool,
    /// True if the search uses partial-order reduction by ample sets: see
    /// [`Check::reducing_by_ample_sets`](crate::Check::reducing_by_ample_sets).
    pub uses_ample_sets: bool,
    /// True if the search uses partial-order reduction by commuting deliveries. In a state in which
    /// one delivery commutes with all later steps, the search then takes only this delivery: see
    /// [`Check::reducing_by_commuting_deliveries`](crate::Check::reducing_by_commuting_deliveries).
    pub uses_commuting_deliveries: bool,
    /// True if the search stores whole states. Otherwise it stores fingerprints of 64 bits, and may
    /// miss a state whose fingerprint equals that of another state. A swarm search ignores this
    /// option.
    pub stores_whole_states: bool,
    /// Member of a swarm whose search replaces the exhaustive search. The search of a member stores
    /// a few bits for each state, and proves nothing. `None` means an exhaustive search.
    pub swarm: Option<SwarmMemberConfig>,
    /// Number of threads. `None` means one thread per core. The result is the same for any number,
    /// unless the caller or a limit on time or memory ends the search.
    pub threads: Option<usize>,
    /// Limits after which the search stops.
    pub limits: CheckLimits,
    /// Flag that stops the check soon after it is set.
    pub stop_flag: Option<Arc<AtomicBool>>,
    /// Callback that receives the progress of the search at intervals.
    pub on_progress: Option<OnProgress>,
}

/// Callback that receives progress reports of a search.
pub type OnProgress = Arc<dyn Fn(&SearchProgress) + Send + Sync>;

const IN_FLIGHT: usize = 4;

impl CheckConfig {
    /// Creates the default configuration: one entry per process, reordering channels, no faults,
    /// asynchronous time, at most 4 messages in flight per link, no limits, one thread per core.
    pub fn new(name: impl Into<String>, service: Service, size: u32) -> Self {
        CheckConfig {
            name: name.into(),
            service,
            size,
            model: ModelConfig::default(),
            faults: FaultConfig::default(),
            bounds: StateSpaceBounds::default(),
            search: SearchConfig::default(),
            custom_properties: Vec::new(),
            fairness: Fairness::default(),
        }
    }

    /// Returns the maximum number of each [`LimitedFault`] per run. Returns an error if a number
    /// exceeds [`MAX_FAULTS`].
    pub(crate) fn fault_budget(&self) -> Result<FaultCounts, CheckError> {
        let faults = &self.faults;
        [
            (LimitedFault::Loss, faults.losses),
            (LimitedFault::Duplication, faults.duplicates),
            (LimitedFault::Crash, faults.crashes),
            (LimitedFault::Recovery, faults.recoveries),
            (LimitedFault::FalseSuspicion, faults.false_suspicions),
            (LimitedFault::ApplicationMessage, self.model.application_messages),
            (LimitedFault::Partition, u32::from(faults.partition_side.is_some())),
        ]
        .into_iter()
        .try_fold(FaultCounts::default(), |budget, (fault, given)| match given {
            ..=MAX_FAULTS => Ok(budget.with_count(fault, given)),
            _ => Err(CheckError::Faults { given, max: MAX_FAULTS }),
        })
    }

    /// Panics if the configuration is inconsistent: if links have no room for a message, or, in
    /// synchronous time, if a range is empty or the drift would stop a clock. In rounds, also
    /// panics if a message does not take exactly one unit of time, or if steps take time.
    pub(crate) fn assert_consistent(&self) {
        let CheckConfig { model, bounds, .. } = self;
        assert!(bounds.in_flight > 0, "a link holds at least one message");
        if let Some(latency) = &model.latency {
            assert!(!latency.is_empty(), "the least latency must not exceed the greatest");
            assert!(
                !model.step_duration.is_empty(),
                "the least duration must not exceed the greatest"
            );
            assert!(model.drift_ppm < 1_000_000, "a drift of 1 would stop a clock");
        }
        let lasts_one_unit = model.latency == Some(1..=1) && !model.steps_take_time();
        assert!(
            !model.has_rounds || lasts_one_unit,
            "a message takes one round, and a step no time"
        );
    }

    pub(crate) fn network_interner(&self) -> QueueInterner {
        let CheckConfig { model, bounds, .. } = self;
        QueueInterner::new(model.order, model.latency.is_some(), bounds.in_flight)
    }

    pub(crate) fn can_processes_be_down(&self) -> bool {
        !self.faults.initially_down.is_empty() || self.faults.crashes > 0
    }
}

impl ModelConfig {
    pub(crate) fn steps_take_time(&self) -> bool {
        self.latency.is_some() && *self.step_duration.end() > 0
    }
}

impl Default for ModelConfig {
    fn default() -> Self {
        ModelConfig {
            request_limits: RequestLimits::Same(RequestLimit::AtMost(1)),
            initiators: None,
            has_single_election: false,
            order: ChannelOrder::Reordered,
            latency: None,
            has_rounds: false,
            step_duration: 0..=0,
            drift_ppm: 0,
            has_detectors: false,
            detects_restarts: false,
            application_messages: 0,
            has_application_causality: true,
            clock_readings: 1,
            prefix: Vec::new(),
            assumed_card: None,
        }
    }
}

impl Default for StateSpaceBounds {
    fn default() -> Self {
        StateSpaceBounds {
            in_flight: IN_FLIGHT,
            prunes_full_links: false,
            term_max: None,
            accepts_unbounded_entries: false,
        }
    }
}
