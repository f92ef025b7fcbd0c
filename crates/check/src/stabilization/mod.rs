//! Check of self-stabilization: explores all runs of a system, from every state.
//!
//! A [`Check`](crate::Check) explores the states that can be reached from some initial states, and
//! stores them in a table. In a check of self-stabilization, every state is an initial state. The
//! states are numbered by their content, so no table is needed.

mod analysis;
mod report;
mod space;
mod system_run;

use tenure_core::stabilization::StabilizingSystem;
use tenure_core::{Judgement, Property};

use crate::clock::Instant;
use crate::measure::report::MeasureValue;
use crate::stabilization::analysis::{StabilizationAnalysis, SystemPath};
use crate::stabilization::space::StateSpace;

pub use report::{StabilizationCounterexample, StabilizationReport};
pub use system_run::StabilizationRun;

/// Options of a check of self-stabilization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StabilizationConfig {
    /// Name of the system.
    pub name: String,
    /// Maximum number of states of the system. A state takes about 20 bytes of memory. A system
    /// with 2³² states or more is rejected in any case.
    pub max_states: u64,
}

/// Reason why a system was not checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StabilizationError {
    /// The system has too many states.
    #[error("too many states ({states}): expected at most {max}")]
    TooManyStates {
        /// Number of states of the system.
        states: u64,
        /// Maximum number of states that the options allow.
        max: u64,
    },
}

/// Checks a system from every state. Returns the judgements of [`Property::Closure`] and
/// [`Property::Convergence`], and the greatest number of moves to a legitimate state.
///
/// # Errors
///
/// Returns [`StabilizationError::TooManyStates`] if the system has more states than the options
/// allow, or 2³² states or more.
pub fn check_stabilization(
    system: &dyn StabilizingSystem,
    config: &StabilizationConfig,
) -> Result<StabilizationReport, StabilizationError> {
    let started = Instant::now();
    let analysis = StabilizationAnalysis::new(StateSpace::new(system, config.max_states)?);
    let legitimate = analysis.is_legitimate.iter().filter(|it| **it).count();
    let counterexamples: Vec<_> =
        closure_violation(&analysis).into_iter().chain(convergence_violation(&analysis)).collect();
    let judgement = |property| match counterexamples.iter().any(|found| found.property == property)
    {
        true => (property, Judgement::Violated),
        false => (property, Judgement::Holds),
    };
    let properties = [Property::Closure, Property::Convergence].map(judgement).to_vec();
    let has_bound = analysis.converges() && !analysis.is_unbounded;
    let (moves, worst_run) = match has_bound.then(|| analysis.worst_schedule()) {
        Some((moves, path)) => (MeasureValue::Exactly(moves), Some(run(&analysis, &path, false))),
        None => (MeasureValue::Unbounded, None),
    };
    Ok(StabilizationReport {
        algorithm: config.name.clone(),
        size: system.size(),
        is_fair: system.assumes_weak_fairness(),
        states: analysis.space.state_count,
        legitimate_state_count: u32::try_from(legitimate).expect("states have numbers of 32 bits"),
        transitions: analysis.transitions,
        properties,
        counterexamples,
        max_moves: moves,
        worst_run,
        seconds: started.elapsed().as_secs_f64(),
    })
}

fn closure_violation(analysis: &StabilizationAnalysis<'_>) -> Option<StabilizationCounterexample> {
    let (first, step) = analysis.closure_violation?;
    let path = SystemPath { first, steps: vec![step] };
    Some(StabilizationCounterexample {
        property: Property::Closure,
        explanation: "a move leads from a legitimate state to another state".to_owned(),
        run: run(analysis, &path, false),
    })
}

fn convergence_violation(
    analysis: &StabilizationAnalysis<'_>,
) -> Option<StabilizationCounterexample> {
    let (explanation, run) = match (analysis.dead_end, analysis.illegitimate_cycle()) {
        (Some(first), _) => {
            let path = SystemPath { first, steps: Vec::new() };
            ("no machine can move", run(analysis, &path, false))
        }
        (None, Some(cycle)) => {
            ("these steps repeat for ever, without a legitimate state", run(analysis, &cycle, true))
        }
        (None, None) => return None,
    };
    let (property, explanation) = (Property::Convergence, explanation.to_owned());
    Some(StabilizationCounterexample { property, explanation, run })
}

/// Describes a path of the analysis as a table. If `repeats`, the path is a cycle.
fn run(analysis: &StabilizationAnalysis<'_>, path: &SystemPath, repeats: bool) -> StabilizationRun {
    let mut run =
        StabilizationRun::from(analysis.space.system, &analysis.space.decode_state(path.first));
    for taken in &path.steps {
        run.record_step(analysis.space.system, taken.step, &analysis.space.decode_state(taken.to));
    }
    run.repeats = repeats;
    run
}
