//! Injected and observed faults of a run, and warnings about requested faults without effect.

use crate::engine::run_context::RunContext;
use crate::results::metrics::RunMetrics;
use crate::settings::fault::Fault;

/// Counts for one kind of fault: how often the fault was injected, and how often its effect was
/// observed.
///
/// Separate parts of the simulator make the two counts, so their comparison shows an injected fault
/// without an effect. For reorderings and suspicions, both numbers come from the same count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultCount {
    /// Kind of fault: `loss`, `duplication`, `reordering`, `crash`, `recovery`, `partition` or
    /// `suspicion`.
    pub fault: &'static str,
    /// True if the settings request this kind of fault.
    pub requested: bool,
    /// Number of times that the fault was injected.
    pub injected: u64,
    /// Number of observed effects of the fault. An effect of `loss`, `duplication`, `reordering` or
    /// `partition` is a message that is missing, duplicated, reordered or stopped by a partition.
    /// An effect of `crash`, `recovery` or `suspicion` is a crash, a recovery, or a false
    /// suspicion.
    pub observed: u64,
}

pub(crate) fn count_faults(run: &RunContext) -> Vec<FaultCount> {
    let counts = &run.router.counts;
    let occurred = |wanted: fn(&Fault) -> bool| -> (bool, u64) {
        let faults = run.settings.faults.iter().zip(run.faults.occurrences_by_configured_fault());
        let mut found = faults.filter(|(fault, _)| wanted(fault)).peekable();
        (found.peek().is_some(), found.map(|(_, times)| *times).sum())
    };
    let metrics = &run.metrics;
    let cut: u64 = counts.cut.iter().sum();
    let missing = missing(metrics, run.in_flight_at_end);
    let lost = missing.saturating_sub(cut + run.faults.undeliverable + counts.unsent);
    let twice = (metrics.received + run.in_flight_at_end + missing).saturating_sub(metrics.sent);
    let (crash_requested, crashed) = occurred(|fault| matches!(fault, Fault::Crash { .. }));
    let (recover_requested, recovered) = occurred(|fault| matches!(fault, Fault::Recover { .. }));
    let (back_requested, _) =
        occurred(|fault| matches!(fault, Fault::Crash { recovery: Some(_), .. }));
    let (recover_requested, recovered) =
        (recover_requested || back_requested, recovered + run.faults.automatic_recoveries);
    let (partition_requested, partitioned) =
        occurred(|fault| matches!(fault, Fault::Partition { .. }));
    let (suspicion_requested, suspected) =
        occurred(|fault| matches!(fault, Fault::Suspicion { .. }));
    let network = &run.settings.network;
    let count =
        |fault, requested, injected, observed| FaultCount { fault, requested, injected, observed };
    let reorders = network.order == Some(tenure_core::ChannelOrder::Reordered);
    vec![
        count("loss", network.loss.can_occur(), counts.lost, lost),
        count("duplication", network.duplication.can_occur(), counts.duplicated, twice),
        count("reordering", reorders, counts.reordered, counts.reordered),
        count("crash", crash_requested, crashed, run.faults.crashes),
        count("recovery", recover_requested, recovered, run.faults.recoveries),
        count("partition", partition_requested, partitioned, cut),
        count("suspicion", suspicion_requested, suspected, suspected),
    ]
}

/// Returns the number of copies of messages that were sent and are neither received nor in flight.
/// `in_flight` is the number of copies in flight.
fn missing(metrics: &RunMetrics, in_flight: u64) -> u64 {
    (metrics.sent + metrics.duplicated).saturating_sub(metrics.received + in_flight)
}

/// Returns a warning for losses or duplications that were requested but not observed, for each
/// configured fault that never occurred, and for each partition that stopped no message.
pub(crate) fn fault_warnings(run: &RunContext, counts: &[FaultCount]) -> Vec<String> {
    let mut warnings = Vec::new();
    for count in counts {
        let inert = count.requested && count.observed == 0;
        let random = matches!(count.fault, "loss" | "duplication");
        if inert && random {
            warnings.push(format!("{} was requested but never occurred", count.fault));
        }
    }
    for (fault, times) in
        run.settings.faults.iter().zip(run.faults.occurrences_by_configured_fault())
    {
        if *times == 0 {
            warnings.push(format!("{} never occurred", name(fault)));
        }
    }
    let partitions = run.settings.faults.iter();
    let partitions = partitions.filter(|fault| matches!(fault, Fault::Partition { .. }));
    for (fault, cut) in partitions.zip(&run.router.counts.cut) {
        if *cut == 0 {
            warnings.push(format!("{} stopped no message", name(fault)));
        }
    }
    warnings
}

fn name(fault: &Fault) -> String {
    match fault {
        Fault::Crash { process, .. } => format!("the crash of {process}"),
        Fault::Recover { process, .. } => format!("the recovery of {process}"),
        Fault::Partition { .. } => "a partition".to_owned(),
        Fault::Suspicion { observer, peer, .. } => {
            format!("the false suspicion of {peer} by {observer}")
        }
    }
}
