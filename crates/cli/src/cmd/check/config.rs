//! Converts the options into a configuration of the checker.

use std::io::IsTerminal;
use std::num::NonZeroU64;
use std::sync::Arc;

use tenure_check::{
    CheckConfig, FaultConfig, ModelConfig, OnProgress, SearchConfig, SearchProgress,
};
use tenure_core::{Card, DetectorClass, Service, Timing, Topology};

use super::options::{FullLinkOption, Options, ReductionOption};
use crate::cmd::embedded::callback_progress_observer;
use crate::cmd::{interrupt, progress_bar};

const DEFAULT_TERM_MAX: u64 = 2;

/// Least number of processes for which the check of a lock explores commuting deliveries in one
/// order only. Deliveries commute if their order makes no difference to the processes. A check of a
/// smaller group takes only seconds, so it explores all orders.
const LEAST_COMMUTING_SIZE: u32 = 5;

/// Builds the configuration of the checker. If the options select no timing model or no order of
/// messages, the configuration has those of the algorithm's [`Card`].
///
/// The custom properties, the fairness, the swarm search and the observer of progress have their
/// default values. A caller that needs other values sets these fields.
pub(super) fn build_check_config(options: &Options, card: &Card, size: u32) -> CheckConfig {
    let (group, is_reduced) = (&options.group, options.reduce == ReductionOption::Auto);
    let timing = group.timing().unwrap_or(card.timing);
    let latency = match timing {
        Timing::Rounds => Some(1..=1),
        Timing::Synchronous => Some(options.latency.clone().unwrap_or(0..=1)),
        Timing::Partial | Timing::Asynchronous => None,
    };
    let mut config = CheckConfig::new(&card.name, card.service, size);
    config.model = ModelConfig {
        request_limits: options.entry_limits(size),
        initiators: group.initiators().map(<[_]>::to_vec),
        order: group.channel_order().unwrap_or(card.order),
        latency,
        has_rounds: timing == Timing::Rounds,
        step_duration: if timing == Timing::Rounds { 0..=0 } else { options.step.clone() },
        drift_ppm: if timing == Timing::Rounds { 0 } else { options.drift },
        has_detectors: card.detection != DetectorClass::None,
        detects_restarts: options.new_sessions,
        application_messages: options.app_messages,
        prefix: options.after.as_ref().map_or_else(Vec::new, |steps| steps.0.clone()),
        assumed_card: (!group.beyond_assumptions).then(|| card.clone()),
        ..config.model
    };
    config.faults = FaultConfig {
        losses: options.lose,
        duplicates: options.duplicate,
        crashes: options.crash,
        saving: options.saving.into(),
        recoveries: options.recover,
        false_suspicions: options.false_suspicion,
        partition_side: options.partition.as_ref().map(|side| side.0.clone()),
        initially_down: group.down_processes().to_vec(),
        ..config.faults
    };
    config.bounds.in_flight = options.in_flight as usize;
    config.bounds.prunes_full_links = options.when_full == Some(FullLinkOption::Cut);
    config.bounds.term_max = Some(options.term_max.map_or(DEFAULT_TERM_MAX, NonZeroU64::get));
    config.search = SearchConfig {
        shifts_timestamps: is_reduced,
        uses_ample_sets: is_reduced && card.topology == Topology::UnidirectionalRing,
        uses_commuting_deliveries: is_reduced
            && card.service == Service::Mutex
            && size >= LEAST_COMMUTING_SIZE,
        stores_whole_states: options.exact,
        swarm: None,
        threads: options.threads,
        limits: options.limits(),
        stop_flag: Some(interrupt::flag()),
        on_progress: None,
    };
    config
}

/// Returns the observer of a search: the function of the program that runs this command, or else a
/// progress line on the terminal if `shows_line` is true. `None` if there is neither.
pub(super) fn progress_observer(shows_line: bool) -> Option<OnProgress> {
    let on_terminal = || shows_line.then(terminal_progress_observer).flatten();
    callback_progress_observer().or_else(on_terminal)
}

/// Returns an observer that shows a progress line on standard error. The line disappears at the end
/// of the search. Returns `None` if standard error is not a terminal.
fn terminal_progress_observer() -> Option<OnProgress> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let bar = progress_bar::progress_line(None, "{elapsed:>4} {spinner} {msg}");
    Some(Arc::new(move |progress: &SearchProgress| {
        bar.set_message(format!(
            "{} states, {:.0}/s, depth {}, {} in the frontier, {} MB",
            progress.states,
            progress.states_per_second(),
            progress.depth,
            progress.waiting,
            progress.bytes >> 20
        ));
    }))
}
