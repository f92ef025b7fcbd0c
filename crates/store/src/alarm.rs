//! Alarms. While an alarm is active, the store rejects some commands. An operator clears the alarm.

use alloc::collections::BTreeSet;

/// Kind of an alarm that a member raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Alarm {
    /// The store has reached its quota. While this alarm is active, the store rejects commands that
    /// put keys or grant leases.
    NoSpace,
}

/// Change that activates or clears an alarm of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AlarmChange {
    /// ID of the member that the alarm concerns, as clients of etcd know it.
    pub member: u64,
    /// Kind of the alarm.
    pub alarm: Alarm,
    /// True to activate the alarm, false to clear it.
    pub activates: bool,
}

/// Active alarms. Each has the ID of the member that it concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct ActiveAlarms(BTreeSet<(u64, Alarm)>);

impl ActiveAlarms {
    /// Applies a change. Returns true if the state of the alarm has changed.
    pub(crate) fn apply(&mut self, change: AlarmChange) -> bool {
        let alarm = (change.member, change.alarm);
        if change.activates { self.0.insert(alarm) } else { self.0.remove(&alarm) }
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (u64, Alarm)> {
        self.0.iter().copied()
    }

    /// Returns true if an active alarm makes the store reject commands that put keys or grant
    /// leases.
    pub(crate) fn has_nospace_alarm(&self) -> bool {
        self.0.iter().any(|(_, alarm)| *alarm == Alarm::NoSpace)
    }
}
