use tenure_core::{Order, ProcessId, Timing};

use crate::span::units;
use crate::{Chance, Entries, Fault, Initiators, Latency, Memory, Pattern, Settings, Span, When};

/// The command that makes the run of these settings again.
///
/// The algorithm's own options (variants, topologies) are the caller's to append. What no
/// option can express is listed by [`inexpressible`].
pub fn replay_command(algorithm: &str, settings: &Settings) -> String {
    let mut command = format!("tenure simulate {algorithm} -n {}", settings.size);
    let mut option = |name: &str, value: String| command.push_str(&format!(" --{name} {value}"));
    if !settings.ranks.is_empty() {
        let ids = settings.ranks.iter().map(|rank| rank.id.to_string());
        let loads = settings.ranks.iter().any(|rank| rank.weight != 0);
        if loads {
            let loads = settings.ranks.iter().map(|rank| u64::MAX / rank.weight.max(1));
            option("loads", loads.map(|load| load.to_string()).collect::<Vec<_>>().join(","));
        } else {
            option("ids", ids.collect::<Vec<_>>().join(","));
        }
    }
    if let Some(Initiators::Listed(listed)) = &settings.workload.initiators {
        option("initiators", numbers(listed));
    }
    if !settings.down.is_empty() {
        option("down", numbers(&settings.down));
    }
    locking(settings, &mut option);
    network(settings, &mut option);
    for fault in &settings.faults {
        if let Some((name, value)) = fault_option(fault) {
            option(name, value);
        }
    }
    if let Some(until) = settings.limits.until {
        option("until", units(until));
    }
    option("seed", settings.seed.to_string());
    if settings.beyond_assumptions {
        command.push_str(" --beyond-assumptions");
    }
    command
}

fn locking(settings: &Settings, option: &mut impl FnMut(&str, String)) {
    let Some(locking) = &settings.workload.locking else { return };
    match &locking.pattern {
        Pattern::Sequential { total } => option("sequential", total.to_string()),
        Pattern::Closed { think } => {
            let entries = match &locking.entries {
                Entries::Each(each) => each.to_string(),
                Entries::Listed(listed) => {
                    listed.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
                }
            };
            option("entries", entries);
            if *think != Span::ZERO {
                option("think", think.option());
            }
        }
        Pattern::Open { .. } => {}
    }
    if locking.hold != Span::units(1) {
        option("hold", locking.hold.option());
    }
}

fn network(settings: &Settings, option: &mut impl FnMut(&str, String)) {
    if let Latency::Same(latency) = &settings.network.latency
        && *latency != Span::units(1)
    {
        option("latency", latency.option());
    }
    match settings.network.order {
        Some(Order::Fifo) => option("channel", "fifo".into()),
        Some(Order::Reordered) => option("channel", "reordered".into()),
        None => {}
    }
    if settings.network.loss.possible() {
        option("lose", settings.network.loss.probability.to_string());
    }
    if settings.network.duplication.possible() {
        option("duplicate", settings.network.duplication.probability.to_string());
    }
    match settings.time.timing {
        Some(Timing::Synchronous) => option("timing", "synchronous".into()),
        Some(Timing::Partial) => option("timing", "partial".into()),
        Some(Timing::Asynchronous) => option("timing", "asynchronous".into()),
        None => {}
    }
    if settings.time.gst > 0 {
        option("gst", units(settings.time.gst));
    }
    if settings.time.drift_ppm > 0 {
        option("drift", (f64::from(settings.time.drift_ppm) / 1e6).to_string());
    }
    if settings.time.step != Span::ZERO {
        option("step", settings.time.step.option());
    }
}

fn fault_option(fault: &Fault) -> Option<(&'static str, String)> {
    match fault {
        Fault::Crash { process, when: When::At(at), recovery: None } => {
            Some(("crash", format!("{}@{}", process.number(), units(*at))))
        }
        Fault::Recover { process, at, memory: Memory::Stable } => {
            Some(("recover", format!("{}@{}", process.number(), units(*at))))
        }
        Fault::Partition { side, from, until: Some(until) } => {
            let span = format!("{}..{}", units(*from), units(*until));
            Some(("partition", format!("{}@{span}", numbers(side))))
        }
        _ => None,
    }
}

/// What of these settings no option of the command line can express: such a run can be made
/// again only through the library.
pub fn inexpressible(settings: &Settings) -> Vec<&'static str> {
    let mut left_out = Vec::new();
    let mut note = |is_left_out: bool, what| {
        if is_left_out {
            left_out.push(what);
        }
    };
    let limited = |chance: &Chance| chance.possible() && chance.most.is_some();
    note(matches!(settings.network.latency, Latency::Links(_)), "a latency for each link");
    note(limited(&settings.network.loss), "a limited number of losses");
    note(limited(&settings.network.duplication), "a limited number of duplicates");
    note(settings.faults.iter().any(|fault| fault_option(fault).is_none()), "a kind of fault");
    note(settings.workload.chatter.is_some(), "messages between users");
    let pattern = settings.workload.locking.as_ref().map(|locking| &locking.pattern);
    note(matches!(pattern, Some(Pattern::Open { .. })), "requests that arrive from outside");
    left_out
}

fn numbers(processes: &[ProcessId]) -> String {
    processes.iter().map(|process| process.number().to_string()).collect::<Vec<_>>().join(",")
}
