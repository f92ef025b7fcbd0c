//! What goes wrong in a run, and when.

use std::fmt;
use std::str::FromStr;

use tenure_core::ProcessId;
use tenure_trace::units::exact as units;

use crate::settings::refusal::SettingsError;
use crate::settings::span::parse_units;

/// How often something random happens to a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    /// The probability for each message, 0 to 1.
    pub probability: f64,
    /// At most this many times in a run; `None`: no limit.
    pub most: Option<u64>,
}

impl Chance {
    /// Never.
    pub const NEVER: Chance = Chance { probability: 0.0, most: None };

    /// With this probability for each message.
    pub const fn of(probability: f64) -> Self {
        Chance { probability, most: None }
    }

    /// With this probability, but only so many times in a run.
    pub const fn at_most(probability: f64, most: u64) -> Self {
        Chance { probability, most: Some(most) }
    }

    /// Whether it can happen at all.
    pub fn possible(&self) -> bool {
        self.probability > 0.0 && self.most != Some(0)
    }
}

/// One thing that goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A process crashes: it loses everything but its stable state.
    Crash {
        /// Who.
        process: ProcessId,
        /// When.
        when: When,
        /// Whether and how it comes back by itself.
        recovery: Option<Recovery>,
    },
    /// A crashed process comes back.
    Recover {
        /// Who.
        process: ProcessId,
        /// At which tick.
        at: u64,
        /// With what it remembers.
        memory: Memory,
    },
    /// Messages pass only within the two sides.
    Partition {
        /// One side; everybody else is on the other.
        side: Vec<ProcessId>,
        /// From this tick.
        from: u64,
        /// To this tick; `None`: for ever.
        until: Option<u64>,
    },
    /// The detector is wrong: it suspects a process that is alive.
    Suspicion {
        /// Who is told.
        observer: ProcessId,
        /// Of whom.
        peer: ProcessId,
        /// From this tick.
        from: u64,
        /// Until it is trusted again; `None`: for ever.
        until: Option<u64>,
    },
}

/// When a process crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At this tick.
    At(u64),
    /// When its n-th message arrives, which is lost with it; 1 is the first.
    OnMessage(u64),
    /// This many ticks after its n-th entry, if it is still inside.
    Inside {
        /// Which entry, from 1.
        entry: u64,
        /// How long after, in ticks.
        after: u64,
    },
    /// This many ticks after its n-th request, if it is still waiting.
    Waiting {
        /// Which request, from 1.
        request: u64,
        /// How long after, in ticks.
        after: u64,
    },
    /// In a step that changes what it saves.
    Saving {
        /// Which of these steps, from 1.
        save: u64,
        /// Whether it is saved, and nobody hears of it; else it is as if the step had not been
        /// taken, as what is torn is cut.
        is_kept: bool,
    },
}

impl FromStr for When {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Self, SettingsError> {
        let wrong = || SettingsError::Moment { text: text.to_owned() };
        let (event, after) = text.split_once('+').unwrap_or((text, "0"));
        let (event, number) = event.split_once(':').unwrap_or((event, "1"));
        let number = || number.parse().ok().filter(|number| *number > 0).ok_or_else(wrong);
        let after = parse_units(after).map_err(|_| wrong())?;
        match event {
            "saving" | "saved" if !text.contains('+') => {
                Ok(When::Saving { save: number()?, is_kept: event == "saved" })
            }
            "message" if !text.contains('+') => Ok(When::OnMessage(number()?)),
            "inside" => Ok(When::Inside { entry: number()?, after }),
            "waiting" => Ok(When::Waiting { request: number()?, after }),
            _ => parse_units(text).map(When::At).map_err(|_| wrong()),
        }
    }
}

/// How the command line writes it, behind the process.
impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (event, number, after) = match *self {
            When::At(at) => return f.write_str(&units(at)),
            When::OnMessage(number) => ("message", number, 0),
            When::Inside { entry, after } => ("inside", entry, after),
            When::Waiting { request, after } => ("waiting", request, after),
            When::Saving { save, is_kept: false } => ("saving", save, 0),
            When::Saving { save, is_kept: true } => ("saved", save, 0),
        };
        write!(f, "{event}:{number}")?;
        if after > 0 { write!(f, "+{}", units(after)) } else { Ok(()) }
    }
}

/// How a crashed process comes back by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// How long it is down, in ticks.
    pub after: u64,
    /// With what it remembers.
    pub memory: Memory,
}

/// What a process that comes back remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// What it had made stable.
    Stable,
    /// Nothing at all: as if it started for the first time.
    Lost,
}
