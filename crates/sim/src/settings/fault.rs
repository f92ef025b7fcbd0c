//! Faults of a run, and their times.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use tenure_core::ProcessId;
use tenure_trace::units::format_ticks_as_time_units as units;

use crate::settings::Settings;
use crate::settings::distribution::parse_bounded_time_units;
use crate::settings::error::SettingsError;

/// Chance of a random event for each message, such as its loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    /// Probability of the event for each message, from 0 to 1.
    pub probability: f64,
    /// Maximum number of occurrences of the event in a run; `None` for no limit.
    pub max_occurrences: Option<u64>,
}

impl Chance {
    /// Chance of an event that never occurs.
    pub const NEVER: Chance = Chance { probability: 0.0, max_occurrences: None };

    /// Creates the chance of an event that occurs with this probability for each message.
    pub const fn with_probability(probability: f64) -> Self {
        Chance { probability, max_occurrences: None }
    }

    /// Creates the chance of an event that occurs with this probability for each message, but at
    /// most `most` times in a run.
    pub const fn with_max_occurrences(probability: f64, most: u64) -> Self {
        Chance { probability, max_occurrences: Some(most) }
    }

    /// Returns true if the event can occur.
    pub fn can_occur(&self) -> bool {
        self.probability > 0.0 && self.max_occurrences != Some(0)
    }
}

/// A fault that is injected into a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A process crashes and loses everything except its stable state.
    Crash {
        /// Process that crashes.
        process: ProcessId,
        /// Event or time at which the process crashes.
        when: CrashTrigger,
        /// Automatic recovery after the crash. `None` if the process does not recover
        /// automatically.
        recovery: Option<AutomaticRecovery>,
    },
    /// A process that is down recovers. If the process is up at the time `at`, nothing happens.
    Recover {
        /// Process that recovers.
        process: ProcessId,
        /// Time of the recovery, in ticks.
        at: u64,
        /// State of the process after the recovery.
        memory: RecoveredState,
    },
    /// A partition into two sides. A message from one side to the other is lost if it leaves its
    /// sender or arrives during the partition.
    Partition {
        /// Processes on one side. All other processes are on the other side.
        side: Vec<ProcessId>,
        /// Time at which the partition begins, in ticks.
        from: u64,
        /// Time at which the partition heals, in ticks; `None` for never.
        until: Option<u64>,
    },
    /// The failure detector of a process suspects a live peer. If the process or the peer is down
    /// when the suspicion should begin or end, nothing happens then.
    Suspicion {
        /// Process whose failure detector suspects the peer.
        observer: ProcessId,
        /// Live process that is suspected.
        peer: ProcessId,
        /// Time at which the suspicion begins, in ticks.
        from: u64,
        /// Time at which the peer is trusted again, in ticks; `None` for never.
        until: Option<u64>,
    },
}

/// Event or time at which a process crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashTrigger {
    /// The process crashes at this time, in ticks.
    At(u64),
    /// The process crashes when a certain message arrives. The number counts the messages that
    /// arrive at the process, from 1. The process does not handle this message.
    OnMessage(u64),
    /// The process crashes while it sends the messages of a step. The number identifies the step:
    /// it counts the steps in which the process sends messages, from 1. Each message of this step
    /// to another process is lost with probability ½. The timers of this step do not start.
    Sending(u64),
    /// The process crashes inside the critical section, `after` ticks after it entered. If its user
    /// has requested the exit before this time, the process does not crash.
    Inside {
        /// Number of the entry into the critical section, from 1 for the first entry of the
        /// process.
        entry: u64,
        /// Time from the entry to the crash, in ticks.
        after: u64,
    },
    /// The process crashes while it waits for the critical section, `after` ticks after its
    /// request. If the process has entered before this time, it does not crash.
    Waiting {
        /// Number of the request, from 1 for the first request of the process.
        request: u64,
        /// Time from the request to the crash, in ticks.
        after: u64,
    },
    /// The process crashes while it saves a change of its stable state.
    Saving {
        /// Number of the save during which the process crashes, from 1. Each step that changes the
        /// stable state has one save.
        save: u64,
        /// True if the process crashes after the save. The saved state is then kept, and only the
        /// messages, events and timers of the step are lost. False if the process crashes during
        /// the save. The incomplete write is then discarded, and the whole step is lost.
        is_kept: bool,
    },
}

impl FromStr for CrashTrigger {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Self, SettingsError> {
        let wrong = || SettingsError::InvalidCrashTrigger { text: text.to_owned() };
        let (event, after) = text.split_once('+').unwrap_or((text, "0"));
        let (event, number) = event.split_once(':').unwrap_or((event, "1"));
        let number = || number.parse().ok().filter(|number| *number > 0).ok_or_else(wrong);
        let after = parse_bounded_time_units(after).map_err(|_| wrong())?;
        match event {
            "saving" | "saved" if !text.contains('+') => {
                Ok(CrashTrigger::Saving { save: number()?, is_kept: event == "saved" })
            }
            "message" if !text.contains('+') => Ok(CrashTrigger::OnMessage(number()?)),
            "sending" if !text.contains('+') => Ok(CrashTrigger::Sending(number()?)),
            "inside" => Ok(CrashTrigger::Inside { entry: number()?, after }),
            "waiting" => Ok(CrashTrigger::Waiting { request: number()?, after }),
            _ => parse_bounded_time_units(text).map(CrashTrigger::At).map_err(|_| wrong()),
        }
    }
}

/// Formats the trigger as on the command line, where it follows the number of the process.
impl fmt::Display for CrashTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (event, number, after) = match *self {
            CrashTrigger::At(at) => return f.write_str(&units(at)),
            CrashTrigger::OnMessage(number) => ("message", number, 0),
            CrashTrigger::Sending(number) => ("sending", number, 0),
            CrashTrigger::Inside { entry, after } => ("inside", entry, after),
            CrashTrigger::Waiting { request, after } => ("waiting", request, after),
            CrashTrigger::Saving { save, is_kept: false } => ("saving", save, 0),
            CrashTrigger::Saving { save, is_kept: true } => ("saved", save, 0),
        };
        write!(f, "{event}:{number}")?;
        if after > 0 { write!(f, "+{}", units(after)) } else { Ok(()) }
    }
}

/// Automatic recovery of a crashed process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutomaticRecovery {
    /// Time from the crash to the recovery, in ticks.
    pub downtime: u64,
    /// State of the process after the recovery.
    pub memory: RecoveredState,
}

/// State of a process after its recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveredState {
    /// The stable state that the process had saved before the crash.
    Stable,
    /// No state, as on the first boot of the process.
    Lost,
}

impl Settings {
    /// Returns the processes that cannot reach a majority because of partitions that never end.
    /// Only partitions that begin at `time` or earlier count. The settings must have passed
    /// [`Settings::check`].
    pub(crate) fn processes_cut_off_at(&self, time: u64) -> Vec<ProcessId> {
        let (sides, count) = self.partition_sides(|from, until| until.is_none() && from <= time);
        if count == 0 {
            return Vec::new();
        }
        let mut reachable: BTreeMap<u64, usize> = BTreeMap::new();
        for side in &sides {
            *reachable.entry(*side).or_default() += 1;
        }
        let cut_off =
            sides.iter().enumerate().filter(|(_, side)| reachable[side] * 2 <= sides.len());
        cut_off.map(|(place, _)| ProcessId::from_index(place)).collect()
    }

    /// Returns the processes that are down or cut off from a majority at the end, if each crash of
    /// these settings happens. A process with a [`Fault::Recover`] counts as up, unless it crashes
    /// at a configured time after the recovery. If the time of its crash is not configured, it
    /// counts as up.
    pub(crate) fn processes_that_stay_down(&self) -> BTreeSet<ProcessId> {
        let mut down: BTreeSet<ProcessId> = self.down.iter().copied().collect();
        for fault in &self.faults {
            if let Fault::Crash { process, recovery: None, .. } = fault {
                down.insert(*process);
            }
        }
        let last_crash = |who: ProcessId| {
            let crashes = self.faults.iter().filter_map(|fault| match fault {
                Fault::Crash { process, when: CrashTrigger::At(at), recovery: None }
                    if *process == who =>
                {
                    Some(*at)
                }
                _ => None,
            });
            crashes.max()
        };
        for fault in &self.faults {
            if let Fault::Recover { process, at, .. } = fault
                && last_crash(*process).is_none_or(|crash| crash <= *at)
            {
                down.remove(process);
            }
        }
        down.extend(self.processes_cut_off_at(u64::MAX));
        down
    }

    /// Returns a set of bits for each process, and the number of selected partitions. `is_selected`
    /// receives the beginning and the end of a partition, in ticks; the end is `None` if the
    /// partition never ends. Bit *i* of a process is set if the process is on the first side of the
    /// selected partition *i*. Two processes can reach each other if their sets are equal. The
    /// settings must have passed [`Settings::check`].
    pub(crate) fn partition_sides(
        &self,
        is_selected: impl Fn(u64, Option<u64>) -> bool,
    ) -> (Vec<u64>, usize) {
        let (mut sides, mut count) = (vec![0; self.size as usize], 0);
        for fault in &self.faults {
            if let Fault::Partition { side, from, until } = fault
                && is_selected(*from, *until)
            {
                side.iter().for_each(|process| sides[process.index()] |= 1 << count);
                count += 1;
            }
        }
        (sides, count)
    }
}
