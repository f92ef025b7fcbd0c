use tenure_core::ProcessId;

use crate::settings::fault::Chance;
use crate::settings::refusal::SettingsError;
use crate::settings::span::Span;

/// What the users ask of the algorithm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Who asks for the lock, and how often; of a service of agreement, how often each user asks.
    pub locking: Option<Locking>,
    /// Who starts an election, all before any message is delivered.
    pub initiators: Option<Initiators>,
    /// What users tell each other, past the algorithm.
    pub chatter: Option<Chatter>,
}

impl Workload {
    /// Every process enters `entries` times, all asking at once and again at once after each
    /// exit, and stays inside for one unit.
    pub fn entries(entries: u32) -> Self {
        let pattern = Pattern::Closed { think: Span::ZERO };
        let entries = Entries::Each(entries);
        Workload::locking(Locking { pattern, entries, hold: Span::units(1) })
    }

    /// This use of the lock and nothing else.
    pub fn locking(locking: Locking) -> Self {
        Workload { locking: Some(locking), ..Workload::default() }
    }

    /// `total` entries by processes drawn uniformly, each requested when the last one has left
    /// and its messages have arrived.
    pub fn sequential(total: u64) -> Self {
        let pattern = Pattern::Sequential { total };
        Workload::locking(Locking { pattern, entries: Entries::Each(0), hold: Span::units(1) })
    }

    /// One process enters `hot` times, each other one `others` times.
    pub fn hot(size: u32, process: ProcessId, hot: u32, others: u32) -> Self {
        let entries = (0..size).map(|place| if place == process.0 { hot } else { others });
        let pattern = Pattern::Closed { think: Span::ZERO };
        let entries = Entries::Listed(entries.collect());
        Workload::locking(Locking { pattern, entries, hold: Span::units(1) })
    }

    /// Everybody starts an election at once.
    pub fn elect() -> Self {
        Workload { initiators: Some(Initiators::All), ..Workload::default() }
    }

    /// These processes start an election at once.
    pub fn elect_by(initiators: impl IntoIterator<Item = ProcessId>) -> Self {
        let initiators = Initiators::Listed(initiators.into_iter().collect());
        Workload { initiators: Some(initiators), ..Workload::default() }
    }

    /// The same, with users who also talk to each other.
    #[must_use]
    pub fn with_chatter(mut self, chatter: Chatter) -> Self {
        self.chatter = Some(chatter);
        self
    }
}

/// Who asks for the lock, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Locking {
    /// What decides when a process asks.
    pub pattern: Pattern,
    /// How often each process enters. A sequential pattern has its own total.
    pub entries: Entries,
    /// How long a process stays inside.
    pub hold: Span,
}

/// What decides when a process asks for the lock.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Think, ask, hold, and again: the next request waits for the last entry to end.
    Closed {
        /// How long a process thinks before each request.
        think: Span,
    },
    /// Requests arrive at each process whether or not the last one was served; a process works
    /// them off one after the other.
    Open {
        /// The time from one arrival at a process to the next there.
        every: Span,
    },
    /// One request at a time in the whole group, by processes drawn uniformly.
    Sequential {
        /// How many.
        total: u64,
    },
}

/// How often each process enters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Every process this often.
    Each(u32),
    /// By process; those that are not listed never.
    Listed(Vec<u32>),
}

impl Entries {
    /// How often `process` enters.
    pub fn of(&self, process: ProcessId) -> u32 {
        match self {
            Entries::Each(entries) => *entries,
            Entries::Listed(entries) => entries.get(process.index()).copied().unwrap_or(0),
        }
    }
}

/// Who starts an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Initiators {
    /// Everybody who is up.
    All,
    /// These, as far as they are up.
    Listed(Vec<ProcessId>),
}

/// What users tell each other past the algorithm, so that one request can happen before another
/// through the application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chatter {
    /// Whether a user who has just asked to enter tells one other, drawn uniformly.
    pub tell: Chance,
    /// Whether a user who is told, has entries left and is thinking asks to enter at once.
    pub react: bool,
    /// How long such a message takes.
    pub latency: Span,
}

impl Chatter {
    /// Every request is told to somebody, who reacts; telling takes as long as given.
    pub const fn always(latency: Span) -> Self {
        Chatter { tell: Chance::of(1.0), react: true, latency }
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
        let Some(chatter) = &self.chatter else { return Ok(()) };
        chatter.latency.check("chatter's latency")?;
        SettingsError::probability("telling", chatter.tell)
    }
}
