use crate::engine::core::Core;
use crate::figures::metrics::Metrics;
use crate::settings::fault::Fault;

/// One sort of fault: how often it was made to happen, and how often its effect was seen.
///
/// The two are counted in different places, so that a fault that does nothing is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultCount {
    /// What went wrong: `loss`, `duplication`, `reordering`, `crash`, `recovery`, `partition`,
    /// `suspicion`.
    pub fault: &'static str,
    /// Whether it was asked for.
    pub asked: bool,
    /// How often it was made to happen.
    pub injected: u64,
    /// How often its effect was seen: messages missing, arriving twice, overtaking or cut off,
    /// processes going down and up, live processes suspected.
    pub observed: u64,
}

pub(crate) fn count_faults(core: &Core) -> Vec<FaultCount> {
    let happened = &core.router.happened;
    let fired = |wanted: fn(&Fault) -> bool| -> (bool, u64) {
        let faults = core.settings.faults.iter().zip(&core.fired);
        let mut found = faults.filter(|(fault, _)| wanted(fault)).peekable();
        (found.peek().is_some(), found.map(|(_, times)| *times).sum())
    };
    let metrics = &core.metrics;
    let cut: u64 = happened.cut.iter().sum();
    let missing = missing(metrics, core.under_way);
    let lost = missing.saturating_sub(cut + core.dead_letters);
    let twice = (metrics.received + core.under_way + missing).saturating_sub(metrics.sent);
    let (crash_asked, crashed) = fired(|fault| matches!(fault, Fault::Crash { .. }));
    let (recover_asked, recovered) = fired(|fault| matches!(fault, Fault::Recover { .. }));
    let (back_asked, _) = fired(|fault| matches!(fault, Fault::Crash { recovery: Some(_), .. }));
    let (recover_asked, recovered) = (recover_asked || back_asked, recovered + core.comebacks);
    let (partition_asked, begun) = fired(|fault| matches!(fault, Fault::Partition { .. }));
    let (suspicion_asked, lied) = fired(|fault| matches!(fault, Fault::Suspicion { .. }));
    let network = &core.settings.network;
    let count = |fault, asked, injected, observed| FaultCount { fault, asked, injected, observed };
    let reorders = network.order == Some(tenure_core::Order::Reordered);
    vec![
        count("loss", network.loss.possible(), happened.lost, lost),
        count("duplication", network.duplication.possible(), happened.duplicated, twice),
        count("reordering", reorders, happened.reordered, happened.reordered),
        count("crash", crash_asked, crashed, core.crashes),
        count("recovery", recover_asked, recovered, core.recoveries),
        count("partition", partition_asked, begun, cut),
        count("suspicion", suspicion_asked, lied, lied),
    ]
}

/// How many copies were sent and are neither delivered nor under way.
fn missing(metrics: &Metrics, under_way: u64) -> u64 {
    (metrics.sent + metrics.duplicated).saturating_sub(metrics.received + under_way)
}

/// What was asked for and had no effect, in sentences.
pub(crate) fn warnings(core: &Core, counts: &[FaultCount]) -> Vec<String> {
    let mut warnings = Vec::new();
    for count in counts {
        let inert = count.asked && count.observed == 0;
        let random = matches!(count.fault, "loss" | "duplication");
        if inert && random {
            warnings.push(format!("{} was asked for but never happened", count.fault));
        }
    }
    for (fault, times) in core.settings.faults.iter().zip(&core.fired) {
        if *times == 0 {
            warnings.push(format!("{} never happened", name(fault)));
        }
    }
    let partitions = core.settings.faults.iter();
    let partitions = partitions.filter(|fault| matches!(fault, Fault::Partition { .. }));
    for (fault, cut) in partitions.zip(&core.router.happened.cut) {
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
