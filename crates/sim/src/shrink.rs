use tenure_core::{ProcessId, TICKS_PER_UNIT};

use crate::figures::report::Report;
use crate::settings::Settings;
use crate::settings::fault::{Chance, Fault};
use crate::settings::latency::Latency;
use crate::settings::span::Span;
use crate::settings::workload::{Entries, Initiators, Pattern};

/// A small run that fails as a large one did.
#[derive(Clone, Debug, PartialEq)]
pub struct Shrunk {
    /// What decides it, its seed included.
    pub settings: Settings,
    /// What comes of it.
    pub report: Report,
    /// How many runs it took to find it.
    pub runs: usize,
}

/// How many other seeds are tried with each smaller setting.
const SEEDS: u64 = 32;

/// Looks for a smaller run that fails: fewer processes, fewer entries, fewer faults, plainer
/// delays, a small seed.
///
/// `fails` makes a run with given settings and returns its report if it fails *in the way that
/// is of interest*; it must refuse settings it cannot run. At most `most_runs` runs are made.
/// Returns `None` when not even the given settings fail.
///
/// A smaller group draws other numbers, so each setting is tried with several seeds: what is
/// found is a run of the same kind, not a part of the same run.
pub fn shrink(
    settings: &Settings,
    most_runs: usize,
    mut fails: impl FnMut(&Settings) -> Option<Report>,
) -> Option<Shrunk> {
    let report = fails(settings)?;
    let mut best = Shrunk { settings: settings.clone(), report, runs: 1 };
    'smaller: loop {
        for candidate in smaller(&best.settings) {
            for seed in std::iter::once(candidate.seed).chain(1..=SEEDS) {
                if best.runs >= most_runs {
                    return Some(best);
                }
                best.runs += 1;
                let candidate = Settings { seed, ..candidate.clone() };
                if candidate.check().is_ok()
                    && let Some(report) = fails(&candidate)
                {
                    best = Shrunk { settings: candidate, report, runs: best.runs };
                    continue 'smaller;
                }
            }
        }
        return Some(small_seed(best, most_runs, &mut fails));
    }
}

/// The same settings with the smallest seed that fails, if a small one does.
fn small_seed(
    mut best: Shrunk,
    most_runs: usize,
    fails: &mut impl FnMut(&Settings) -> Option<Report>,
) -> Shrunk {
    for seed in 1..best.settings.seed.min(SEEDS) {
        if best.runs >= most_runs {
            break;
        }
        best.runs += 1;
        let settings = Settings { seed, ..best.settings.clone() };
        if let Some(report) = fails(&settings) {
            return Shrunk { settings, report, runs: best.runs };
        }
    }
    best
}

/// Everything that is a little smaller, the most promising first.
fn smaller(settings: &Settings) -> Vec<Settings> {
    let mut candidates = Vec::new();
    for size in [settings.size / 2, settings.size.saturating_sub(1)] {
        if size >= 2 && size < settings.size {
            candidates.extend(resized(settings, size));
        }
    }
    candidates.extend(fewer_faults(settings));
    candidates.extend(fewer_entries(settings));
    candidates.extend(plainer(settings));
    candidates
}

/// The same with fewer processes; nothing where each link has its own latency.
fn resized(settings: &Settings, size: u32) -> Option<Settings> {
    if matches!(settings.network.latency, Latency::Links(_)) {
        return None;
    }
    let mut small = settings.clone();
    let stays = |process: &ProcessId| process.0 < size;
    small.size = size;
    small.ranks = settings.ranks.iter().copied().take(size as usize).collect();
    small.down.retain(stays);
    small.faults.retain_mut(|fault| match fault {
        Fault::Crash { process, .. } | Fault::Recover { process, .. } => stays(process),
        Fault::Suspicion { observer, peer, .. } => stays(observer) && stays(peer),
        Fault::Partition { side, .. } => {
            side.retain(stays);
            !side.is_empty()
        }
    });
    if let Some(Initiators::Listed(listed)) = &mut small.workload.initiators {
        listed.retain(stays);
    }
    if let Some(locking) = &mut small.workload.locking
        && let Entries::Listed(entries) = &mut locking.entries
    {
        entries.truncate(size as usize);
    }
    Some(small)
}

fn fewer_faults(settings: &Settings) -> Vec<Settings> {
    let mut candidates = Vec::new();
    let mut change = |change: &dyn Fn(&mut Settings)| {
        let mut small = settings.clone();
        change(&mut small);
        if small != *settings {
            candidates.push(small);
        }
    };
    for fault in 0..settings.faults.len() {
        change(&|small| {
            small.faults.remove(fault);
        });
    }
    for process in 0..settings.down.len() {
        change(&|small| {
            small.down.remove(process);
        });
    }
    change(&|small| small.network.loss = Chance::NEVER);
    change(&|small| small.network.duplication = Chance::NEVER);
    // One fault, and likely: then few messages are enough for it to happen.
    if settings.network.loss.possible() {
        change(&|small| small.network.loss = Chance::at_most(0.5, 1));
    }
    if settings.network.duplication.possible() {
        change(&|small| small.network.duplication = Chance::at_most(0.5, 1));
    }
    change(&|small| small.workload.chatter = None);
    candidates
}

fn fewer_entries(settings: &Settings) -> Vec<Settings> {
    let Some(locking) = &settings.workload.locking else { return Vec::new() };
    let mut candidates = Vec::new();
    let mut offer = |pattern: Pattern, entries: Entries| {
        let mut small = settings.clone();
        if let Some(locking) = &mut small.workload.locking {
            (locking.pattern, locking.entries) = (pattern, entries);
        }
        candidates.push(small);
    };
    let (pattern, entries) = (locking.pattern.clone(), locking.entries.clone());
    if let Pattern::Sequential { total } = pattern {
        for total in [total / 2, total.saturating_sub(1)].into_iter().filter(|t| *t > 0) {
            offer(Pattern::Sequential { total }, entries.clone());
        }
        return candidates;
    }
    match &entries {
        Entries::Each(each) => {
            for fewer in [each / 2, each.saturating_sub(1)].into_iter().filter(|e| e < each) {
                offer(pattern.clone(), Entries::Each(fewer));
            }
            if *each <= 3 {
                offer(pattern, Entries::Listed(vec![*each; settings.size as usize]));
            }
        }
        Entries::Listed(listed) => {
            for place in 0..listed.len() {
                for fewer in [0, listed[place].saturating_sub(1)] {
                    if fewer < listed[place] {
                        let mut listed = listed.clone();
                        listed[place] = fewer;
                        offer(pattern.clone(), Entries::Listed(listed));
                    }
                }
            }
        }
    }
    candidates
}

/// The same with plainer delays, clocks and steps.
fn plainer(settings: &Settings) -> Vec<Settings> {
    let mut candidates = Vec::new();
    let mut change = |change: &dyn Fn(&mut Settings)| {
        let mut small = settings.clone();
        change(&mut small);
        if small != *settings {
            candidates.push(small);
        }
    };
    change(&|small| small.time.drift_ppm = 0);
    change(&|small| small.time.step = Span::ZERO);
    change(&|small| small.time.gst = 0);
    let constant = Latency::Same(Span::units(1));
    let coarse = Latency::Same(Span::between_units(1, 3));
    if settings.network.latency != constant {
        change(&|small| small.network.latency = constant.clone());
        let most = settings.network.latency.most().unwrap_or(u64::MAX);
        if most > 3 * TICKS_PER_UNIT {
            change(&|small| small.network.latency = coarse.clone());
        }
    }
    if let Some(locking) = &settings.workload.locking {
        if let Pattern::Closed { think } = locking.pattern
            && think != Span::ZERO
        {
            change(&|small| {
                if let Some(locking) = &mut small.workload.locking {
                    locking.pattern = Pattern::Closed { think: Span::ZERO };
                }
            });
        }
        if locking.hold != Span::units(1) {
            change(&|small| {
                if let Some(locking) = &mut small.workload.locking {
                    locking.hold = Span::units(1);
                }
            });
        }
    }
    candidates
}
