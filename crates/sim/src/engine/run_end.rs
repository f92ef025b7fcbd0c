//! Conditions under which a run ends.

use tenure_core::Protocol;
use tenure_trace::RecordableProtocol;

use crate::engine::controls::{RunControls, RunProgress};
use crate::engine::world::World;
use crate::results::report::EndReason;

/// Number of events between two checks of the limits and of the stop flag.
const CHECK_INTERVAL: u64 = 4096;

impl<P: Protocol> World<'_, P>
where
    P: RecordableProtocol,
{
    /// Returns the number of events until the limits and the stop flag are checked again.
    pub(crate) fn events_until_check(&self) -> u64 {
        let budget = self.run.settings.limits.events.unwrap_or(u64::MAX);
        CHECK_INTERVAL.min(budget - self.run.metrics.events)
    }

    /// Ends a run in which no event is left up to the end time. Sets the time to the end time,
    /// unless nothing can happen any more and no end time is configured. Returns the reason.
    #[cold]
    pub(super) fn end_at_time_limit(&mut self) -> EndReason {
        if self.run.settings.limits.until.is_some() {
            self.run.now = self.run.end_time;
            EndReason::TimeLimit
        } else if self.has_only_disarmed_timers() {
            EndReason::Quiescent
        } else {
            self.run.now = self.run.end_time;
            EndReason::TimeExhausted
        }
    }

    /// Returns true if nothing can happen any more. The queue of events may still contain disarmed
    /// timers.
    fn has_only_disarmed_timers(&self) -> bool {
        self.in_flight.is_empty()
            && self.timers.armed_count() == 0
            && !self.run.is_external_event_pending()
    }

    /// Ends a complete run, or issues the next request of a sequential workload. Called while no
    /// message is in flight. Returns the reason if the run is complete, or if nothing can happen
    /// any more.
    pub(super) fn on_idle_network(&mut self) -> Option<EndReason> {
        if self.run.is_complete_when_idle() {
            return Some(EndReason::Served);
        }
        if self.issue_sequential_request() {
            return None;
        }
        self.is_exhausted().then_some(EndReason::Quiescent)
    }

    /// Returns true if no event is scheduled, not even a disarmed timer.
    fn is_exhausted(&self) -> bool {
        self.run.fault_queue.is_empty()
            && self.timers.armed_count() == 0
            && self.run.event_queue.is_empty()
            && self.in_flight.is_empty()
    }

    /// Reports the progress to the caller, and checks whether the run must end: because of the stop
    /// flag, the limit on events, too many messages in flight, or missing progress. Returns the
    /// reason if the run must end. The caller ends the run. The end time is checked before each
    /// event.
    pub(crate) fn report_progress_and_check_end(
        &mut self,
        controls: &mut RunControls<'_>,
    ) -> Option<EndReason> {
        let run = &self.run;
        let (events, now) = (run.metrics.events, run.now);
        if controls.is_stopped() {
            return Some(EndReason::Stopped);
        }
        if run.settings.limits.events.is_some_and(|most| events >= most) {
            return Some(EndReason::EventLimit);
        }
        let entered = run.metrics.entry_count;
        let in_flight = self.in_flight.len() as u64;
        controls.report(|| RunProgress { events, now, entered, in_flight });
        let most = run.settings.limits.max_in_flight(run.settings.size);
        if in_flight > most && events - run.progress.events > most {
            return Some(EndReason::Flooded);
        }
        let idle = now.saturating_sub(run.progress.time) > run.stall_timeout
            && events - run.progress.events > CHECK_INTERVAL
            && run.settings.limits.until.is_none()
            && !run.is_external_event_pending();
        idle.then_some(EndReason::Stalled)
    }
}
