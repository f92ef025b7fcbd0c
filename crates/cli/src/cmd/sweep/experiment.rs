//! The points of a sweep, and their plans. A point is an algorithm with a value for each parameter.

use tenure_algorithms::catalogue::Parameters;
use tenure_core::Service;
use tenure_sim::{Chance, Distribution, EntriesPerProcess};

use super::axis::{SweepAxis, differs_from_default};
use super::results::{SweepHeader, SweepPoint, digest};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::group::EntriesOption;
use crate::cmd::output::warn_no_effect;
use crate::cmd::program;
use crate::cmd::simulate::options::RunOptions;
use crate::cmd::simulate::plan::{SimulationPlan, split_variants};

const MAX_POINTS: usize = 100_000;

/// Default number of entries of each process, in a sweep of a lock. With fewer entries there is
/// little contention, and locks hardly differ.
const ENTRIES: u32 = 3;

/// Default latency of messages in a sweep of a lock: 1 to 9 units. With equal latencies, requests
/// would arrive in the order in which they are sent.
const LATENCY: Distribution = Distribution::between_time_units(1, 9);

/// Parameters that the output always lists. The output lists any other parameter only if `--sweep`
/// gives its values.
const PARAMETERS: [&str; 4] = ["n", "entries", "latency", "lose"];

/// Pairs of options that exclude each other, also if one of them is a parameter of `--sweep`. The
/// command-line parser rejects two options, but does not know the parameters.
const EXCLUSIVE: [(&str, &str); 4] = [
    ("entries", "sequential"),
    ("arrivals", "sequential"),
    ("arrivals", "think"),
    ("hot", "sequential"),
];

const RESULT_NEUTRAL_OPTIONS: [&str; 5] = ["--shard", "--threads", "--format", "--plot", "--raw"];

/// The points of a sweep, and the plans of their runs. `plans` has an element for each point in the
/// header, in the same order. The element is `None` if the point cannot be run. The point then has
/// the reason.
pub(super) struct SweepPlan {
    pub(super) header: SweepHeader,
    pub(super) plans: Vec<Option<SimulationPlan>>,
}

pub(crate) type BuildPlan<'a> = &'a dyn Fn(&str, &RunOptions) -> Result<SimulationPlan, Failure>;

impl SweepPlan {
    /// Creates a point for each algorithm with each combination of values of the parameters. The
    /// values of the last parameter change fastest. Prints a warning for each parameter that has no
    /// effect.
    ///
    /// # Errors
    ///
    /// Returns a usage failure if two axes have the same parameter, if an option also sets a
    /// parameter, or if two parameters exclude each other. Also returns a usage failure if there
    /// are too many points, or if no point can be run. Returns any other failure of `build`.
    pub(super) fn new(
        algorithms: &[String],
        options: &RunOptions,
        axes: &[SweepAxis],
        runs: u64,
        build: BuildPlan<'_>,
    ) -> Result<Self, Failure> {
        check_axes(axes, options)?;
        let combinations = combinations(axes, algorithms.len())?;
        let swept: Vec<String> = axes.iter().map(|axis| axis.name().to_owned()).collect();
        let mut parameters: Vec<String> = PARAMETERS.map(str::to_owned).to_vec();
        parameters.extend(swept.iter().filter(|it| !PARAMETERS.contains(&it.as_str())).cloned());
        let (mut points, mut plans) = (Vec::new(), Vec::new());
        let mut first_refusal = None;
        for algorithm in algorithms {
            for values in &combinations {
                let mut options = options_with_values(options, axes, values)?;
                let service = set_defaults(&mut options, algorithm);
                let (plan, refused) = match build(algorithm, &options) {
                    Ok(plan) => (Some(plan.without_unneeded_vector_clocks()), None),
                    Err(failure) if failure.status == Status::Usage => {
                        let reason = failure.to_string();
                        first_refusal.get_or_insert(failure);
                        (None, Some(reason))
                    }
                    Err(failure) => return Err(failure),
                };
                let value_of = |name: &String| {
                    let place = swept.iter().position(|it| it == name);
                    let value = place.map(|place| values[place].clone());
                    value.unwrap_or_else(|| text_of(name, &options, service))
                };
                points.push(SweepPoint {
                    algorithm: algorithm.clone(),
                    values: parameters.iter().map(value_of).collect(),
                    refused,
                    digest: plan.as_ref().map(settings_digest).unwrap_or_default(),
                });
                plans.push(plan);
            }
        }
        if let Some(failure) = first_refusal.filter(|_| plans.iter().all(Option::is_none)) {
            return Err(failure);
        }
        warn_of_unused_axes(algorithms, options, axes, &combinations, &plans)?;
        let header = SweepHeader {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: program::command_line_without(&RESULT_NEUTRAL_OPTIONS, program::arguments()),
            seed: options.seed,
            runs,
            parameters,
            swept,
            points,
        };
        Ok(SweepPlan { header, plans })
    }
}

/// Returns the options of a run in which the parameters of the axes have these values.
fn options_with_values(
    options: &RunOptions,
    axes: &[SweepAxis],
    values: &[String],
) -> Result<RunOptions, Failure> {
    let mut options = options.clone();
    for (axis, value) in axes.iter().zip(values) {
        axis.set(&mut options, value).map_err(Failure::usage)?;
    }
    Ok(options)
}

/// Prints a warning for each axis that has no effect on any of the algorithms. `plans` contains the
/// plans of the first algorithm with all combinations of values, then those of the second, and so
/// on.
fn warn_of_unused_axes(
    algorithms: &[String],
    options: &RunOptions,
    axes: &[SweepAxis],
    combinations: &[Vec<String>],
    plans: &[Option<SimulationPlan>],
) -> Result<(), Failure> {
    let mut unused: Vec<&str> = axes.iter().map(SweepAxis::name).collect();
    for plans in plans.chunks(combinations.len()) {
        let mut points = plans.iter().zip(combinations).rev();
        let last = points.find_map(|(plan, values)| Some((plan.as_ref()?, values)));
        let Some((plan, values)) = last else { continue };
        let options = options_with_values(options, axes, values)?;
        let unused_options = options.unused_options(&plan.card);
        unused.retain(|name| unused_options.contains(&format!("--{name}").as_str()));
    }
    let subject = match algorithms {
        [algorithm] => algorithm,
        _ => "these algorithms",
    };
    for name in unused {
        warn_no_effect(&format!("--sweep {name}"), subject);
    }
    Ok(())
}

/// Returns a usage failure if a parameter has two axes. Also returns a usage failure if the user
/// gives an axis and the option for the same parameter, or two parameters that exclude each other.
fn check_axes(axes: &[SweepAxis], options: &RunOptions) -> Result<(), Failure> {
    for (place, axis) in axes.iter().enumerate() {
        let name = axis.name();
        if axes[..place].iter().any(|earlier| earlier.name() == name) {
            let message = format!("--sweep {name} is given twice: list all values in one");
            return Err(Failure::usage(message));
        }
        if differs_from_default(name, options).map_err(Failure::usage)? {
            let option = axis.option();
            let message =
                format!("--{option} and --sweep {name} exclude each other: leave out one");
            return Err(Failure::usage(message));
        }
    }
    for (one, other) in EXCLUSIVE {
        let (one, other) = (setter(one, axes, options)?, setter(other, axes, options)?);
        if let (Some(one), Some(other)) = (one, other) {
            let message = format!("{one} and {other} exclude each other: leave out one");
            return Err(Failure::usage(message));
        }
    }
    Ok(())
}

/// Returns the axis or the option that sets a parameter, as the user wrote it. Returns `None` if
/// neither an axis nor an option sets the parameter.
fn setter(
    parameter: &str,
    axes: &[SweepAxis],
    options: &RunOptions,
) -> Result<Option<String>, Failure> {
    if axes.iter().any(|axis| axis.name() == parameter) {
        return Ok(Some(format!("--sweep {parameter}")));
    }
    let is_given = match parameter {
        "hot" => options.hot.is_some(),
        _ => differs_from_default(parameter, options).map_err(Failure::usage)?,
    };
    Ok(is_given.then(|| format!("--{parameter}")))
}

/// Returns all combinations of one value per axis. Returns a usage failure if there are too many
/// points.
fn combinations(axes: &[SweepAxis], algorithms: usize) -> Result<Vec<Vec<String>>, Failure> {
    let sizes = axes.iter().map(|axis| axis.values().len());
    let points = sizes.fold(algorithms, usize::saturating_mul);
    if points > MAX_POINTS {
        let message = format!("--sweep has {points} points: expected at most {MAX_POINTS}");
        return Err(Failure::usage(message));
    }
    let mut combinations = vec![Vec::new()];
    for axis in axes {
        let with = |values: &Vec<String>, value: &String| {
            let mut values = values.clone();
            values.push(value.clone());
            values
        };
        let extended = combinations
            .iter()
            .flat_map(|values| axis.values().iter().map(move |value| with(values, value)));
        combinations = extended.collect();
    }
    Ok(combinations)
}

/// If the algorithm is a lock, sets the latency and the number of entries where the user gives
/// none. The lock then has enough contention to show the differences between locks. Returns the
/// service of the algorithm; `None` if there is no such algorithm.
fn set_defaults(options: &mut RunOptions, algorithm: &str) -> Option<Service> {
    let (name, _) = split_variants(algorithm);
    let service = tenure_instances::card(name, &Parameters::with_defaults(3)).ok()?.service;
    if service == Service::Mutex || service == Service::MutexAndElection {
        options.latency.get_or_insert(LATENCY);
        if options.sequential.is_none() {
            let entries = EntriesOption::Of(EntriesPerProcess::Each(ENTRIES));
            options.group.entries.get_or_insert(entries);
        }
    }
    Some(service)
}

/// Returns, as text, the value of a parameter that the sweep does not vary. The text is empty if
/// the parameter has no meaning for this service, such as `entries` for an election.
fn text_of(name: &str, options: &RunOptions, service: Option<Service>) -> String {
    match name {
        "n" => options.group.size().map(|size| size.to_string()).unwrap_or_default(),
        "latency" => options.latency.unwrap_or(Distribution::time_units(1)).to_string(),
        "lose" => {
            let Chance { probability, .. } = options.lose;
            probability.to_string()
        }
        "entries" if service == Some(Service::Election) || options.sequential.is_some() => {
            String::new()
        }
        "entries" => match &options.group.entries {
            Some(EntriesOption::Of(EntriesPerProcess::Listed(listed))) => {
                listed.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
            }
            Some(EntriesOption::Of(EntriesPerProcess::Each(each))) => each.to_string(),
            Some(EntriesOption::Unbounded) => "unbounded".to_owned(),
            None => "1".to_owned(),
        },
        _ => String::new(),
    }
}

fn settings_digest(plan: &SimulationPlan) -> String {
    let settings = plan.settings_for_seed(plan.common_settings().seed);
    let head = plan.trace_header(&settings);
    digest(&format!("{} {}", plan.replay_command(&settings), head.options.join(" ")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Args, Command};

    use super::*;
    use crate::cmd::sweep::axis::parameter_names;

    #[test]
    fn exclusive_parameters_are_those_of_the_options() {
        let mut command = RunOptions::augment_args(Command::new("simulate"));
        command.build();
        let mut declared = BTreeSet::new();
        for option in command.get_arguments() {
            for other in command.get_arg_conflicts_with(option) {
                let pair = [option, other].map(|it| it.get_long().unwrap_or_default().to_owned());
                if pair.iter().any(|name| parameter_names().any(|known| known == name)) {
                    declared.insert(BTreeSet::from(pair));
                }
            }
        }
        let known = EXCLUSIVE.map(|(one, other)| BTreeSet::from([one.into(), other.into()]));
        assert_eq!(declared, BTreeSet::from(known));
    }
}
