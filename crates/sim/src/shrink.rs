//! Search for a smaller run that still fails.

use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT};

use crate::results::report::RunReport;
use crate::settings::Settings;
use crate::settings::distribution::Distribution;
use crate::settings::fault::{Chance, Fault};
use crate::settings::latency::Latency;
use crate::settings::workload::{EntriesPerProcess, Initiators, RequestPattern};

/// Result of [`shrink`]: a run that fails like the original run and is usually smaller.
#[derive(Clone, Debug, PartialEq)]
pub struct ShrunkRun {
    /// Settings of the run, including its seed.
    pub settings: Settings,
    /// Report of the run.
    pub report: RunReport,
    /// Number of settings that the search has run, including the given ones. Settings that are
    /// invalid or cannot be run do not count.
    pub runs: usize,
}

/// Result of running one candidate of [`shrink`].
#[derive(Clone, Debug, PartialEq)]
pub enum CandidateResult {
    /// The run fails in the way that the caller looks for.
    Fails(Box<RunReport>),
    /// The run does not fail in this way.
    Passes,
    /// The settings cannot be run, with any seed.
    CannotRun,
    /// The caller stops the search. The candidate was not run.
    Stopped,
}

/// Largest seed that the search tries. The search runs each candidate with the candidate's own seed
/// first, and then with the seeds from 1 to this maximum.
const SEEDS: u64 = 32;

/// Searches for a smaller failing run: fewer processes, entries and faults, simpler delays, a
/// smaller seed.
///
/// `run` runs the settings that it receives. The search calls `run` only for valid settings. It
/// runs at most `max_runs` settings, but at least the given ones. It does not repeat settings that
/// cannot be run with other seeds. If `run` returns [`CandidateResult::Stopped`], the search
/// ends with the smallest run so far. If the run with the given settings does not fail, `shrink`
/// returns `None`.
///
/// A smaller group draws other random numbers, so each candidate is tried with several seeds. The
/// result is therefore another run that fails in the same way, and not a part of the given run.
pub fn shrink(
    settings: &Settings,
    max_runs: usize,
    mut run: impl FnMut(&Settings) -> CandidateResult,
) -> Option<ShrunkRun> {
    let CandidateResult::Fails(report) = run(settings) else { return None };
    let mut best = ShrunkRun { settings: settings.clone(), report: *report, runs: 1 };
    'smaller: loop {
        let candidates = smaller(&best.settings).into_iter();
        for candidate in candidates.filter(|candidate| candidate.check().is_ok()) {
            for seed in std::iter::once(candidate.seed).chain(1..=SEEDS) {
                if best.runs >= max_runs {
                    return Some(best);
                }
                let candidate = Settings { seed, ..candidate.clone() };
                match run(&candidate) {
                    CandidateResult::Fails(report) => {
                        let runs = best.runs + 1;
                        best = ShrunkRun { settings: candidate, report: *report, runs };
                        continue 'smaller;
                    }
                    CandidateResult::Passes => best.runs += 1,
                    CandidateResult::CannotRun => break,
                    CandidateResult::Stopped => return Some(best),
                }
            }
        }
        return Some(small_seed(best, max_runs, &mut run));
    }
}

/// Runs the settings of `best` with the seeds that are below the seed of `best` and below
/// [`SEEDS`], in ascending order from 1. Returns the first run that fails. Returns `best` if none
/// of these runs fails, if the number of runs has reached `max_runs`, or if the caller stops the
/// search.
fn small_seed(
    mut best: ShrunkRun,
    max_runs: usize,
    run: &mut impl FnMut(&Settings) -> CandidateResult,
) -> ShrunkRun {
    for seed in 1..best.settings.seed.min(SEEDS) {
        if best.runs >= max_runs {
            break;
        }
        let settings = Settings { seed, ..best.settings.clone() };
        match run(&settings) {
            CandidateResult::Fails(report) => {
                return ShrunkRun { settings, report: *report, runs: best.runs + 1 };
            }
            CandidateResult::Passes => best.runs += 1,
            CandidateResult::CannotRun | CandidateResult::Stopped => break,
        }
    }
    best
}

/// Returns variants of the settings. Each variant makes the run smaller or simpler in one respect.
/// The most promising variants are first.
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

/// Returns a copy of the settings for the first `size` processes. Returns `None` if the settings
/// cannot be reduced: they contain a latency for each link, a network, or a property that names
/// certain processes.
fn resized(settings: &Settings, size: u32) -> Option<Settings> {
    if matches!(settings.network.latency, Latency::Links(_)) || settings.network.graph.is_some() {
        return None;
    }
    let mut small = settings.clone();
    let custom = &settings.monitoring.custom;
    if custom.iter().any(|property| property.inputs().process_identities) {
        return None;
    }
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
        && let EntriesPerProcess::Listed(entries) = &mut locking.entries
    {
        entries.truncate(size as usize);
    }
    Some(small)
}

/// Returns a changed copy of the settings. Returns `None` if `change` makes no difference.
fn changed(settings: &Settings, change: &dyn Fn(&mut Settings)) -> Option<Settings> {
    let mut small = settings.clone();
    change(&mut small);
    (small != *settings).then_some(small)
}

/// Returns copies of the settings. In each copy, one fault, one process that is down, one kind of
/// message fault, or the traffic between users is missing or rarer.
fn fewer_faults(settings: &Settings) -> Vec<Settings> {
    let mut candidates = Vec::new();
    let mut change = |change: &dyn Fn(&mut Settings)| candidates.extend(changed(settings, change));
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
    // Also tries a chance that permits at most one occurrence, with probability ½. The probability
    // is high, because a small run sends only a few messages.
    if settings.network.loss.can_occur() {
        change(&|small| small.network.loss = Chance::with_max_occurrences(0.5, 1));
    }
    if settings.network.duplication.can_occur() {
        change(&|small| small.network.duplication = Chance::with_max_occurrences(0.5, 1));
    }
    change(&|small| small.workload.background_traffic = None);
    candidates
}

/// Returns copies of the settings with fewer entries to the critical section. If each process has
/// at most three entries, one copy lists these numbers process by process, so that a later step can
/// reduce them separately.
fn fewer_entries(settings: &Settings) -> Vec<Settings> {
    let Some(locking) = &settings.workload.locking else { return Vec::new() };
    let mut candidates = Vec::new();
    let mut offer = |pattern: RequestPattern, entries: EntriesPerProcess| {
        let mut small = settings.clone();
        if let Some(locking) = &mut small.workload.locking {
            (locking.pattern, locking.entries) = (pattern, entries);
        }
        candidates.push(small);
    };
    let (pattern, entries) = (locking.pattern.clone(), locking.entries.clone());
    if let RequestPattern::Sequential { total } = pattern {
        for total in [total / 2, total.saturating_sub(1)].into_iter().filter(|t| *t > 0) {
            offer(RequestPattern::Sequential { total }, entries.clone());
        }
        return candidates;
    }
    match &entries {
        EntriesPerProcess::Each(each) => {
            for fewer in [each / 2, each.saturating_sub(1)].into_iter().filter(|e| e < each) {
                offer(pattern.clone(), EntriesPerProcess::Each(fewer));
            }
            if *each <= 3 {
                offer(pattern, EntriesPerProcess::Listed(vec![*each; settings.size as usize]));
            }
        }
        EntriesPerProcess::Listed(listed) => {
            for place in 0..listed.len() {
                for fewer in [0, listed[place].saturating_sub(1)] {
                    if fewer < listed[place] {
                        let mut listed = listed.clone();
                        listed[place] = fewer;
                        offer(pattern.clone(), EntriesPerProcess::Listed(listed));
                    }
                }
            }
        }
    }
    candidates
}

/// Returns copies of the settings. In each copy, one setting about message delays, clocks or the
/// duration of steps has a simpler value.
fn plainer(settings: &Settings) -> Vec<Settings> {
    let mut candidates = Vec::new();
    let mut change = |change: &dyn Fn(&mut Settings)| candidates.extend(changed(settings, change));
    change(&|small| small.time.drift_ppm = 0);
    change(&|small| small.time.step = Distribution::ZERO);
    change(&|small| small.time.gst = 0);
    let constant = Latency::Same(Distribution::time_units(1));
    let coarse = Latency::Same(Distribution::between_time_units(1, 3));
    if settings.network.latency != constant {
        change(&|small| small.network.latency = constant.clone());
        let most = settings.network.latency.max_ticks().unwrap_or(u64::MAX);
        if most > 3 * TICKS_PER_TIME_UNIT {
            change(&|small| small.network.latency = coarse.clone());
        }
    }
    if let Some(locking) = &settings.workload.locking {
        if let RequestPattern::Closed { think } = locking.pattern
            && think != Distribution::ZERO
        {
            change(&|small| {
                if let Some(locking) = &mut small.workload.locking {
                    locking.pattern = RequestPattern::Closed { think: Distribution::ZERO };
                }
            });
        }
        if locking.hold != Distribution::time_units(1) {
            change(&|small| {
                if let Some(locking) = &mut small.workload.locking {
                    locking.hold = Distribution::time_units(1);
                }
            });
        }
    }
    candidates
}
