//! What is done to whom and when: `leader@2s`, `inside@2s`, `3@1s`, `2@1s..3s`, `1,leader@1s..3s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tenure_core::ProcessId;

use crate::cmd::duration;

/// To whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Whoever leads at that moment; of a restart, whoever was killed as the leader.
    Leader,
    /// The process that holds the lock at that moment or, if none does, the next one that enters;
    /// of a restart, the one that was killed inside.
    Inside,
    /// This process.
    Process(ProcessId),
    /// Everybody, at once.
    All,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Leader => f.write_str("leader"),
            Target::Inside => f.write_str("inside"),
            Target::Process(process) => write!(f, "{}", process.number()),
            Target::All => f.write_str("all"),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<u32>() {
            Ok(number) if number > 0 => Ok(Target::Process(ProcessId(number - 1))),
            _ if text == "leader" => Ok(Target::Leader),
            _ if text == "inside" => Ok(Target::Inside),
            _ if text == "all" => Ok(Target::All),
            _ => Err(format!(
                "`{text}` is no process; write leader, inside, all, or a number from 1"
            )),
        }
    }
}

/// Somebody at some time: `leader@2s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) target: Target,
    pub(super) at: Duration,
}

impl Moment {
    pub(super) const fn leader_at(seconds: u64) -> Self {
        Moment { target: Target::Leader, at: Duration::from_secs(seconds) }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.target, duration::show(self.at))
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("`{text}` says not who and when; write leader@2s or 3@1s");
        let (target, at) = text.split_once('@').ok_or_else(fault)?;
        Ok(Moment { target: target.parse()?, at: duration::parse(at)? })
    }
}

/// Somebody for some time: `2@1s..3s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) target: Target,
    pub(super) from: Duration,
    pub(super) until: Duration,
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pause { target, from, until } = self;
        write!(f, "{target}@{}..{}", duration::show(*from), duration::show(*until))
    }
}

impl FromStr for Pause {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (target, from, until) = for_a_time(text, "2@1s..3s")?;
        Ok(Pause { target: target.parse()?, from, until })
    }
}

/// Some apart from all others for some time: `1,2@1s..3s`, `leader@2s..5s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// One side; everybody else is on the other.
    pub(super) side: Vec<Target>,
    pub(super) from: Duration,
    pub(super) until: Duration,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cut { side, from, until } = self;
        let side: Vec<String> = side.iter().map(Target::to_string).collect();
        let (from, until) = (duration::show(*from), duration::show(*until));
        write!(f, "--partition {}@{from}..{until}", side.join(","))
    }
}

impl FromStr for Cut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (side, from, until) = for_a_time(text, "1,2@1s..3s")?;
        let side: Result<Vec<Target>, String> = side.split(',').map(str::parse).collect();
        Ok(Cut { side: side?, from, until })
    }
}

/// Who, from when and until when, as in the example.
fn for_a_time<'a>(text: &'a str, example: &str) -> Result<(&'a str, Duration, Duration), String> {
    let fault = || format!("`{text}` says not who, from when and until when; write {example}");
    let (who, times) = text.split_once('@').ok_or_else(fault)?;
    let (from, until) = times.split_once("..").ok_or_else(fault)?;
    if until.is_empty() {
        return Err(fault());
    }
    let (from, until) = (duration::parse(from)?, duration::parse(until)?);
    if until <= from {
        return Err(format!("`{text}` ends before it begins; write {example}"));
    }
    Ok((who, from, until))
}

/// The shortest and the longest election timeout: `150ms..300ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timeouts {
    pub(super) least: Duration,
    pub(super) most: Duration,
}

impl FromStr for Timeouts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("`{text}` is no range of timeouts; write 150ms..300ms");
        let (least, most) = text.split_once("..").ok_or_else(fault)?;
        let (least, most) = (duration::parse(least)?, duration::parse(most)?);
        if least < Duration::from_millis(4) || most < least {
            return Err(fault());
        }
        Ok(Timeouts { least, most })
    }
}

/// What the parent does to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// SIGKILL.
    Kill,
    /// SIGTERM: it hands over what it leads, and says goodbye.
    Leave,
    /// SIGSTOP, and SIGCONT after this time.
    Pause(Duration),
    /// Started again, with what it had saved.
    Restart,
}

/// Something to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Action {
    pub(super) at: Duration,
    pub(super) target: Target,
    pub(super) deed: Deed,
    /// Nobody asked for it: it is left out when the work is done before.
    pub(super) by_default: bool,
}

impl Action {
    pub(super) fn kill(moment: Moment, by_default: bool) -> Self {
        Action { at: moment.at, target: moment.target, deed: Deed::Kill, by_default }
    }

    pub(super) fn leave(moment: Moment) -> Self {
        Action { at: moment.at, target: moment.target, deed: Deed::Leave, by_default: false }
    }

    pub(super) fn restart(moment: Moment, by_default: bool) -> Self {
        Action { at: moment.at, target: moment.target, deed: Deed::Restart, by_default }
    }

    pub(super) fn pause(pause: Pause) -> Self {
        let Pause { target, from, until } = pause;
        Action { at: from, target, deed: Deed::Pause(until - from), by_default: false }
    }

    /// When it is over.
    pub(super) fn end(&self) -> Duration {
        match self.deed {
            Deed::Pause(length) => self.at + length,
            Deed::Kill | Deed::Leave | Deed::Restart => self.at,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Action { at, target, deed, .. } = *self;
        match deed {
            Deed::Kill => write!(f, "--kill {}", Moment { target, at }),
            Deed::Leave => write!(f, "--leave {}", Moment { target, at }),
            Deed::Restart => write!(f, "--restart {}", Moment { target, at }),
            Deed::Pause(length) => {
                write!(f, "--pause {}", Pause { target, from: at, until: at + length })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_pauses_are_read_as_they_are_shown() {
        for text in ["leader@2s", "inside@2s", "3@250ms", "all@1.5s"] {
            assert_eq!(text.parse::<Moment>().unwrap().to_string(), text);
        }
        for text in ["2@1s..3s", "leader@500ms..1.5s", "inside@1s..3s"] {
            assert_eq!(text.parse::<Pause>().unwrap().to_string(), text);
        }
        for text in ["1,2@1s..3s", "leader@500ms..1.5s", "3,leader@1s..2s"] {
            let cut: Cut = text.parse().unwrap();
            assert_eq!(cut.to_string(), format!("--partition {text}"));
        }
    }

    #[test]
    fn anything_else_is_refused_in_one_line() {
        for text in ["", "leader", "0@1s", "-1@1s", "leader@", "leader@2", "boss@2s", "1@1s..2s"] {
            let says = text.parse::<Moment>().unwrap_err();
            assert!(says.contains('`') && !says.contains('\n'), "{says}");
        }
        for text in ["2@1s", "2@3s..1s", "2@1s..1s", "@1s..2s", "2@..2s"] {
            assert!(text.parse::<Pause>().is_err(), "{text}");
        }
        for text in ["2", "2@1s", "2@1s..", "2,@1s..2s", "boss@1s..2s", "1,2@3s..1s"] {
            let says = text.parse::<Cut>().unwrap_err();
            assert!(says.contains('`') && !says.contains('\n'), "{says}");
        }
    }
}
