use tenure_core::{Order, ProcessId, Timing};

use crate::span::units;
use crate::{
    Chance, Chatter, Entries, Fault, Initiators, Memory, Pattern, Recovery, Settings, Span,
};

/// The command that makes the run of these settings again.
///
/// The algorithm's own options (variants, topologies) are the caller's to append. What no
/// option can express is listed by [`inexpressible`].
pub fn replay_command(algorithm: &str, settings: &Settings) -> String {
    let mut command = format!("tenure simulate {algorithm}{}", group_options(settings));
    let mut option = |name: &str, value: String| command.push_str(&format!(" --{name} {value}"));
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
    for (process, recovery) in comebacks(settings) {
        let value = format!("{}@+{}", process.number(), units(recovery.after));
        option("recover", value + memory_option(recovery.memory));
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

/// The options that make the group of these settings again: how many there are, and their ranks.
/// Each is preceded by a blank.
pub fn group_options(settings: &Settings) -> String {
    let size = format!(" -n {}", settings.size);
    let ranks = settings.ranks.iter();
    if settings.ranks.is_empty() {
        return size;
    }
    let list = |ranks: Vec<String>| ranks.join(",");
    if settings.ranks.iter().any(|rank| rank.weight != 0) {
        let loads = ranks.map(|rank| u64::MAX / rank.weight.max(1));
        return format!("{size} --loads {}", list(loads.map(|load| load.to_string()).collect()));
    }
    format!("{size} --ids {}", list(ranks.map(|rank| rank.id.to_string()).collect()))
}

fn locking(settings: &Settings, option: &mut impl FnMut(&str, String)) {
    let Some(locking) = &settings.workload.locking else { return };
    match &locking.pattern {
        Pattern::Sequential { total } => option("sequential", total.to_string()),
        Pattern::Closed { think } => {
            option("entries", entries(&locking.entries));
            if *think != Span::ZERO {
                option("think", think.option());
            }
        }
        Pattern::Open { every } => {
            option("entries", entries(&locking.entries));
            option("arrivals", every.option());
        }
    }
    if locking.hold != Span::units(1) {
        option("hold", locking.hold.option());
    }
}

fn entries(entries: &Entries) -> String {
    match entries {
        Entries::Each(each) => each.to_string(),
        Entries::Listed(listed) => listed.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
    }
}

fn network(settings: &Settings, option: &mut impl FnMut(&str, String)) {
    let latency = settings.network.latency.usual();
    if latency != Span::units(1) {
        option("latency", latency.option());
    }
    for (from, to, span) in settings.network.latency.unusual(settings.size) {
        let value = format!("{}-{}={}", from.number(), to.number(), span.option());
        option("link-latency", value);
    }
    if let Some(chatter) = &settings.workload.chatter {
        option("app-messages", chatter.tell.probability.to_string());
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
        Fault::Crash { process, when, .. } => {
            Some(("crash", format!("{}@{}", process.number(), when.option())))
        }
        Fault::Recover { process, at, memory } => {
            let value = format!("{}@{}", process.number(), units(*at));
            Some(("recover", value + memory_option(*memory)))
        }
        Fault::Partition { side, from, until } => {
            let until = until.map_or(String::new(), units);
            Some(("partition", format!("{}@{}..{until}", numbers(side), units(*from))))
        }
        Fault::Suspicion { .. } => None,
    }
}

const fn memory_option(memory: Memory) -> &'static str {
    match memory {
        Memory::Stable => "",
        Memory::Lost => ":forgetful",
    }
}

/// Who comes back by itself some time after each of its crashes, and how.
fn comebacks(settings: &Settings) -> Vec<(ProcessId, Recovery)> {
    let mut comebacks: Vec<(ProcessId, Recovery)> = Vec::new();
    for fault in &settings.faults {
        if let Fault::Crash { process, recovery: Some(recovery), .. } = fault
            && !comebacks.contains(&(*process, *recovery))
        {
            comebacks.push((*process, *recovery));
        }
    }
    comebacks
}

/// Whether all crashes of each process are followed by the same.
fn have_one_comeback_each(settings: &Settings) -> bool {
    let followed = |fault: &Fault| match fault {
        Fault::Crash { process, recovery, .. } => Some((*process, *recovery)),
        _ => None,
    };
    let crashes: Vec<_> = settings.faults.iter().filter_map(followed).collect();
    let same = |a: &(ProcessId, _), b: &(ProcessId, _)| a.0 != b.0 || a.1 == b.1;
    crashes.iter().all(|crash| crashes.iter().all(|other| same(crash, other)))
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
    note(limited(&settings.network.loss), "a limited number of losses");
    note(limited(&settings.network.duplication), "a limited number of duplicates");
    note(settings.faults.iter().any(|fault| fault_option(fault).is_none()), "a kind of fault");
    note(!have_one_comeback_each(settings), "crashes of one process with different recoveries");
    let latency = settings.network.latency.usual();
    let plain = |chatter: &Chatter| chatter.react && chatter.latency == latency;
    let chatter = settings.workload.chatter.as_ref();
    note(chatter.is_some_and(|it| !plain(it)), "messages between users of another sort");
    note(chatter.is_some_and(|it| limited(&it.tell)), "a limited number of messages between users");
    left_out
}

fn numbers(processes: &[ProcessId]) -> String {
    processes.iter().map(|process| process.number().to_string()).collect::<Vec<_>>().join(",")
}
