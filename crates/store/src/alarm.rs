//! Alarms: conditions that restrict what the store accepts until an operator clears them.

use alloc::collections::BTreeSet;

/// A condition that a member reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Alarm {
    /// The store has reached its quota: while this alarm is active, commands that add keys or
    /// leases are rejected.
    NoSpace,
}

/// Activates or clears the alarm of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AlarmChange {
    /// Number of the member that the alarm belongs to.
    pub member: u64,
    /// Condition of the alarm.
    pub alarm: Alarm,
    /// True to activate the alarm, false to clear it.
    pub is_active: bool,
}

/// Active alarms, each with the number of its member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Alarms(BTreeSet<(u64, Alarm)>);

impl Alarms {
    /// Applies a change and returns true if it changed something.
    pub(crate) fn change(&mut self, change: AlarmChange) -> bool {
        let alarm = (change.member, change.alarm);
        if change.is_active { self.0.insert(alarm) } else { self.0.remove(&alarm) }
    }

    /// Returns the active alarms, by the number of their member.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (u64, Alarm)> {
        self.0.iter().copied()
    }

    /// True if the store accepts nothing that makes it larger.
    pub(crate) fn is_full(&self) -> bool {
        self.0.iter().any(|(_, alarm)| *alarm == Alarm::NoSpace)
    }
}
