//! Workload of a run: requests for the lock, elections, and messages between users.

use tenure_core::ProcessId;

use crate::settings::distribution::Distribution;
use crate::settings::error::SettingsError;
use crate::settings::fault::Chance;

/// Requests that the users issue in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Requests for the lock. If the protocol offers an agreement service instead of a lock, each
    /// user issues as many commands as this workload has entries for its process. `None` for no
    /// requests.
    pub locking: Option<LockWorkload>,
    /// Processes that request an election before any message is delivered. `None` for no election.
    pub initiators: Option<Initiators>,
    /// Messages that users send to each other outside of the algorithm. `None` for no such
    /// messages.
    pub background_traffic: Option<BackgroundTraffic>,
}

impl Workload {
    /// Creates a workload in which every process enters the critical section `entries` times, and
    /// stays inside for one unit each time. All processes request the lock at time 0, and request
    /// it again immediately after each exit.
    pub fn entries(entries: u32) -> Self {
        let pattern = RequestPattern::Closed { think: Distribution::ZERO };
        let entries = EntriesPerProcess::Each(entries);
        Workload::locking(LockWorkload { pattern, entries, hold: Distribution::time_units(1) })
    }

    /// Creates a workload that consists of requests for the lock.
    pub fn locking(locking: LockWorkload) -> Self {
        Workload { locking: Some(locking), ..Workload::default() }
    }

    /// Creates a workload of `total` entries, one after the other, by uniformly drawn processes. A
    /// request is issued when the previous entry has ended and no message is in flight.
    pub fn sequential(total: u64) -> Self {
        let pattern = RequestPattern::Sequential { total };
        Workload::locking(LockWorkload {
            pattern,
            entries: EntriesPerProcess::Each(0),
            hold: Distribution::time_units(1),
        })
    }

    /// Creates a workload in which `process` enters `hot` times, and each other process enters
    /// `others` times.
    pub fn with_hot_process(size: u32, process: ProcessId, hot: u32, others: u32) -> Self {
        let entries = (0..size).map(|place| if place == process.0 { hot } else { others });
        let pattern = RequestPattern::Closed { think: Distribution::ZERO };
        let entries = EntriesPerProcess::Listed(entries.collect());
        Workload::locking(LockWorkload { pattern, entries, hold: Distribution::time_units(1) })
    }

    /// Creates a workload in which all processes start an election at the same time.
    pub fn elect_by_all() -> Self {
        Workload { initiators: Some(Initiators::All), ..Workload::default() }
    }

    /// Creates a workload in which the processes `initiators` start an election at the same time.
    pub fn elect_by(initiators: impl IntoIterator<Item = ProcessId>) -> Self {
        let initiators = Initiators::Listed(initiators.into_iter().collect());
        Workload { initiators: Some(initiators), ..Workload::default() }
    }

    /// Adds messages that users send to each other after their requests for the lock.
    #[must_use]
    pub fn with_background_traffic(mut self, background_traffic: BackgroundTraffic) -> Self {
        self.background_traffic = Some(background_traffic);
        self
    }
}

/// Requests for the lock in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct LockWorkload {
    /// Rule for the times of the requests.
    pub pattern: RequestPattern,
    /// Number of entries of each process. Ignored for the pattern [`RequestPattern::Sequential`],
    /// which has a total number.
    pub entries: EntriesPerProcess,
    /// Time that a process stays inside the critical section.
    pub hold: Distribution,
}

/// Rule for the times of the requests for the lock.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestPattern {
    /// Closed loop: each user thinks, requests the lock, holds it, and starts again.
    Closed {
        /// Time between an exit and the next request.
        think: Distribution,
    },
    /// Open loop: requests arrive at each process even if earlier requests are not served yet. A
    /// process issues its requests one after the other.
    Open {
        /// Time between two arrivals at the same process.
        every: Distribution,
    },
    /// One request at a time in the whole group. The process of each request is drawn uniformly.
    Sequential {
        /// Total number of entries.
        total: u64,
    },
}

/// Number of times that each process enters the critical section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntriesPerProcess {
    /// The same number for every process.
    Each(u32),
    /// One number per process, by index; 0 for processes that are not listed.
    Listed(Vec<u32>),
}

impl EntriesPerProcess {
    /// Returns the number of entries of `process`.
    pub fn of(&self, process: ProcessId) -> u32 {
        match self {
            EntriesPerProcess::Each(entries) => *entries,
            EntriesPerProcess::Listed(entries) => {
                entries.get(process.index()).copied().unwrap_or(0)
            }
        }
    }
}

/// Processes that request an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Initiators {
    /// All live processes.
    All,
    /// The listed processes, if they are live.
    Listed(Vec<ProcessId>),
}

/// Messages that users send to each other outside of the algorithm, after their requests for the
/// lock. After a user has received such a message, its next request is causally later than the
/// request of the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackgroundTraffic {
    /// Chance that a user sends a message after it has requested the lock. The receiver is drawn
    /// uniformly from the other users.
    pub send_chance: Chance,
    /// True if a message makes its receiver issue the next request at once. The message has this
    /// effect only under [`RequestPattern::Closed`], while the receiver neither waits for the lock
    /// nor holds it.
    pub triggers_request: bool,
    /// Latency of a message between users.
    pub latency: Distribution,
}

impl BackgroundTraffic {
    /// Creates traffic in which each user sends a message after each of its requests. The user that
    /// receives the message issues its own next request at once.
    pub const fn triggering_after_each_request(latency: Distribution) -> Self {
        BackgroundTraffic {
            send_chance: Chance::with_probability(1.0),
            triggers_request: true,
            latency,
        }
    }
}

impl Workload {
    pub(crate) fn check(&self, size: u32) -> Result<(), SettingsError> {
        if let Some(locking) = &self.locking {
            locking.hold.check("hold")?;
            match &locking.pattern {
                RequestPattern::Closed { think } => think.check("think")?,
                RequestPattern::Open { every } => every.check("arrivals")?,
                RequestPattern::Sequential { .. } => {}
            }
            if let EntriesPerProcess::Listed(entries) = &locking.entries
                && entries.len() as u64 > u64::from(size)
            {
                return Err(SettingsError::TooManyEntryCounts { size, listed: entries.len() });
            }
        }
        if let Some(Initiators::Listed(listed)) = &self.initiators {
            for process in listed {
                SettingsError::check_process("an initiator", *process, size)?;
            }
        }
        let Some(background_traffic) = &self.background_traffic else { return Ok(()) };
        background_traffic.latency.check("latency of background traffic")?;
        SettingsError::check_probability("background traffic", background_traffic.send_chance)
    }
}
