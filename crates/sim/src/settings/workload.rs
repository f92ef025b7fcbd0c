use tenure_core::ProcessId;

use crate::settings::distribution::Distribution;
use crate::settings::error::SettingsError;
use crate::settings::fault::Chance;

/// Requests of the users.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Requests for the lock; for an agreement service, the number of commands per user.
    pub locking: Option<Locking>,
    /// Processes that start an election, before any message is delivered.
    pub initiators: Option<Initiators>,
    /// Messages between users, outside the algorithm.
    pub background_traffic: Option<BackgroundTraffic>,
}

impl Workload {
    /// Creates a workload in which every process enters `entries` times. All request at the same
    /// time, again after each exit, and stay inside for one unit.
    pub fn entries(entries: u32) -> Self {
        let pattern = Pattern::Closed { think: Distribution::ZERO };
        let entries = Entries::Each(entries);
        Workload::locking(Locking { pattern, entries, hold: Distribution::units(1) })
    }

    /// Creates a workload of lock requests only.
    pub fn locking(locking: Locking) -> Self {
        Workload { locking: Some(locking), ..Workload::default() }
    }

    /// Creates a workload of `total` entries by uniformly drawn processes. Each is requested when
    /// the last one has ended and its messages have arrived.
    pub fn sequential(total: u64) -> Self {
        let pattern = Pattern::Sequential { total };
        Workload::locking(Locking {
            pattern,
            entries: Entries::Each(0),
            hold: Distribution::units(1),
        })
    }

    /// Creates a workload in which one process enters `hot` times and the others `others` times.
    pub fn hot(size: u32, process: ProcessId, hot: u32, others: u32) -> Self {
        let entries = (0..size).map(|place| if place == process.0 { hot } else { others });
        let pattern = Pattern::Closed { think: Distribution::ZERO };
        let entries = Entries::Listed(entries.collect());
        Workload::locking(Locking { pattern, entries, hold: Distribution::units(1) })
    }

    /// Creates a workload in which all processes start an election at the same time.
    pub fn elect() -> Self {
        Workload { initiators: Some(Initiators::All), ..Workload::default() }
    }

    /// Creates a workload in which these processes start an election at the same time.
    pub fn elect_by(initiators: impl IntoIterator<Item = ProcessId>) -> Self {
        let initiators = Initiators::Listed(initiators.into_iter().collect());
        Workload { initiators: Some(initiators), ..Workload::default() }
    }

    /// Adds messages between users.
    #[must_use]
    pub fn with_background_traffic(mut self, background_traffic: BackgroundTraffic) -> Self {
        self.background_traffic = Some(background_traffic);
        self
    }
}

/// Requests for the lock.
#[derive(Clone, Debug, PartialEq)]
pub struct Locking {
    /// Times of the requests.
    pub pattern: Pattern,
    /// Number of entries by process. A sequential pattern ignores it and has its own total.
    pub entries: Entries,
    /// Time that a process stays inside.
    pub hold: Distribution,
}

/// Times of the requests for the lock.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Closed loop: think, request, hold, and repeat.
    Closed {
        /// Time between an exit and the next request.
        think: Distribution,
    },
    /// Open loop: requests arrive at each process whether or not the last one was served. A process
    /// handles them one after the other.
    Open {
        /// Time between arrivals at a process.
        every: Distribution,
    },
    /// One request at a time in the whole group, by uniformly drawn processes.
    Sequential {
        /// Total number of entries.
        total: u64,
    },
}

/// Number of entries by process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entries {
    /// The same for every process.
    Each(u32),
    /// One number per process; 0 for processes that are not listed.
    Listed(Vec<u32>),
}

impl Entries {
    /// Returns the number of entries of `process`.
    pub fn of(&self, process: ProcessId) -> u32 {
        match self {
            Entries::Each(entries) => *entries,
            Entries::Listed(entries) => entries.get(process.index()).copied().unwrap_or(0),
        }
    }
}

/// Processes that start an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Initiators {
    /// All live processes.
    All,
    /// The listed processes, if they are live.
    Listed(Vec<ProcessId>),
}

/// Messages between users outside the algorithm. They can make one request happen before another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackgroundTraffic {
    /// Chance that a user sends a message to one other, drawn uniformly, after a request.
    pub tell: Chance,
    /// True if a receiver that is thinking and has entries left issues a request immediately.
    pub react: bool,
    /// Latency of such a message.
    pub latency: Distribution,
}

impl BackgroundTraffic {
    /// Creates traffic in which every request causes a message and a reaction.
    pub const fn always(latency: Distribution) -> Self {
        BackgroundTraffic { tell: Chance::of(1.0), react: true, latency }
    }
}

impl Workload {
    pub(crate) fn check(&self, size: u32) -> Result<(), SettingsError> {
        if let Some(locking) = &self.locking {
            locking.hold.check("hold")?;
            match &locking.pattern {
                Pattern::Closed { think } => think.check("think")?,
                Pattern::Open { every } => every.check("arrivals")?,
                Pattern::Sequential { .. } => {}
            }
            if let Entries::Listed(entries) = &locking.entries
                && entries.len() as u64 > u64::from(size)
            {
                return Err(SettingsError::Entries { size, listed: entries.len() });
            }
        }
        if let Some(Initiators::Listed(listed)) = &self.initiators {
            for process in listed {
                SettingsError::known("an initiator", *process, size)?;
            }
        }
        let Some(background_traffic) = &self.background_traffic else { return Ok(()) };
        background_traffic.latency.check("latency of background traffic")?;
        SettingsError::probability("background traffic", background_traffic.tell)
    }
}
