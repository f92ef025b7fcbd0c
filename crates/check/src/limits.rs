//! Limits on a search, and how far it has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::check::Check;
use crate::users::user::Checkable;

/// Worlds have names of 32 bits, and are spread over tables that are never quite equally full.
const MOST_STATES: u64 = 7 << 29;

/// Reads how much memory the process holds, in bytes; `None` where that is not known.
pub type ReadMemory = fn() -> Option<u64>;

/// Tells the threads of a check to end: only its search, or all of it, analysis of liveness
/// included. It is raised by the caller's flag, or by the [`Watchdog`] at a limit.
///
/// Asked of each world and of each step of the analysis: it costs no more than a look at memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    asked: Option<Arc<AtomicBool>>,
    /// The highest [`Stage`] that was reached; 0 for none.
    stage: Arc<AtomicU8>,
    #[cfg(test)]
    pub(crate) script: Option<Arc<tests::Script>>,
}

/// How much has to end, and at which limit, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Stage {
    /// The search, so that the analysis has its share of the time.
    SearchTime = 1,
    /// Everything: the time is over.
    Time,
    /// Everything: the memory is taken.
    Memory,
}

impl Stop {
    pub(crate) fn when(flag: Arc<AtomicBool>) -> Self {
        Stop { asked: Some(flag), ..Stop::default() }
    }

    pub(crate) fn raise(&self, stage: Stage) {
        self.stage.fetch_max(stage as u8, Ordering::Relaxed);
    }

    /// The same flag of the caller, before any limit is reached.
    pub(crate) fn renewed(&self) -> Self {
        Stop { stage: Arc::default(), ..self.clone() }
    }

    #[inline]
    fn is_asked(&self) -> bool {
        self.asked.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    #[inline]
    fn is_past(&self, stage: Stage) -> bool {
        #[cfg(test)]
        if let Some(script) = &self.script {
            script.look(self);
        }
        self.is_asked() || self.stage.load(Ordering::Relaxed) >= stage as u8
    }

    /// True if everything must end: what was seen is no evidence of liveness then.
    #[inline]
    pub(crate) fn is_raised(&self) -> bool {
        self.is_past(Stage::Time)
    }

    /// True if the search must end; what it has seen may be analysed unless all must end.
    #[inline]
    pub(crate) fn ends_search(&self) -> bool {
        self.is_past(Stage::SearchTime)
    }

    /// The limit at which the search, or everything, had to end.
    pub(crate) fn limit(&self) -> Option<Limit> {
        let stage = self.stage.load(Ordering::Relaxed);
        match stage {
            _ if self.is_asked() => Some(Limit::Stopped),
            stage if stage == Stage::Memory as u8 => Some(Limit::Memory),
            stage if stage >= Stage::SearchTime as u8 => Some(Limit::Time),
            _ => None,
        }
    }
}

/// A thread that looks at the clock, and at the memory where that can be read, while a check runs,
/// and raises its [`Stop`]. Dropping it ends the thread.
pub(crate) struct Watchdog {
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// How often the memory is read.
const MEMORY_INTERVAL: Duration = Duration::from_millis(25);

impl Watchdog {
    /// Watches the limits of a check that began at `started`, if it has any to be watched.
    pub(crate) fn start(
        limits: Limits,
        stop: &Stop,
        started: Instant,
        analyses: bool,
    ) -> Option<Self> {
        let memory = limits.bytes.zip(limits.read_memory);
        if memory.is_none() && limits.time.is_none() {
            return None;
        }
        let (ended, end) = channel();
        let stop = stop.clone();
        let times = [(limits.search_time(analyses), Stage::SearchTime), (limits.time, Stage::Time)];
        let watch = move || {
            loop {
                let elapsed = started.elapsed();
                let taken = memory.is_some_and(|(most, read)| read().is_some_and(|it| it >= most));
                if taken {
                    stop.raise(Stage::Memory);
                }
                let mut next = memory.map(|_| MEMORY_INTERVAL);
                for (time, stage) in times {
                    match time.map(|time| time.saturating_sub(elapsed)) {
                        Some(Duration::ZERO) => stop.raise(stage),
                        Some(left) => next = Some(next.map_or(left, |next| next.min(left))),
                        None => {}
                    }
                }
                let Some(next) = next else { return };
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
        // The thread does nothing that could fail.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What may end a search before everything was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) states: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) time: Option<Duration>,
    /// Reads the memory of the process, which counts as well as what the search knows of.
    pub(crate) read_memory: Option<ReadMemory>,
}

/// The share of the time that a search has where liveness is analysed after it, in percent.
const SEARCH_SHARE: u32 = 60;

/// What ended a search before everything was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// As many states as allowed were seen.
    States,
    /// As much memory as allowed was taken.
    Memory,
    /// As much time as allowed has passed.
    Time,
    /// It was told to stop.
    Stopped,
}

impl Limit {
    /// The same in words.
    pub const fn says(self) -> &'static str {
        match self {
            Limit::States => "as many states as allowed were seen",
            Limit::Memory => "as much memory as allowed was taken",
            Limit::Time => "as much time as allowed has passed",
            Limit::Stopped => "it was told to",
        }
    }
}

impl Limits {
    /// How long the search may take, if what follows it has to end in time.
    pub(crate) fn search_time(self, analyses: bool) -> Option<Duration> {
        let share = if analyses { SEARCH_SHARE } else { 100 };
        self.time.map(|time| time * share / 100)
    }

    /// The limit that a search has reached which holds so many states and bytes, and is about to
    /// take so many bytes more.
    pub(crate) fn reached(self, states: u64, bytes: usize, more: usize) -> Option<Limit> {
        let held = self.read_memory.and_then(|read| read()).unwrap_or(0).max(bytes as u64);
        let held = held + more as u64;
        if states >= self.states.map_or(MOST_STATES, |most| most.min(MOST_STATES)) {
            Some(Limit::States)
        } else if self.bytes.is_some_and(|most| held >= most) {
            Some(Limit::Memory)
        } else {
            None
        }
    }
}

impl<P: Checkable> Check<P> {
    /// Stops at about so many states.
    #[must_use]
    pub fn max_states(mut self, most: u64) -> Self {
        self.limits.states = Some(most);
        self
    }

    /// Reads how much memory the process holds, in bytes. That counts towards
    /// [`Check::max_memory`] as well as what the search knows of, which is less than the allocator
    /// takes. To be left out where other things in the process take memory.
    #[must_use]
    pub fn reading_memory_by(mut self, read: ReadMemory) -> Self {
        self.limits.read_memory = Some(read);
        self
    }

    /// Stops before the search and the analysis after it take so many bytes.
    #[must_use]
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.limits.bytes = Some(bytes);
        self
    }

    /// Stops after so long, search and analysis of liveness taken together.
    #[must_use]
    pub fn max_time(mut self, most: Duration) -> Self {
        self.limits.time = Some(most);
        self
    }

    /// Stops soon after the flag is raised.
    #[must_use]
    pub fn stop_when(mut self, flag: Arc<AtomicBool>) -> Self {
        self.stop = Stop::when(flag);
        self
    }
}

/// How far a search has come: for a line that a person watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Different worlds seen.
    pub states: u64,
    /// The length of the runs that are being extended now.
    pub depth: u32,
    /// How many worlds there are at this depth.
    pub waiting: u64,
    /// Memory taken by worlds, visited set and caches.
    pub bytes: usize,
    /// Since the start.
    pub elapsed: Duration,
}

impl Progress {
    /// Different worlds seen in a second, so far.
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
    use crate::report::Report;

    /// A clock that counts looks: at one of them a stage is reached.
    #[derive(Debug)]
    pub(crate) struct Script {
        looks: AtomicU64,
        raise_at: u64,
        stage: Stage,
    }

    impl Script {
        pub(super) fn look(&self, stop: &Stop) {
            if self.looks.fetch_add(1, Ordering::Relaxed) >= self.raise_at {
                stop.raise(self.stage);
            }
        }
    }

    /// The report of a check that a limit ends at the look of this number, and how many looks there
    /// were in all.
    fn limited_at(raise_at: u64, stage: Stage) -> (Report, u64) {
        let script = Arc::new(Script { looks: AtomicU64::new(0), raise_at, stage });
        let mut check = Check::<RicartAgrawala>::of(2).entries(2).threads(2);
        check.stop.script = Some(Arc::clone(&script));
        let check = check.always(MutualExclusion::new()).deadlock_free().starvation_free();
        (check.run(), script.looks.load(Ordering::Relaxed))
    }

    /// Work between two looks is bounded: there is a look for each world of the search, and one for
    /// each of the analysis. So a limit is met a few looks late, wherever it falls.
    #[test]
    fn a_time_limit_ends_search_and_analysis_within_a_few_looks() {
        const LATE: u64 = 40;
        let (whole, looks) = limited_at(u64::MAX, Stage::Time);
        whole.assert_holds();
        assert!(looks >= 3 * whole.states, "{looks} looks at {} worlds", whole.states);
        for raise_at in (0..looks).step_by(7) {
            let (report, seen) = limited_at(raise_at, Stage::Time);
            assert!(seen <= raise_at + LATE, "raised at {raise_at}, {seen} looks");
            assert_ne!(report.judgement(), Judgement::Violated, "{report}");
            let is_whole = report.judgement() == Judgement::Holds;
            assert!(is_whole || report.limit == Some(Limit::Time), "{report}");
            assert!(!is_whole || raise_at + LATE >= looks, "{raise_at} of {looks}: {report}");
        }
    }

    /// What was seen until the share of the search was over is analysed, and no evidence is made of
    /// what was not.
    #[test]
    fn a_search_that_ends_early_is_analysed_and_never_violated_by_that() {
        let (_, looks) = limited_at(u64::MAX, Stage::SearchTime);
        for raise_at in (0..looks).step_by(7) {
            let (report, seen) = limited_at(raise_at, Stage::SearchTime);
            assert_ne!(report.judgement(), Judgement::Violated, "{report}");
            let is_whole = report.judgement() == Judgement::Holds;
            assert!(is_whole || report.limit == Some(Limit::Time), "{report}");
            assert!(seen <= looks + 40);
        }
    }

    #[test]
    fn memory_counts_what_the_process_holds_and_what_follows_the_search() {
        let limits = Limits { bytes: Some(100), ..Limits::default() };
        assert_eq!(limits.reached(1, 60, 39), None);
        assert_eq!(limits.reached(1, 60, 40), Some(Limit::Memory));
        let limits = Limits { read_memory: Some(|| Some(90)), ..limits };
        assert_eq!(limits.reached(1, 60, 9), None);
        assert_eq!(limits.reached(1, 60, 10), Some(Limit::Memory));
    }
}
