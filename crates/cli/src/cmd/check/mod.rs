//! `tenure check`: explores every schedule of a small group.

mod byzantine;
mod checker_only;
mod config;
mod measure;
mod options;
mod shared_memory;
mod stabilization;
mod swarm;

use serde_json::Value;
use tenure_algorithms::catalogue::Parameters;
use tenure_check::{CheckError, CheckReport, Judgement, MAX_PROCESSES, StopReason};
use tenure_core::{Card, Property, RequiredInput, Service, TICKS_PER_TIME_UNIT, Timing, Topology};
use tenure_trace::{EdgeList, Header};

use self::config::{build_check_config, progress_observer};
use super::capture::print_stderr_line;
use super::failure::{Failure, Status};
use super::group::names_where_true;
use super::output::{Format, line_width, print, print_json, warn_no_effect, wrap_lines};
use super::program;

pub(crate) use options::Options;

pub(crate) fn run(options: Options) -> Result<Status, Failure> {
    let has_only_algorithm = options.has_only_algorithm()?;
    if stabilization::is_stabilization_check(&options) {
        return stabilization::run(&options);
    }
    let options = options.with_default_size_and_limits();
    if let Some(report) = checker_only::search_and_save_counterexample(&options, true) {
        return print_report(&options, &report?, || Ok(String::new()));
    }
    let plan = CheckPlan::of(&options)?;
    if !options.measure.is_empty() {
        return measure::run(&plan);
    }
    let report = plan.search(true)?;
    plan.save_counterexample(&report)?;
    for option in plan.unused_options(&report) {
        warn_no_effect(option, &options.algorithm);
    }
    print_report(&options, &report, || {
        let more =
            if has_only_algorithm { larger_group_hint(&options, &report)? } else { String::new() };
        Ok(plan.clocked_hint()? + &more)
    })
}

fn print_report(
    options: &Options,
    report: &CheckReport,
    hints: impl FnOnce() -> Result<String, Failure>,
) -> Result<Status, Failure> {
    if options.trace.is_some() && report.shortest_counterexample().is_none() {
        print_stderr_line("no violation found: no trace was written");
    }
    match options.format {
        Format::Text => {
            let found = format!("{report:.columns$}", columns = line_width());
            print(&wrap_lines(&(found + &limit_hint(options, report) + &hints()?)))?;
        }
        Format::Json => print_json(report)?,
    }
    Ok(match report.judgement() {
        Judgement::Holds => Status::Success,
        Judgement::Violated => Status::Violated,
        Judgement::Incomplete => Status::Incomplete,
    })
}

/// Performs a check and returns its JSON output. If the options request measurements, performs all
/// of them, but returns only the JSON output of the first.
pub(crate) fn run_to_json(options: &Options) -> Result<Value, Failure> {
    if stabilization::is_stabilization_check(options) {
        return stabilization::run_to_json(options);
    }
    let report = match checker_only::search_and_save_counterexample(options, true) {
        Some(report) => report?,
        None => {
            let plan = CheckPlan::of(options)?;
            if !options.measure.is_empty() {
                return measure::run_to_json(&plan);
            }
            let report = plan.search(true)?;
            plan.save_counterexample(&report)?;
            report
        }
    };
    serde_json::to_value(report).map_err(Failure::environment)
}

pub(crate) fn search_without_progress_line(options: &Options) -> Result<CheckReport, Failure> {
    match checker_only::search_and_save_counterexample(options, false) {
        Some(report) => report,
        None => CheckPlan::of(options)?.search(false),
    }
}

struct CheckPlan<'a> {
    options: &'a Options,
    parameters: Parameters,
    card: Card,
}

impl<'a> CheckPlan<'a> {
    fn of(options: &'a Options) -> Result<Self, Failure> {
        if options.group.has_random_ids() {
            return Err(Failure::usage(
                "--ids random is not supported by check: list the ranks, as in --ids 2,3,1",
            ));
        }
        options.group.size_in(1..=MAX_PROCESSES)?;
        // Timeouts are derived from the bounds on latency, step and drift. Here the bound on
        // latency is at least one unit.
        let longest = options.latency.as_ref().map_or(1, |latency| (*latency.end()).max(1));
        let [latency, step] =
            [longest, *options.step.end()].map(|units| u64::from(units) * TICKS_PER_TIME_UNIT);
        // With modulus 1, all heartbeats have the same number, and so have all renewals. This
        // bounds the state space. In a check, no such message arrives so late that its receiver
        // takes it for a later one.
        let parameters = Parameters { sequence_number_modulus: 1, ..options.group.parameters()? };
        let parameters = parameters.with_timing_bounds(latency, step, options.drift);
        let card =
            tenure_instances::card(&options.algorithm, &parameters).map_err(Failure::usage)?;
        Ok(CheckPlan { options, parameters, card })
    }

    fn search(&self, shows_progress: bool) -> Result<CheckReport, Failure> {
        let CheckPlan { options, parameters, card } = self;
        options.group.check_timeout_names(card)?;
        let properties = options.properties_to_check(card)?;
        let algorithm = tenure_instances::algorithm(&options.algorithm, parameters);
        let algorithm = algorithm.map_err(Failure::usage)?;
        let mut config = build_check_config(options, card, parameters.size);
        config.custom_properties =
            options.custom.parse_with_sample_runs(card, &*algorithm, parameters.size)?;
        config.fairness = options.fairness.into();
        config.search.swarm = options.swarm.config(&properties)?;
        config.search.on_progress = progress_observer(shows_progress);
        let checked = algorithm.check(&config, &properties, &parameters.ranks);
        checked.map_err(search_failure)
    }

    fn describe_in_header(&self, header: &mut Header) -> Result<(), Failure> {
        let CheckPlan { options, parameters, card } = self;
        let network = card.graph.as_deref().or(parameters.graph.as_deref());
        header.options = options.group.trace_header_words()?;
        header.max_inside = card.max_inside();
        header.fenced = card.is_fenced();
        header.ranks = Some(parameters.ranks.to_vec());
        header.graph = network.map(EdgeList::from);
        header.replay = Some(replay_command());
        Ok(())
    }

    /// Writes the shortest counterexample to the file that `--trace` names. Does nothing if there
    /// is no counterexample or the option is not given.
    fn save_counterexample(&self, report: &CheckReport) -> Result<(), Failure> {
        let CheckPlan { options, card, .. } = self;
        let (Some(path), Some(found)) = (&options.trace, report.shortest_counterexample()) else {
            return Ok(());
        };
        let mut found = found.clone();
        let header = &mut found.trace.header;
        self.describe_in_header(header)?;
        header.fenced |= found.property.required_input() == RequiredInput::Fences;
        header.most_messages = card.messages.most.filter(|_| found.property == Property::Cost);
        header.most_bypass = match found.property {
            Property::Bypass(most) => most,
            _ => None,
        };
        header.topology = (found.property == Property::Topology).then_some(card.topology);
        found.save(path).map_err(Failure::environment)
    }

    fn unused_options(&self, report: &CheckReport) -> Vec<&'static str> {
        let CheckPlan { options, card, .. } = self;
        let group = &options.group;
        let elects = card.service == Service::Election || card.service.is_agreement();
        let is_whole = report.reached_limit.is_none() && report.counterexamples.is_empty();
        let (has_crashes, recovers) = (options.crash > 0, options.recover > 0);
        let saves_apart = options.saving != Default::default();
        let timing = group.timing().unwrap_or(card.timing);
        // Latency, step and drift have an effect only with synchronous timing. In rounds, each
        // message takes one round. In other models, a timer may fire at any moment.
        let is_untimed = timing != Timing::Synchronous;
        let has_timeouts = !group.timeout.is_empty();
        let mut unused = group.unused_options(&options.algorithm, card.service);
        unused.extend(names_where_true([
            ("--topology", group.topology.is_some() && card.topology != Topology::Graph),
            ("--app-messages", options.app_messages > 0 && elects),
            ("--saving", saves_apart && !(has_crashes && recovers)),
            ("--recover", recovers && !has_crashes && group.down_processes().is_empty()),
            ("--ticket-max", options.ticket_max.is_some()),
            ("--liars", options.liars.is_some()),
            ("--term-max", options.term_max.is_some() && is_whole && !report.has_terms),
            ("--new-sessions", options.new_sessions && !recovers),
            ("--when-full", options.when_full.is_some() && options.lose == 0),
            ("--latency", is_untimed && options.latency.is_some()),
            ("--step", is_untimed && *options.step.end() > 0),
            ("--drift", is_untimed && options.drift > 0),
            ("--timeout", timing < Timing::Synchronous && has_timeouts),
        ]));
        unused
    }

    /// Returns a hint about promises that hold only if the drift of clocks is bounded. This search
    /// cannot check these promises, because its timers fire at any time. The hint names the
    /// promises, and a command that checks them.
    ///
    /// The hint is empty if this search models clocks, or if the algorithm makes no such promises.
    /// It is also empty if the user selected properties or wrote expressions.
    fn clocked_hint(&self) -> Result<String, Failure> {
        let CheckPlan { options, card, .. } = self;
        let (group, name) = (&options.group, &options.algorithm);
        let timing = group.timing().unwrap_or(card.timing);
        let is_selected = !options.property.is_empty() || !options.custom.is_empty();
        if timing >= Timing::Synchronous || card.timed_promises.is_empty() || is_selected {
            return Ok(String::new());
        }
        let names: Vec<&str> = card.timed_promises.iter().map(|promise| promise.name()).collect();
        let (drift, promises) = (card.drift_ppm / 10_000, names.join(" and "));
        let mut command = format!("tenure check {name} -n {}", group.size()?);
        command.push_str(&group.algorithm_options());
        let budgets = [
            ("lose", options.lose),
            ("duplicate", options.duplicate),
            ("crash", options.crash),
            ("recover", options.recover),
        ];
        for (fault, budget) in budgets.iter().filter(|(_, budget)| *budget > 0) {
            command.push_str(&format!(" --{fault} {budget}"));
        }
        if let Some(side) = &options.partition {
            command.push_str(&format!(" --partition {side}"));
        }
        let properties = names.join(",");
        Ok(format!(
            "  not checked, as timers fire at any time here: {promises}, promised\n    \
             while clocks drift by at most {drift} %; to check them:\n    \
             `{command} --timing synchronous --latency 0 --property {properties}`\n"
        ))
    }
}

fn search_failure(error: CheckError) -> Failure {
    match error {
        // The algorithm has a defect, so this is no usage failure.
        CheckError::Panicked { .. } | CheckError::ViolatedByBoot { .. } => Failure::violated(error),
        CheckError::UnmetAssumption { algorithm, weakness } => {
            Failure::unmet_assumption(&algorithm, &weakness)
        }
        CheckError::TableMemory { .. } => Failure::usage(format!("{error}, such as --memory 256M")),
        error => Failure::usage(error),
    }
}

/// Returns a hint for a check of a group with one more process. The hint contains the command, and
/// a lower bound on the number of states, the time and the memory. It is empty if not all
/// properties hold.
///
/// To compute the bound, the function also checks the group with one process less. It assumes that
/// one more process multiplies the number of states by the same ratio. The result is only a lower
/// bound, because the true ratio grows with each process. The hint is also empty if the check of
/// the smaller group does not reach all states, for example because of an interrupt.
fn larger_group_hint(options: &Options, report: &CheckReport) -> Result<String, Failure> {
    if report.judgement() != Judgement::Holds {
        return Ok(String::new());
    }
    let name = &options.algorithm;
    let smaller = Options::parse_line(&format!(
        "{name} -n {} --max-states {}",
        report.size - 1,
        report.states
    ));
    let smaller = search_without_progress_line(&smaller?)?;
    if smaller.reached_limit.is_some() {
        return Ok(String::new());
    }
    let times = report.states / smaller.states.max(1);
    let states = report.states.saturating_mul(times);
    let bytes = states.saturating_mul(report.peak_bytes as u64 / report.states.max(1));
    let memory = match bytes >> 30 {
        0 => String::new(),
        gigabytes => format!(", {gigabytes} GB"),
    };
    let duration = match report.seconds * times as f64 {
        ..1.0 => "",
        ..60.0 => ", seconds",
        ..3600.0 => ", minutes",
        _ => ", hours",
    };
    let more = report.size + 1;
    Ok(format!(
        "  next: `tenure check {name} -n {more}`, at least {times} times as many states \
         ({states}{duration}{memory})\n"
    ))
}

fn limit_hint(options: &Options, report: &CheckReport) -> String {
    let raise_limit = match report.reached_limit {
        None => return String::new(),
        Some(StopReason::States) => "raise --max-states",
        Some(StopReason::Memory) => "raise --max-memory",
        Some(StopReason::Time) => "raise --max-time, or use --max-time none",
        Some(StopReason::Stopped) => "",
    };
    let mut smaller = Vec::new();
    let mut less = |option: &str, now: u64, least: u64| {
        if now > least {
            smaller.push(format!("{option} {}", now - 1));
        }
    };
    if options.group.ids.is_none() && options.group.loads.is_none() {
        less("-n", report.size.into(), 2);
    }
    less("--term-max", report.bounds.term_max.unwrap_or(0), 1);
    less("--ticket-max", report.bounds.ticket_max.unwrap_or(0), 1);
    less("--in-flight", report.bounds.in_flight.map_or(0, |most| most as u64), 1);
    let smaller = match smaller.is_empty() {
        true => String::new(),
        false => format!("or search less: {}", smaller.join(", ")),
    };
    let parts = [raise_limit, &smaller].into_iter().filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    if parts.is_empty() { String::new() } else { format!("  {}\n", parts.join("; ")) }
}

/// Returns the command that the user typed, without `--trace` and `--format`. The header of a trace
/// contains this command, so that a reader can repeat the check.
fn replay_command() -> String {
    program::command_line_without(&["--trace", "--format"], program::arguments())
}
