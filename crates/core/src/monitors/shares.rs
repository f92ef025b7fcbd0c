//! Monitors of shared locks.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::Fence;
use crate::service::shares::{Command, Event, LockShare};

/// Monitor of shared locks. A process holds either a part of the lock or the whole lock. While a
/// process holds the whole lock, no other process holds a part or the whole. Each holder may state
/// a limit, and the number of holders never exceeds the limit of any holder. A process that crashes
/// is no longer a holder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ShareExclusion {
    /// For each holder: its share, and the limit that the holder reported. The share is a part or
    /// the whole. The limit is the maximum number of holders.
    holders: BTreeMap<ProcessId, (LockShare, Option<u32>)>,
}

/// Monitor of the fences of a shared lock. If the shares of two holders exclude each other, the
/// later holder has the higher fence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ShareFencing {
    /// Highest fence with which a process has held a part of the lock; `None` if no process has.
    part: Option<Fence>,
    /// Highest fence with which a process has held the whole lock; `None` if no process has.
    whole: Option<Fence>,
}

impl Monitor<Command, Event> for ShareExclusion {
    fn property(&self) -> Property {
        Property::SessionExclusion
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Event(Event::Locked { share, limit, .. }) => {
                let excludes = |other: LockShare| [*share, other].contains(&LockShare::Whole);
                let mut others = self.holders.iter();
                if let Some((peer, (theirs, _))) = others.find(|(_, it)| excludes(it.0)) {
                    return violated(at, format!("{at} holds {share} while {peer} holds {theirs}"));
                }
                self.holders.insert(at, (*share, *limit));
                let limits = self.holders.values().filter_map(|(_, limit)| *limit);
                if let Some(limit) = limits.min()
                    && self.holders.len() > limit as usize
                {
                    let held = self.holders.len();
                    let message = format!("{at} holds a part: {held} are held, at most {limit}");
                    return violated(at, message);
                }
            }
            Observation::Event(Event::Unlocked) | Observation::Crashed | Observation::Recovered => {
                self.holders.remove(&at);
            }
            Observation::Command { .. } | Observation::Sent { .. } => {}
        }
        Ok(())
    }
}

impl Monitor<Command, Event> for ShareFencing {
    fn property(&self) -> Property {
        Property::Fencing
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        let Observation::Event(Event::Locked { share, fence, .. }) = seen else { return Ok(()) };
        let (highest, own) = match share {
            LockShare::Part => (self.whole, &mut self.part),
            LockShare::Whole => (self.whole.max(self.part), &mut self.whole),
        };
        if let Some(highest) = highest
            && *fence <= highest
        {
            let message = format!("{at} holds {share} with fence {fence}, after fence {highest}");
            return violated(at, message);
        }
        *own = (*own).max(Some(*fence));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(share: LockShare, limit: Option<u32>, fence: u64) -> Event {
        Event::Locked { share, limit, fence: Fence(0, fence) }
    }

    fn judge(monitor: &mut impl Monitor<Command, Event>, at: u32, event: &Event) -> MonitorResult {
        monitor.observe(ProcessId(at), Observation::Event(event))
    }

    #[test]
    fn whole_lock_excludes_every_other_holder() {
        let (part, whole) = (locked(LockShare::Part, None, 1), locked(LockShare::Whole, None, 1));
        for (first, second) in [(part, whole), (whole, part), (whole, whole)] {
            let mut monitor = ShareExclusion::default();
            assert_eq!(judge(&mut monitor, 0, &first), Ok(()));
            assert!(judge(&mut monitor.clone(), 1, &second).is_err());
            assert_eq!(judge(&mut monitor, 0, &Event::Unlocked), Ok(()));
            assert_eq!(judge(&mut monitor, 1, &second), Ok(()));
        }
        let mut readers = ShareExclusion::default();
        assert!((0..3).all(|at| judge(&mut readers, at, &part).is_ok()));
        let message = judge(&mut readers, 3, &whole).expect_err("readers hold it").message;
        assert_eq!(message, "P4 holds the whole lock while P1 holds a part");
    }

    #[test]
    fn permits_are_limited_and_freed_by_crash() {
        let permit = locked(LockShare::Part, Some(2), 1);
        let mut monitor = ShareExclusion::default();
        assert!((0..2).all(|at| judge(&mut monitor, at, &permit).is_ok()));
        let message = judge(&mut monitor.clone(), 2, &permit).expect_err("a third one").message;
        assert_eq!(message, "P3 holds a part: 3 are held, at most 2");
        assert_eq!(monitor.observe(ProcessId(0), Observation::Crashed), Ok(()));
        assert_eq!(judge(&mut monitor, 2, &permit), Ok(()));
    }

    #[test]
    fn fences_grow_between_holders_that_exclude_each_other() {
        use LockShare::{Part, Whole};
        let fences = |holds: &[(LockShare, u64)]| {
            let mut monitor = ShareFencing::default();
            let mut holds = holds.iter();
            holds
                .all(|(share, fence)| judge(&mut monitor, 0, &locked(*share, None, *fence)).is_ok())
        };
        assert!(fences(&[(Part, 5), (Part, 4), (Whole, 6), (Part, 8), (Part, 7), (Whole, 9)]));
        assert!(!fences(&[(Whole, 6), (Part, 6)]));
        assert!(!fences(&[(Part, 6), (Whole, 5)]));
        assert!(!fences(&[(Part, 5), (Part, 4), (Whole, 5)]));
        assert!(!fences(&[(Whole, 6), (Whole, 5)]));
    }
}
