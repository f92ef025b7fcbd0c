//! Converts the options into a configuration of the checker.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tenure_algorithms::catalogue::Parameters;
use tenure_core::Property;
use tenure_instances::{CheckConfig, Watch};

use super::options::{Options, Reduce, WhenFull};
use crate::cmd::{interrupt, machine};

/// Default bound on terms.
const DEFAULT_TERM_MAX: u64 = 2;

/// Builds the configuration of the checker.
pub(super) fn check_config(
    options: &Options,
    parameters: &Parameters,
    properties: Vec<Property>,
) -> CheckConfig {
    let group = &options.group;
    CheckConfig {
        size: parameters.size,
        ranks: parameters.ranks.clone(),
        properties,
        entries: options.entries(parameters.size),
        initiators: group.initiators().map(<[_]>::to_vec),
        initially_down: group.down().to_vec(),
        channel_order: group.order(),
        timing: group.timing(),
        latency_units: options.latency.clone().unwrap_or(0..=1),
        lose: options.lose,
        duplicate: options.duplicate,
        crash: options.crash,
        recover: options.recover,
        saving: options.saving.into(),
        partition: options.partition.as_ref().map(|side| side.0.clone()),
        false_suspicion: options.false_suspicion,
        has_new_sessions: options.new_sessions,
        app_messages: options.app_messages,
        in_flight: options.in_flight as usize,
        is_cut_when_full: options.when_full == Some(WhenFull::Cut),
        prefix: options.after.as_ref().map_or_else(Vec::new, |steps| steps.0.clone()),
        term_max: options.term_max.unwrap_or(DEFAULT_TERM_MAX),
        is_beyond_assumptions: group.beyond_assumptions,
        is_reduced: options.reduce == Reduce::Auto,
        is_exact: options.exact,
        threads: options.threads.filter(|threads| *threads > 0),
        max_states: options.max_states,
        max_memory: options.max_memory,
        memory_reader: Some(machine::memory_growth),
        max_time: options.max_time.and_then(|limit| limit.0),
        stop_flag: interrupt::flag(),
        watch: std::io::stderr().is_terminal().then_some(progress_line as fn() -> Watch),
    }
}

/// Creates a progress progress_line on standard error, which is removed at the end.
fn progress_line() -> Watch {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} {spinner} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    Box::new(move |progress| {
        bar.set_message(format!(
            "{} states, {:.0}/s, depth {}, {} in the frontier, {} MB",
            progress.states,
            progress.states_per_second(),
            progress.depth,
            progress.waiting,
            progress.bytes >> 20
        ));
    })
}
