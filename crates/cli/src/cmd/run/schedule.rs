//! Parses the schedule of faults. A fault at one time is written as `leader@2s`, `inside@2s` or
//! `3@1s`. A fault in an interval is written as `2@1s..3s` or, for several targets,
//! `1,leader@1s..3s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tenure_core::ProcessId;

use crate::cmd::duration;

/// Target of a scheduled action. An action is a fault, such as a kill, or the end of a fault, such
/// as a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultTarget {
    /// Process that leads when the fault occurs. If no leader is known, the fault waits. A restart
    /// applies to the process on which an earlier fault with this target occurred.
    Leader,
    /// Process that enters the critical section next, after the time of the action has come. The
    /// fault occurs while this process holds the lock. A restart applies to the process on which an
    /// earlier fault with this target occurred.
    Inside,
    Process(ProcessId),
    All,
}

impl fmt::Display for FaultTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultTarget::Leader => f.write_str("leader"),
            FaultTarget::Inside => f.write_str("inside"),
            FaultTarget::Process(process) => write!(f, "{}", process.display_number()),
            FaultTarget::All => f.write_str("all"),
        }
    }
}

impl FromStr for FaultTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<u32>() {
            Ok(number) if number > 0 => Ok(FaultTarget::Process(ProcessId(number - 1))),
            _ if text == "leader" => Ok(FaultTarget::Leader),
            _ if text == "inside" => Ok(FaultTarget::Inside),
            _ if text == "all" => Ok(FaultTarget::All),
            _ => Err(format!("expected leader, inside, all or a number from 1, found '{text}'")),
        }
    }
}

/// A target and the time of the action, written as `leader@2s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimedTarget {
    pub(super) target: FaultTarget,
    pub(super) at: Duration,
}

impl TimedTarget {
    pub(super) const fn leader_at(seconds: u64) -> Self {
        TimedTarget { target: FaultTarget::Leader, at: Duration::from_secs(seconds) }
    }
}

impl fmt::Display for TimedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.target, duration::format(self.at))
    }
}

impl FromStr for TimedTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = "expected a process and a time, such as leader@2s or 3@1s";
        let (target, at) = text.split_once('@').ok_or(invalid)?;
        Ok(TimedTarget { target: target.parse()?, at: duration::parse(at)? })
    }
}

/// Target of a fault, and the interval in which the fault exists, written as `2@1s..3s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FaultInterval {
    pub(super) target: FaultTarget,
    pub(super) from: Duration,
    pub(super) until: Duration,
}

impl fmt::Display for FaultInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FaultInterval { target, from, until } = self;
        write!(f, "{target}@{}..{}", duration::format(*from), duration::format(*until))
    }
}

impl FromStr for FaultInterval {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (target, from, until) = parse_interval(text, "2@1s..3s")?;
        Ok(FaultInterval { target: target.parse()?, from, until })
    }
}

/// A partition of some processes from all others in an interval, written as `1,2@1s..3s` or
/// `leader@2s..5s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartitionSpec {
    /// Targets on one side of the partition; all other processes are on the other side.
    pub(super) side: Vec<FaultTarget>,
    pub(super) from: Duration,
    pub(super) until: Duration,
}

impl fmt::Display for PartitionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PartitionSpec { side, from, until } = self;
        let side: Vec<String> = side.iter().map(FaultTarget::to_string).collect();
        let (from, until) = (duration::format(*from), duration::format(*until));
        write!(f, "--partition {}@{from}..{until}", side.join(","))
    }
}

impl FromStr for PartitionSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (side, from, until) = parse_interval(text, "1,2@1s..3s")?;
        let side: Result<Vec<FaultTarget>, String> = side.split(',').map(str::parse).collect();
        Ok(PartitionSpec { side: side?, from, until })
    }
}

/// Splits text such as `1,2@1s..3s` into the text of the targets, the start and the end. `example`
/// is a valid text, which error messages show.
fn parse_interval<'a>(
    text: &'a str,
    example: &str,
) -> Result<(&'a str, Duration, Duration), String> {
    let invalid = || format!("expected processes and an interval, such as {example}");
    let (target_text, times) = text.split_once('@').ok_or_else(invalid)?;
    let (from, until) = times.split_once("..").ok_or_else(invalid)?;
    if until.is_empty() {
        return Err(invalid());
    }
    let (from, until) = (duration::parse(from)?, duration::parse(until)?);
    if until <= from {
        return Err(format!("expected an end after the start, such as {example}"));
    }
    Ok((target_text, from, until))
}

/// Kind of a scheduled action on processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScheduledActionKind {
    /// Kills the process by SIGKILL.
    Kill,
    /// Sends SIGTERM. The process transfers leadership and leaves the cluster.
    Leave,
    /// Suspends the process by SIGSTOP, and resumes it by SIGCONT after this duration.
    Pause(Duration),
    /// Restarts a process that is down, with its saved state.
    Restart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScheduledAction {
    pub(super) at: Duration,
    pub(super) target: FaultTarget,
    pub(super) kind: ScheduledActionKind,
    /// True for a default action, which the user did not request. If all work is complete, the run
    /// does not wait for a default action, except for the restart of a leader that was killed.
    pub(super) is_default: bool,
}

impl ScheduledAction {
    pub(super) fn kill(moment: TimedTarget, is_default: bool) -> Self {
        ScheduledAction {
            at: moment.at,
            target: moment.target,
            kind: ScheduledActionKind::Kill,
            is_default,
        }
    }

    pub(super) fn leave(moment: TimedTarget) -> Self {
        ScheduledAction {
            at: moment.at,
            target: moment.target,
            kind: ScheduledActionKind::Leave,
            is_default: false,
        }
    }

    pub(super) fn restart(moment: TimedTarget, is_default: bool) -> Self {
        ScheduledAction {
            at: moment.at,
            target: moment.target,
            kind: ScheduledActionKind::Restart,
            is_default,
        }
    }

    pub(super) fn pause(pause: FaultInterval) -> Self {
        let FaultInterval { target, from, until } = pause;
        ScheduledAction {
            at: from,
            target,
            kind: ScheduledActionKind::Pause(until - from),
            is_default: false,
        }
    }

    /// Returns the end of the pause for a pause, and the time of the action for other actions.
    pub(super) fn end_time(&self) -> Duration {
        match self.kind {
            ScheduledActionKind::Pause(length) => self.at + length,
            ScheduledActionKind::Kill
            | ScheduledActionKind::Leave
            | ScheduledActionKind::Restart => self.at,
        }
    }
}

impl fmt::Display for ScheduledAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScheduledAction { at, target, kind, .. } = *self;
        match kind {
            ScheduledActionKind::Kill => write!(f, "--kill {}", TimedTarget { target, at }),
            ScheduledActionKind::Leave => write!(f, "--leave {}", TimedTarget { target, at }),
            ScheduledActionKind::Restart => write!(f, "--restart {}", TimedTarget { target, at }),
            ScheduledActionKind::Pause(length) => {
                write!(f, "--pause {}", FaultInterval { target, from: at, until: at + length })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedule_round_trips() {
        for text in ["leader@2s", "inside@2s", "3@250ms", "all@1.5s"] {
            assert_eq!(text.parse::<TimedTarget>().unwrap().to_string(), text);
        }
        for text in ["2@1s..3s", "leader@500ms..1.5s", "inside@1s..3s"] {
            assert_eq!(text.parse::<FaultInterval>().unwrap().to_string(), text);
        }
        for text in ["1,2@1s..3s", "leader@500ms..1.5s", "3,leader@1s..2s"] {
            let partition: PartitionSpec = text.parse().unwrap();
            assert_eq!(partition.to_string(), format!("--partition {text}"));
        }
    }

    #[test]
    fn rejects_invalid_schedules_in_one_line() {
        for text in ["", "leader", "0@1s", "-1@1s", "leader@", "leader@2", "boss@2s", "1@1s..2s"] {
            let error = text.parse::<TimedTarget>().unwrap_err();
            assert!(error.contains("expected") && !error.contains('\n'), "{error}");
        }
        for text in ["2@1s", "2@3s..1s", "2@1s..1s", "@1s..2s", "2@..2s"] {
            assert!(text.parse::<FaultInterval>().is_err(), "{text}");
        }
        for text in ["2", "2@1s", "2@1s..", "2,@1s..2s", "boss@1s..2s", "1,2@3s..1s"] {
            let error = text.parse::<PartitionSpec>().unwrap_err();
            assert!(error.contains("expected") && !error.contains('\n'), "{error}");
        }
    }
}
