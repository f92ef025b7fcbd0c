//! Steps of the schedule that are not performed yet.

use std::time::Duration;

use super::plan::{FaultAction, ServiceRunPlan, TimedFaultAction};
use crate::cmd::run::schedule::FaultTarget;

/// Steps that are not performed yet, in the order of their times. A step whose leader is not known
/// waits. Steps on certain members do not wait for it.
#[derive(Debug)]
pub(super) struct StepQueue(Vec<QueuedStep>);

#[derive(Debug)]
struct QueuedStep {
    step: TimedFaultAction,
    /// True if the leader is or may be a target of the step.
    concerns_leader: bool,
}

impl StepQueue {
    pub(super) fn new(plan: &ServiceRunPlan) -> Self {
        let queued = |step: &TimedFaultAction| {
            let is_leader = |target: &FaultTarget| !matches!(target, FaultTarget::Process(_));
            let concerns_leader = match step.kind {
                FaultAction::StartPartition(place) | FaultAction::EndPartition(place) => {
                    plan.partitions[place].side.iter().any(is_leader)
                }
                _ => is_leader(&step.target),
            };
            QueuedStep { step: *step, concerns_leader }
        };
        StepQueue(plan.steps.iter().map(queued).collect())
    }

    /// Returns the time of the first step. `None` if the queue is empty.
    pub(super) fn next_time(&self) -> Option<Duration> {
        self.0.first().map(|queued| queued.step.at)
    }

    /// Removes and returns the first step that is due and can be performed. `passed` is the time
    /// since the start of the run. `is_ready` returns false for a step whose target is not known
    /// yet. Such a step stays in the queue, and so do the steps behind it that concern the leader,
    /// because the order of faults of the leader matters.
    pub(super) fn take_ready(
        &mut self,
        passed: Duration,
        is_ready: impl Fn(TimedFaultAction) -> bool,
    ) -> Option<TimedFaultAction> {
        let mut is_leader_awaited = false;
        for (place, queued) in self.0.iter().enumerate() {
            if queued.step.at > passed {
                return None;
            }
            if is_leader_awaited && queued.concerns_leader {
                continue;
            }
            if is_ready(queued.step) {
                return Some(self.0.remove(place).step);
            }
            is_leader_awaited = true;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::ProcessId;

    use super::*;

    #[test]
    fn unknown_leader_delays_only_steps_that_concern_it() {
        let step = |seconds, target, kind| {
            let at = Duration::from_secs(seconds);
            TimedFaultAction { at, target, kind }
        };
        let first = FaultTarget::Process(ProcessId(0));
        let kill = step(1, FaultTarget::Leader, FaultAction::Kill);
        let suspend = step(2, first, FaultAction::Suspend);
        let restart = step(2, FaultTarget::All, FaultAction::Restart);
        let resume = step(3, first, FaultAction::Resume);
        let plan =
            ServiceRunPlan { steps: vec![kill, suspend, restart, resume], ..Default::default() };
        let mut queue = StepQueue::new(&plan);
        let has_no_leader = |step: TimedFaultAction| step.target != FaultTarget::Leader;
        assert_eq!(queue.take_ready(Duration::from_secs(2), has_no_leader), Some(suspend));
        assert_eq!(queue.take_ready(Duration::from_secs(2), has_no_leader), None);
        assert_eq!(queue.next_time(), Some(kill.at));
        assert_eq!(queue.take_ready(Duration::from_secs(3), has_no_leader), Some(resume));
        let mut rest = std::iter::from_fn(|| queue.take_ready(Duration::from_secs(3), |_| true));
        assert_eq!([rest.next(), rest.next(), rest.next()], [Some(kill), Some(restart), None]);
        assert_eq!(queue.next_time(), None);
    }
}
