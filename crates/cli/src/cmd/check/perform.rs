//! From options to a check.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tenure_algorithms::catalogue::Parameters;
use tenure_core::Property;
use tenure_instances::{Examination, Watch};

use super::options::{Options, Reduce, WhenFull};
use crate::cmd::{interrupt, machine};

/// The highest term that is explored where nobody says.
const TERM_MAX: u64 = 2;

/// What the options ask of the checker.
pub(super) fn examination(
    options: &Options,
    parameters: &Parameters,
    properties: Vec<Property>,
) -> Examination {
    let group = &options.group;
    Examination {
        size: parameters.size,
        ranks: parameters.ranks.clone(),
        properties,
        entries: options.entries(parameters.size),
        initiators: group.initiators().map(<[_]>::to_vec),
        down: group.down().to_vec(),
        order: group.order(),
        timing: group.timing(),
        latency: options.latency.clone().unwrap_or(0..=1),
        lose: options.lose,
        duplicate: options.duplicate,
        crash: options.crash,
        recover: options.recover,
        saving: options.saving.into(),
        partition: options.partition.as_ref().map(|side| side.0.clone()),
        false_suspicion: options.false_suspicion,
        new_sessions: options.new_sessions,
        app_messages: options.app_messages,
        in_flight: options.in_flight as usize,
        cuts_when_full: options.when_full == Some(WhenFull::Cut),
        after: options.after.as_ref().map_or_else(Vec::new, |steps| steps.0.clone()),
        term_max: options.term_max.unwrap_or(TERM_MAX),
        beyond_assumptions: group.beyond_assumptions,
        reduces: options.reduce == Reduce::Auto,
        exact: options.exact,
        threads: options.threads.filter(|threads| *threads > 0),
        max_states: options.max_states,
        max_memory: options.max_memory,
        read_memory: Some(machine::grown),
        max_time: options.max_time.and_then(|limit| limit.0),
        stop: interrupt::flag(),
        watch: std::io::stderr().is_terminal().then_some(line as fn() -> Watch),
    }
}

/// A line on standard error that follows the search; it vanishes at the end.
fn line() -> Watch {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} {spinner} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    Box::new(move |progress| {
        bar.set_message(format!(
            "{} states, {:.0} a second, depth {}, {} to extend, {} MB",
            progress.states,
            progress.states_per_second(),
            progress.depth,
            progress.waiting,
            progress.bytes >> 20
        ));
    })
}
