//! Limits of a search, and reports of its progress.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use serde::Serialize;

use crate::clock::Instant;

/// Maximum number of states of a search. It is lower than 2³², the number of possible ids. Each
/// shard has an equal part of the ids, but the shards fill unequally, and no shard may run out of
/// ids.
const MAX_STATES: u64 = 7 << 29;

/// Function that returns the memory of the operating-system process in bytes, or `None` if it is
/// unknown.
pub type MemoryUsageFn = fn() -> Option<u64>;

/// Signal that stops the threads of a check. It stops either only the search, or the search and the
/// analysis of liveness. The caller of the check raises the signal by setting a flag. The
/// [`Watchdog`] and the search raise the signal when a limit is reached.
///
/// The threads read the signal for each global state of the search, and for each step of the
/// analysis. On targets with threads, a reading costs at most two memory accesses.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopSignal {
    flag: Option<Arc<AtomicBool>>,
    /// Highest [`SignalledLimit`] that was reached, as a number; 0 if none was reached.
    stage: Arc<AtomicU8>,
    /// Limits on time and memory for targets without threads, on which no [`Watchdog`] runs. The
    /// check compares the elapsed time and the used memory with these limits once per
    /// [`POLL_READINGS`] readings of this signal.
    polled: Arc<OnceLock<PolledLimits>>,
    #[cfg(test)]
    pub(crate) script: Option<Arc<tests::ScriptedClock>>,
}

/// Limit that was reached. [`SignalledLimit::SearchTime`] stops only the search. Each of the other
/// limits stops the search and the analysis of liveness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum SignalledLimit {
    /// The search stops, so that the analysis of liveness gets the rest of the time.
    SearchTime = 1,
    Time,
    Memory,
}

impl StopSignal {
    pub(crate) fn raise(&self, stage: SignalledLimit) {
        self.stage.fetch_max(stage as u8, Ordering::Relaxed);
    }

    /// Returns a copy of this signal for a new search. In the copy, no limit has been reached yet.
    /// The caller of the check raises the copy by setting `flag`.
    pub(crate) fn for_new_search(&self, flag: Option<Arc<AtomicBool>>) -> Self {
        let mut signal = self.clone();
        (signal.flag, signal.stage) = (flag, Arc::default());
        signal.polled = Arc::default();
        signal
    }

    #[inline]
    fn is_stopped_by_caller(&self) -> bool {
        self.flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    #[inline]
    fn is_past(&self, stage: SignalledLimit) -> bool {
        #[cfg(test)]
        if let Some(script) = &self.script {
            script.read(self);
        }
        // Only targets without threads compare the limits here.
        if cfg!(target_family = "wasm")
            && let Some(polled) = self.polled.get()
        {
            polled.poll(self);
        }
        self.is_stopped_by_caller() || self.stage.load(Ordering::Relaxed) >= stage as u8
    }

    /// Returns true if search and analysis must stop. An unfinished analysis proves nothing about
    /// liveness.
    #[inline]
    pub(crate) fn must_stop_check(&self) -> bool {
        self.is_past(SignalledLimit::Time)
    }

    /// Returns true if the search must stop. The analysis of liveness may still run on the states
    /// that the search has found, until [`StopSignal::must_stop_check`] returns true.
    #[inline]
    pub(crate) fn must_stop_search(&self) -> bool {
        self.is_past(SignalledLimit::SearchTime)
    }

    /// Returns the reason why the signal was raised. `None` if it was not raised. A stop by the
    /// caller takes precedence over limits.
    pub(crate) fn reached_limit(&self) -> Option<StopReason> {
        let stage = self.stage.load(Ordering::Relaxed);
        match stage {
            _ if self.is_stopped_by_caller() => Some(StopReason::Stopped),
            stage if stage == SignalledLimit::Memory as u8 => Some(StopReason::Memory),
            stage if stage >= SignalledLimit::SearchTime as u8 => Some(StopReason::Time),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct WatchedLimits {
    started: Instant,
    /// Time limit of the search, and time limit of the whole check. Each time limit is paired with
    /// the [`SignalledLimit`] to raise when the time has passed.
    times: [(Option<Duration>, SignalledLimit); 2],
    /// Limit on memory in bytes, and the function that reads the used memory.
    memory: Option<(u64, MemoryUsageFn)>,
}

impl WatchedLimits {
    /// Compares the elapsed time and the memory with the limits, and raises the signal for each
    /// limit that is reached. Returns the time until the next comparison. `None` if all time limits
    /// are reached and there is no limit on memory.
    fn compare(&self, stop: &StopSignal) -> Option<Duration> {
        let elapsed = self.started.elapsed();
        let taken = self.memory.is_some_and(|(max, read)| read().is_some_and(|it| it >= max));
        if taken {
            stop.raise(SignalledLimit::Memory);
        }
        let mut next = self.memory.map(|_| MEMORY_INTERVAL);
        for (time, stage) in self.times {
            match time.map(|time| time.saturating_sub(elapsed)) {
                Some(Duration::ZERO) => stop.raise(stage),
                Some(left) => next = Some(next.map_or(left, |next| next.min(left))),
                None => {}
            }
        }
        next
    }
}

/// Limits on the time and memory of a check on a target without threads, on which no [`Watchdog`]
/// runs. The check compares its time and memory with them once per [`POLL_READINGS`] readings of
/// its stop signal.
#[derive(Debug)]
struct PolledLimits {
    limits: WatchedLimits,
    readings: AtomicU32,
}

/// Number of readings of a stop signal between two comparisons with its [`PolledLimits`].
const POLL_READINGS: u32 = 1024;

impl PolledLimits {
    fn poll(&self, stop: &StopSignal) {
        if self.readings.fetch_add(1, Ordering::Relaxed).is_multiple_of(POLL_READINGS) {
            self.limits.compare(stop);
        }
    }
}

/// Thread that watches the time and the memory of a check, and raises the [`StopSignal`] of the
/// check. The thread ends when no limit is left, and at the latest when this value is dropped. A
/// target without threads has no watchdog: the code that reads the signal compares the limits.
pub(crate) struct Watchdog {
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Time between two comparisons of the used memory with its limit.
const MEMORY_INTERVAL: Duration = Duration::from_millis(25);

impl Watchdog {
    /// Starts a thread that watches the limits on time and memory. `started` is the moment at which
    /// the check began. If `has_analysis`, an analysis of liveness follows the search, so the
    /// search gets only a share of the time.
    ///
    /// Returns `None` if there is neither a limit on time nor a limit on memory with a memory
    /// reader. On a target without threads, stores the limits in `stop` and returns `None`. If the
    /// thread cannot be started, returns a watchdog that watches nothing.
    pub(crate) fn start(
        limits: CheckLimits,
        stop: &StopSignal,
        started: Instant,
        has_analysis: bool,
    ) -> Option<Self> {
        let memory = limits.bytes.zip(limits.memory_reader);
        if memory.is_none() && limits.time.is_none() {
            return None;
        }
        let times = [
            (limits.search_time_limit(has_analysis), SignalledLimit::SearchTime),
            (limits.time, SignalledLimit::Time),
        ];
        let watched = WatchedLimits { started, times, memory };
        if cfg!(target_family = "wasm") {
            let polled = PolledLimits { limits: watched, readings: AtomicU32::new(0) };
            // The cell is empty, because the signal was reset for this check.
            let _ = stop.polled.set(polled);
            return None;
        }
        let (ended, end) = channel();
        let stop = stop.clone();
        let watch = move || {
            while let Some(next) = watched.compare(&stop) {
                if !matches!(end.recv_timeout(next), Err(RecvTimeoutError::Timeout)) {
                    return;
                }
            }
        };
        let thread = Builder::new().name("limits".to_owned()).spawn(watch).ok();
        Some(Watchdog { ended: Some(ended), thread })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.ended.take());
        // The thread cannot fail.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Limits of a check. `None` means no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckLimits {
    /// Number of states that the search may store. The search compares its states with this limit
    /// at intervals, so it may store more states before it stops.
    pub states: Option<u64>,
    /// Memory that the search and the analysis of liveness may use together, in bytes.
    pub bytes: Option<u64>,
    /// Time that the search and the analysis of liveness may take together. If an analysis follows,
    /// the search may take 60 % of this time.
    pub time: Option<Duration>,
    /// Function that returns the memory that the operating-system process uses. The check also
    /// estimates its own memory, without the overhead of the allocator. It compares the limit
    /// `bytes` with the larger of the two numbers. Use `None` if other parts of the process
    /// allocate memory: then only the estimate counts.
    pub memory_reader: Option<MemoryUsageFn>,
}

/// Percentage of the time limit that the search may use if an analysis of liveness follows.
const SEARCH_SHARE: u32 = 60;

/// Limit that stopped a search or an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// Maximum number of states of a search.
    States,
    /// Maximum memory of a check.
    Memory,
    /// Maximum time of a check.
    Time,
    /// The caller stopped the check.
    Stopped,
}

impl StopReason {
    /// Returns a description for reports, such as `limit on time reached`.
    pub const fn description(self) -> &'static str {
        match self {
            StopReason::States => "limit on states reached",
            StopReason::Memory => "limit on memory reached",
            StopReason::Time => "limit on time reached",
            StopReason::Stopped => "stopped by the caller",
        }
    }
}

impl CheckLimits {
    /// Returns the time limit of the search. If `has_analysis`, an analysis of liveness follows,
    /// and the search may use only [`SEARCH_SHARE`] percent of the time limit.
    pub(crate) fn search_time_limit(self, has_analysis: bool) -> Option<Duration> {
        let share = if has_analysis { SEARCH_SHARE } else { 100 };
        self.time.map(|time| time * share / 100)
    }

    /// Returns the limit on states or memory that a search has reached, or `None` if it has reached
    /// neither. The search has stored `states` states in `bytes` bytes of memory, and is about to
    /// allocate `more_bytes` bytes.
    pub(crate) fn reached_limit(
        self,
        states: u64,
        bytes: usize,
        more_bytes: usize,
    ) -> Option<StopReason> {
        let held = self.memory_reader.and_then(|read| read()).unwrap_or(0).max(bytes as u64);
        let held = held + more_bytes as u64;
        if states >= self.states.map_or(MAX_STATES, |max| max.min(MAX_STATES)) {
            Some(StopReason::States)
        } else if self.bytes.is_some_and(|max| held >= max) {
            Some(StopReason::Memory)
        } else {
            None
        }
    }

    /// Returns the reason why a search that began at `started` must stop: a limit on states or on
    /// time, or the `stop_flag` of the caller. Returns `None` if the search may continue. Ignores
    /// the limit on memory, because the search of lying generals, the only caller, stores no
    /// states.
    pub(crate) fn reached_limit_since(
        self,
        started: Instant,
        states: u64,
        stop_flag: Option<&Arc<AtomicBool>>,
    ) -> Option<StopReason> {
        let is_stopped = stop_flag.is_some_and(|flag| flag.load(Ordering::Relaxed));
        let checks = [
            (is_stopped, StopReason::Stopped),
            (self.states.is_some_and(|most| states >= most), StopReason::States),
            (self.time.is_some_and(|most| started.elapsed() >= most), StopReason::Time),
        ];
        checks.into_iter().find_map(|(is_reached, limit)| is_reached.then_some(limit))
    }
}

/// Figures of a search that is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchProgress {
    /// Number of distinct states seen.
    pub states: u64,
    /// Number of steps from an initial state to the states that the search currently expands. In a
    /// swarm search, number of states on the current run. In a search of lying generals, number of
    /// steps of the current run.
    pub depth: u32,
    /// Number of states at this depth that are still to be expanded. In a swarm search, number of
    /// steps that are still to be explored. 0 in a search of lying generals, which does not know
    /// this number.
    pub waiting: u64,
    /// Memory of the states, the visited set and the caches, in bytes. 0 in a search of lying
    /// generals, which keeps only one run in memory.
    pub bytes: usize,
    /// Time since the start of the search.
    pub elapsed: Duration,
}

impl SearchProgress {
    /// Returns the average number of distinct states per second.
    pub fn states_per_second(&self) -> f64 {
        self.states as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use tenure_algorithms::mutex::RicartAgrawala;
    use tenure_core::Judgement;
    use tenure_core::monitors::MutualExclusion;

    use super::*;
    use crate::check::Check;
    use crate::explore::visited::SHARD_COUNT;
    use crate::measure::Measure;
    use crate::report::CheckReport;

    /// Simulated clock for tests. The readings of the stop signal are numbered from 0. From the
    /// reading `raise_at` on, the clock raises the signal with the limit `stage`.
    #[derive(Debug)]
    pub(crate) struct ScriptedClock {
        readings: AtomicU64,
        raise_at: u64,
        stage: SignalledLimit,
    }

    impl ScriptedClock {
        pub(super) fn read(&self, stop: &StopSignal) {
            if self.readings.fetch_add(1, Ordering::Relaxed) >= self.raise_at {
                stop.raise(self.stage);
            }
        }
    }

    impl StopSignal {
        /// Creates a signal that is raised at its reading with the index `raise_at`. The first
        /// reading has the index 0.
        pub(crate) fn raised_at_reading(raise_at: u64, stage: SignalledLimit) -> Self {
            let script = Arc::new(ScriptedClock { readings: AtomicU64::new(0), raise_at, stage });
            StopSignal { script: Some(script), ..StopSignal::default() }
        }

        /// Returns how often the signal, or a copy of it, has been read.
        pub(crate) fn reading_count(&self) -> u64 {
            self.script.as_ref().map_or(0, |script| script.readings.load(Ordering::Relaxed))
        }
    }

    /// Runs a check, and raises its stop signal when the check reads the signal for the
    /// `raise_at`-th time. Returns the report and the number of times that the check read the
    /// signal.
    fn limited_at(raise_at: u64, stage: SignalledLimit) -> (CheckReport, u64) {
        let stop = StopSignal::raised_at_reading(raise_at, stage);
        let mut check = Check::<RicartAgrawala>::new(2).request_limits(2).threads(2);
        check.plan.stop = stop.clone();
        let check = check
            .always(MutualExclusion::new())
            .check_deadlock_freedom()
            .check_starvation_freedom();
        (check.run(), stop.reading_count())
    }

    /// The search and the analysis read the stop signal at least once for each global state. After
    /// the signal is raised, the check reads it only a few more times before it stops.
    #[test]
    fn time_limit_stops_search_and_analysis_promptly() {
        // In a parallel part of the analysis, the job of each shard may read the raised signal
        // once.
        const LATE: u64 = 40 + SHARD_COUNT as u64;
        let (whole, readings) = limited_at(u64::MAX, SignalledLimit::Time);
        whole.assert_holds();
        assert!(readings >= 3 * whole.states, "{readings} readings for {} worlds", whole.states);
        for raise_at in (0..readings).step_by(7) {
            let (report, seen) = limited_at(raise_at, SignalledLimit::Time);
            assert!(seen <= raise_at + LATE, "raised at {raise_at}, {seen} readings");
            assert_ne!(report.judgement(), Judgement::Violated, "{report}");
            let is_whole = report.judgement() == Judgement::Holds;
            assert!(is_whole || report.reached_limit == Some(StopReason::Time), "{report}");
            assert!(!is_whole || raise_at + LATE >= readings, "{raise_at} of {readings}: {report}");
        }
    }

    /// A limit may stop a measurement after the search. Then neither extreme is known, although the
    /// explored runs serve all users.
    #[test]
    fn interrupted_measurement_knows_no_extreme() {
        let measured = |raise_at| {
            let stop = StopSignal::raised_at_reading(raise_at, SignalledLimit::Time);
            let mut check = Check::<RicartAgrawala>::new(2).threads(1);
            check.plan.stop = stop.clone();
            let report = check.measure(Measure::Messages).expect("a valid check");
            (report, stop.reading_count())
        };
        let (whole, readings) = measured(u64::MAX);
        assert_eq!((whole.maximum_in_words(), whole.minimum_in_words()), ("4".into(), "4".into()));
        for raise_at in (0..readings).step_by(7) {
            let (report, _) = measured(raise_at);
            let extremes = [report.maximum_in_words(), report.minimum_in_words()];
            assert_eq!(extremes, ["not known"; 2], "raised at {raise_at}: {report}");
            assert!(report.summary().contains("minimum                  not known"), "{report}");
        }
    }

    /// A time limit may stop the search early. The analysis of liveness then uses the states found
    /// so far, and concludes nothing from states that were not explored. So the check never reports
    /// a violation of a property that holds.
    #[test]
    fn early_stop_never_reports_a_violation() {
        let (_, readings) = limited_at(u64::MAX, SignalledLimit::SearchTime);
        let mut incomplete = 0;
        for raise_at in (0..readings).step_by(7) {
            let (report, seen) = limited_at(raise_at, SignalledLimit::SearchTime);
            assert_ne!(report.judgement(), Judgement::Violated, "{report}");
            let is_whole = report.judgement() == Judgement::Holds;
            assert!(is_whole || report.reached_limit == Some(StopReason::Time), "{report}");
            assert!(seen <= readings + 40 + SHARD_COUNT as u64);
            incomplete += u64::from(!is_whole);
        }
        assert!(incomplete > 10, "{incomplete} searches were stopped early");
    }

    #[test]
    fn polled_limits_raise_the_signal_like_a_thread() {
        let of = |time, memory| WatchedLimits {
            started: Instant::now(),
            times: [(time, SignalledLimit::SearchTime), (None, SignalledLimit::Time)],
            memory,
        };
        let polled = |limits| {
            let polled = PolledLimits { limits, readings: AtomicU32::new(0) };
            let stop = StopSignal::default();
            polled.poll(&stop);
            stop.reached_limit()
        };
        assert_eq!(polled(of(Some(Duration::ZERO), None)), Some(StopReason::Time));
        assert_eq!(polled(of(Some(Duration::MAX), None)), None);
        assert_eq!(polled(of(None, Some((8, || Some(8))))), Some(StopReason::Memory));
        assert_eq!(polled(of(None, Some((8, || Some(7))))), None);
    }

    #[test]
    fn memory_limit_counts_process_memory_and_analysis() {
        let limits = CheckLimits { bytes: Some(100), ..CheckLimits::default() };
        assert_eq!(limits.reached_limit(1, 60, 39), None);
        assert_eq!(limits.reached_limit(1, 60, 40), Some(StopReason::Memory));
        let limits = CheckLimits { memory_reader: Some(|| Some(90)), ..limits };
        assert_eq!(limits.reached_limit(1, 60, 9), None);
        assert_eq!(limits.reached_limit(1, 60, 10), Some(StopReason::Memory));
    }
}
