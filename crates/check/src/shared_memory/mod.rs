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

use tenure_core::Property;
use tenure_core::shared_memory::SharedMemoryLock;

use crate::clock::Instant;
use crate::limits::CheckLimits;
use crate::liveness::Fairness;
use crate::report::{BypassBound, PruningBounds, Report, judgement};
use crate::shared_memory::explore::build_state_graph;
use crate::shared_memory::record::SharedMemoryRecorder;
use crate::shared_memory::verdicts::SharedMemoryAnalysis;
use crate::users::entries::Entries;

/// Number of entries at which counting of the bypass stops. If the bypass reaches this number, the
/// report contains a lower bound.
const MAX_COUNTED_BYPASS: u32 = 16;

/// Configuration of a check of a lock in shared memory.
#[derive(Clone, Debug)]
pub struct SharedMemoryConfig {
    /// Name of the lock on the command line.
    pub name: String,
    /// Number of processes.
    pub size: u32,
    /// Number of requests of each process.
    pub entries: Vec<Entries>,
    /// Properties to check: mutual exclusion, deadlock freedom, starvation freedom, order and
    /// bypass.
    pub properties: Vec<Property>,
    /// Fairness under which liveness is judged.
    pub fairness: Fairness,
    /// Name of an array of registers, and the greatest value that its registers may have. The
    /// search prunes states with a greater value.
    pub bound: Option<(&'static str, u32)>,
    /// Limits of the search. The limit on memory is compared with an estimate.
    pub limits: CheckLimits,
    /// Flag that stops the search.
    pub stop_flag: Option<Arc<AtomicBool>>,
}

impl SharedMemoryConfig {
    /// Returns the configuration for a group whose users request again and again.
    pub fn new(name: impl Into<String>, size: u32, properties: Vec<Property>) -> Self {
        SharedMemoryConfig {
            name: name.into(),
            size,
            entries: vec![Entries::Unbounded; size as usize],
            properties,
            fairness: Fairness::default(),
            bound: None,
            limits: CheckLimits::default(),
            stop_flag: None,
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
/// If a property does not apply to a lock in shared memory.
pub fn check_shared_memory<L: SharedMemoryLock>(
    config: &SharedMemoryConfig,
    lock: &L::Config,
) -> Report {
    let started = Instant::now();
    let explored = build_state_graph::<L>(config, lock);
    let graph = &explored.graph;
    let analysis = SharedMemoryAnalysis { graph, fairness: config.fairness };
    let recorder = SharedMemoryRecorder::<L>::new(config, lock);
    let mut report = Report {
        algorithm: config.name.clone(),
        size: config.size,
        states: graph.len() as u64,
        transitions: graph.transitions() as u64 + 1,
        depth: graph.depth(),
        fully_explored_depth: Some(explored.complete_depth),
        bounds: PruningBounds {
            ticket_max: config.bound.filter(|_| graph.is_cut).map(|(_, most)| most.into()),
            ..PruningBounds::default()
        },
        limit: explored.limit,
        bytes: explored.bytes,
        ..Report::default()
    };
    for property in &config.properties {
        if *property == Property::Bypass(None) {
            report.bypass = Some(measure_bypass(&analysis, &recorder));
            continue;
        }
        if is_liveness(*property) {
            report.fairness = Some(config.fairness);
        }
        let violation = analysis.judge(*property);
        report.properties.push((*property, judgement(violation.is_some(), explored.limit)));
        report.counterexamples.extend(violation.map(|it| recorder.counterexample(*property, it)));
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
    // An unbounded bypass takes one search, and a small bypass takes a few.
    let beyond = exceeds(MAX_COUNTED_BYPASS - 1);
    let at_least = beyond.is_some();
    let reached = beyond.or_else(|| (0..MAX_COUNTED_BYPASS).map_while(exceeds).last());
    let (max, run) = reached.unwrap_or_default();
    BypassBound { max, at_least, run: recorder.describe(&run) }
}
