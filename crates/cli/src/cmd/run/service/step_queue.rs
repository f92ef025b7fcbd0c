//! Steps of the schedule that are not performed yet.

use std::time::Duration;

use super::plan::{FaultAction, ServiceRunPlan, TimedFaultAction};
use crate::cmd::run::schedule::FaultTarget;

/// Steps that are not performed yet, in the order of their times. A step whose leader is not known
/// waits. Steps on certain members do not wait for it, except a step that may end the fault that
/// the waiting step starts.
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
    ///
    /// `has_fault` returns true if a target of a step has the fault that the step ends. Otherwise,
    /// the step probably ends the fault of the leader that is not known yet, and also waits.
    pub(super) fn take_ready(
        &mut self,
        passed: Duration,
        is_ready: impl Fn(TimedFaultAction) -> bool,
        has_fault: impl Fn(TimedFaultAction) -> bool,
    ) -> Option<TimedFaultAction> {
        let depends_on_leader = |queued: &QueuedStep| {
            let ends_fault = queued.step.kind.is_member_fault_end();
            queued.concerns_leader || (ends_fault && !has_fault(queued.step))
        };
        let mut is_leader_awaited = false;
        for (place, queued) in self.0.iter().enumerate() {
            if queued.step.at > passed {
                return None;
            }
            if is_leader_awaited && depends_on_leader(queued) {
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

    const FIRST: FaultTarget = FaultTarget::Process(ProcessId(0));

    fn step(seconds: u64, target: FaultTarget, kind: FaultAction) -> TimedFaultAction {
        TimedFaultAction { at: Duration::from_secs(seconds), target, kind }
    }

    fn queue(steps: &[TimedFaultAction]) -> StepQueue {
        StepQueue::new(&ServiceRunPlan { steps: steps.to_vec(), ..Default::default() })
    }

    fn has_no_leader(step: TimedFaultAction) -> bool {
        step.target != FaultTarget::Leader
    }

    #[test]
    fn unknown_leader_delays_only_steps_that_concern_it() {
        let kill = step(1, FaultTarget::Leader, FaultAction::Kill);
        let suspend = step(2, FIRST, FaultAction::Suspend);
        let restart = step(2, FaultTarget::All, FaultAction::Restart);
        let resume = step(3, FIRST, FaultAction::Resume);
        let mut queue = queue(&[kill, suspend, restart, resume]);
        let is_suspended = |step: TimedFaultAction| step == resume;
        let mut take = |seconds, is_ready: &dyn Fn(TimedFaultAction) -> bool| {
            let next = queue.take_ready(Duration::from_secs(seconds), is_ready, is_suspended);
            (next, queue.next_time())
        };
        assert_eq!(take(2, &has_no_leader), (Some(suspend), Some(kill.at)));
        assert_eq!(take(2, &has_no_leader), (None, Some(kill.at)));
        assert_eq!(take(3, &has_no_leader), (Some(resume), Some(kill.at)));
        assert_eq!(take(3, &|_| true), (Some(kill), Some(restart.at)));
        assert_eq!(take(3, &|_| true), (Some(restart), None));
        assert_eq!(take(3, &|_| true), (None, None));
    }

    /// The member that the later step restarts still runs. So this step probably ends the fault of
    /// the leader that is not known yet, and it waits for the step that kills this leader.
    #[test]
    fn restart_of_running_member_waits_for_kill_of_leader() {
        let kill = step(2, FaultTarget::Leader, FaultAction::Kill);
        let restart = step(4, FIRST, FaultAction::Restart);
        let mut queue = queue(&[kill, restart]);
        let now = Duration::from_secs(5);
        assert_eq!(queue.take_ready(now, has_no_leader, |_| false), None);
        assert_eq!(queue.take_ready(now, |_| true, |_| false), Some(kill));
        assert_eq!(queue.take_ready(now, |_| true, |_| true), Some(restart));
    }
}
