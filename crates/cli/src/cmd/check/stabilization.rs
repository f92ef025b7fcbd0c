//! `tenure check --from any`: checks self-stabilization by starting in every state.

use std::num::NonZeroU64;

use clap::ValueEnum;
use serde_json::Value;
use tenure_algorithms::stabilization::{
    self, NAMES, StabilizingSystemConfig, StabilizingSystemError,
};
use tenure_check::{
    Judgement, Measure, MeasureConfig, StabilizationConfig, StabilizationReport,
    check_stabilization,
};
use tenure_core::Property;

use super::options::{DEFAULT_CHECK_SIZE, Options};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::wrap_lines;

/// Default bound on the number of states. A check of this many states needs about 400 MB.
const DEFAULT_MAX_STATES: u64 = 20_000_000;

/// Properties that this check can decide. By default it decides all of them.
const PROPERTIES: [Property; 2] = [Property::Closure, Property::Convergence];

/// States in which a check starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InitialStatesOption {
    /// Start in every state; each machine reads its neighbours directly, in one atomic step
    Any,
    /// Start in every state; processes exchange messages, and each link holds any message
    AnyWithMessages,
}

/// Returns true if the check starts in every state. This is the case if `--from` is given, or if
/// the system is no algorithm of the catalogue, and thus has no initial state.
pub(super) fn is_stabilization_check(options: &Options) -> bool {
    let is_machines = NAMES.contains(&&*options.algorithm);
    options.from.is_some()
        || is_machines && tenure_instances::algorithm_names().all(|it| it != options.algorithm)
}

pub(super) fn run(options: &Options) -> Result<Status, Failure> {
    let report = checked(options)?;
    match options.measure.is_empty() {
        true => options.format.print(&report, || wrap_lines(&report.to_string()))?,
        false => {
            options.format.print(&[report.serializable_moves_summary()], || {
                wrap_lines(&report.moves_summary())
            })?;
        }
    }
    Ok(match report.judgement() {
        Judgement::Violated => Status::Violated,
        Judgement::Holds | Judgement::Incomplete => Status::Success,
    })
}

pub(super) fn run_to_json(options: &Options) -> Result<Value, Failure> {
    let report = checked(options)?;
    let value = match options.measure.is_empty() {
        true => serde_json::to_value(&report),
        false => serde_json::to_value(report.serializable_moves_summary()),
    };
    value.map_err(Failure::environment)
}

fn checked(options: &Options) -> Result<StabilizationReport, Failure> {
    reject_unsupported_options(options)?;
    let config = StabilizingSystemConfig {
        size: options.group.n.unwrap_or(DEFAULT_CHECK_SIZE),
        machine_state_count: options.states,
        has_messages: options.from == Some(InitialStatesOption::AnyWithMessages),
        variants: options.group.variant.clone(),
    };
    let name = &options.algorithm;
    let system = stabilization::create_system(name, &config).map_err(|error| match error {
        StabilizingSystemError::Name => {
            Failure::usage(format!("--from does not apply to {name}: {error}"))
        }
        error => Failure::usage(error),
    })?;
    let max_states = options.max_states.map_or(DEFAULT_MAX_STATES, NonZeroU64::get);
    let config = StabilizationConfig { name: name.clone(), max_states };
    let checked = check_stabilization(&*system, &config);
    let report = checked.map_err(|error| {
        Failure::usage(format!("{error}; lower -n or --states, or raise --max-states"))
    })?;
    let is_selected = |it: &Property| options.property.is_empty() || options.property.contains(it);
    let properties: Vec<Property> = PROPERTIES.into_iter().filter(is_selected).collect();
    Ok(report.keep_only(&properties))
}

/// Returns a usage failure if a measure, a property or another option does not apply to this check.
/// An option with its default value always applies. The message names the first option that does
/// not apply.
fn reject_unsupported_options(options: &Options) -> Result<(), Failure> {
    let name = &options.algorithm;
    let is_moves = |it: &&MeasureConfig| it.measure != Measure::Moves;
    if let Some(other) = options.measure.iter().find(is_moves) {
        let measure = other.measure.name();
        let message = format!("--measure {measure} does not apply to --from any: expected moves");
        return Err(Failure::usage(message));
    }
    if let Some(other) = options.property.iter().find(|it| !PROPERTIES.contains(it)) {
        let names = PROPERTIES.map(Property::name).join(", ");
        let message = format!("--property {other} does not apply to {name}: expected {names}");
        return Err(Failure::usage(message));
    }
    let mut supported = Options::parse_line(name)?;
    supported.group.n = options.group.n;
    supported.group.variant.clone_from(&options.group.variant);
    supported.property.clone_from(&options.property);
    supported.measure.clone_from(&options.measure);
    (supported.from, supported.states) = (options.from, options.states);
    supported.max_states = options.max_states;
    supported.format = options.format;
    match options.first_differing_option(&supported) {
        None => Ok(()),
        Some(option) => {
            let message = format!("--{option} does not apply to {name} from any state");
            Err(Failure::usage(message))
        }
    }
}
