//! Exhaustive check of locks in shared memory: every interleaving of the accesses of a small group.
//!
//! [`explore::build_state_graph`] builds the graph of all states, and the other modules analyse it.
//! The graph fits into memory because there are no messages in flight and no timers.

mod explore;
mod graph;
mod lasso;
mod pairs;
mod record;
mod verdicts;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tenure_core::shared_memory::SharedMemoryLock;
use tenure_core::{Judgement, Property};

use crate::clock::Instant;
use crate::config::OnProgress;
use crate::limits::{CheckLimits, StopSignal, Watchdog};
use crate::liveness::Fairness;
use crate::report::{BypassBound, CheckReport, ReachedBounds, judgement};
use crate::shared_memory::explore::build_state_graph;
use crate::shared_memory::record::SharedMemoryRecorder;
use crate::shared_memory::verdicts::SharedMemoryAnalysis;
use crate::users::entries::RequestLimit;

/// Number of entries at which counting of the bypass stops. If the bypass reaches this number, the
/// report contains a lower bound.
const MAX_COUNTED_BYPASS: u32 = 16;

/// Configuration of a check of a lock in shared memory.
#[derive(Clone)]
pub struct SharedMemoryLockConfig {
    /// Name of the lock on the command line.
    pub name: String,
    /// Number of processes.
    pub size: u32,
    /// Number of requests of each process.
    pub entries: Vec<RequestLimit>,
    /// Properties to check: mutual exclusion, deadlock freedom, starvation freedom, order and
    /// bypass.
    pub properties: Vec<Property>,
    /// Fairness under which liveness is judged.
    pub fairness: Fairness,
    /// Name of an array of registers, and the greatest value that its registers may have. The
    /// search prunes states with a greater value. `None` means no bound.
    pub register_bound: Option<(&'static str, u32)>,
    /// Limits of the search and of the judgements.
    pub limits: CheckLimits,
    /// Flag that stops the search and the judgements soon after it is set.
    pub stop_flag: Option<Arc<AtomicBool>>,
    /// Callback that receives the progress of the search at intervals.
    pub on_progress: Option<OnProgress>,
}

impl SharedMemoryLockConfig {
    /// Returns the configuration for a group whose users request again and again, under weak
    /// fairness and without bounds and limits.
    pub fn new(name: impl Into<String>, size: u32, properties: Vec<Property>) -> Self {
        SharedMemoryLockConfig {
            name: name.into(),
            size,
            entries: vec![RequestLimit::Unbounded; size as usize],
            properties,
            fairness: Fairness::default(),
            register_bound: None,
            limits: CheckLimits::default(),
            stop_flag: None,
            on_progress: None,
        }
    }
}

/// Explores all interleavings and judges the properties.
///
/// A step is a request, an access to a register, or an exit. The number of transitions in the
/// report includes one for the initial state.
///
/// # Panics
///
/// Panics if a property does not apply to a lock in shared memory.
pub fn check_shared_memory_lock<L: SharedMemoryLock>(
    config: &SharedMemoryLockConfig,
    lock: &L::Config,
) -> CheckReport {
    let started = Instant::now();
    let stop = StopSignal::default().for_new_search(config.stop_flag.clone());
    let _watchdog = Watchdog::start(config.limits, &stop, started, true);
    check_until::<L>(config, lock, &stop, started)
}

/// Performs the check until `stop` is raised. A property whose analysis is interrupted is
/// incomplete.
fn check_until<L: SharedMemoryLock>(
    config: &SharedMemoryLockConfig,
    lock: &L::Config,
    stop: &StopSignal,
    started: Instant,
) -> CheckReport {
    let explored = build_state_graph::<L>(config, lock, stop.clone(), started);
    let graph = &explored.graph;
    let analysis = SharedMemoryAnalysis { graph, fairness: config.fairness };
    let recorder = SharedMemoryRecorder::<L>::new(config, lock);
    let mut report = CheckReport {
        algorithm: config.name.clone(),
        size: config.size,
        states: graph.len() as u64,
        transitions: graph.transitions() as u64 + 1,
        depth: graph.depth(),
        fully_explored_depth: Some(graph.complete_depth()),
        bounds: ReachedBounds {
            ticket_max: config
                .register_bound
                .filter(|_| graph.is_pruned)
                .map(|(_, most)| most.into()),
            ..ReachedBounds::default()
        },
        reached_limit: explored.limit,
        peak_bytes: explored.bytes,
        ..CheckReport::default()
    };
    let mut is_interrupted = false;
    for property in &config.properties {
        if is_liveness(*property) {
            report.fairness = Some(config.fairness);
        }
        if *property == Property::Bypass(None) {
            let bypass = measure_bypass(&analysis, &recorder);
            is_interrupted |= graph.must_stop_analysis();
            let at_least = bypass.is_lower_bound || is_interrupted || explored.limit.is_some();
            report.bypass = Some(BypassBound { is_lower_bound: at_least, ..bypass });
            continue;
        }
        let violation = analysis.judge(*property);
        // Nothing interrupts the judgement of mutual exclusion, because it takes little time.
        let is_judged = *property == Property::MutualExclusion || !graph.must_stop_analysis();
        is_interrupted |= !is_judged;
        let violation = violation.filter(|_| is_judged);
        let judgement = match is_judged {
            true => judgement(violation.is_some(), explored.limit),
            false => Judgement::Incomplete,
        };
        report.properties.push((*property, judgement));
        report.counterexamples.extend(violation.map(|it| recorder.counterexample(*property, it)));
    }
    if is_interrupted {
        (report.reached_limit, report.fully_explored_depth) = (stop.reached_limit(), None);
    }
    report.seconds = started.elapsed().as_secs_f64();
    report
}

const fn is_liveness(property: Property) -> bool {
    matches!(property, Property::DeadlockFreedom | Property::StarvationFreedom)
}

/// Measures the bypass bound: the greatest number of entries of one process while another process
/// waits. A wait begins when the waiting process has left its doorway. Counting stops at
/// [`MAX_COUNTED_BYPASS`].
fn measure_bypass<L: SharedMemoryLock>(
    analysis: &SharedMemoryAnalysis<'_>,
    recorder: &SharedMemoryRecorder<'_, L>,
) -> BypassBound {
    let exceeds =
        |most: u32| analysis.find_excessive_bypass(most).map(|violation| (most + 1, violation.run));
    // One search detects an unbounded bypass. A small bypass is found by a few searches with
    // increasing limits.
    let beyond = exceeds(MAX_COUNTED_BYPASS - 1);
    let at_least = beyond.is_some();
    let reached = beyond.or_else(|| (0..MAX_COUNTED_BYPASS).map_while(exceeds).last());
    let (max, run) = reached.unwrap_or_default();
    BypassBound { max, is_lower_bound: at_least, run: recorder.describe(&run) }
}

#[cfg(test)]
mod tests {
    use tenure_algorithms::Variants;
    use tenure_algorithms::shared_memory::{PetersonLock, peterson_lock};

    use super::*;
    use crate::limits::{SignalledLimit, StopReason};

    const PROPERTIES: [Property; 6] = [
        Property::MutualExclusion,
        Property::DeadlockFreedom,
        Property::StarvationFreedom,
        Property::FirstComeFirstServed,
        Property::Bypass(Some(1)),
        Property::Bypass(None),
    ];

    /// Checks Peterson's lock for two processes, and raises the stop signal when the check reads
    /// the signal for the `raise_at`-th time. Returns the report and the number of readings.
    fn limited_at(
        variants: &Variants<peterson_lock::VariantId>,
        raise_at: u64,
        stage: SignalledLimit,
    ) -> (CheckReport, u64) {
        let stop = StopSignal::raised_at_reading(raise_at, stage);
        let config = SharedMemoryLockConfig::new("peterson-lock", 2, PROPERTIES.to_vec());
        let report = check_until::<PetersonLock>(&config, variants, &stop, Instant::now());
        (report, stop.reading_count())
    }

    /// After the signal is raised, each of the remaining judgements reads it only a few times.
    #[test]
    fn limit_interrupts_search_and_judgements_promptly() {
        const LATE: u64 = 40;
        let correct = Variants::none();
        let (whole, readings) = limited_at(&correct, u64::MAX, SignalledLimit::Time);
        whole.assert_holds();
        assert!(readings >= 4 * whole.states, "{readings} readings for {} states", whole.states);
        for raise_at in (0..readings).step_by(7) {
            let (report, seen) = limited_at(&correct, raise_at, SignalledLimit::Time);
            assert!(seen <= raise_at + LATE, "raised at {raise_at}, {seen} readings");
            assert_eq!(report.judgement(), Judgement::Incomplete, "{report}");
            assert_eq!(report.reached_limit, Some(StopReason::Time), "{report}");
            assert!(report.bypass.expect("it was measured").is_lower_bound);
        }
    }

    #[test]
    fn interrupted_judgement_is_incomplete() {
        let wrong = Variants::none().with(peterson_lock::VariantId::NoTurn);
        let (whole, readings) = limited_at(&wrong, u64::MAX, SignalledLimit::Time);
        assert_eq!(whole.judgement_of("deadlock-freedom"), Judgement::Violated);
        let mut incomplete = 0;
        for raise_at in (0..readings).step_by(7) {
            for stage in [SignalledLimit::SearchTime, SignalledLimit::Time] {
                let (report, _) = limited_at(&wrong, raise_at, stage);
                let judgement = report.judgement_of("deadlock-freedom");
                assert_ne!(judgement, Judgement::Holds, "{report}");
                incomplete += u64::from(judgement == Judgement::Incomplete);
            }
        }
        assert!(incomplete > 0, "a check that is stopped early judges nothing");
    }
}
