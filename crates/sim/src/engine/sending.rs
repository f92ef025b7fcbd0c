//! Sends the messages of a step. A crash may stop the process before all messages are sent.

use tenure_core::{ProcessId, Protocol};
use tenure_trace::RecordableProtocol;

use crate::engine::delivery::send_message;
use crate::engine::world::World;

impl<P: Protocol> World<'_, P>
where
    P: RecordableProtocol,
{
    /// Sends the messages in `batch` of a step of the process `at`. The messages leave the process
    /// at the time `departs`, in ticks. Returns true if the process crashes in the middle of the
    /// step.
    #[inline]
    pub(super) fn send_messages(&mut self, at: ProcessId, departs: u64) -> bool {
        let (run, in_flight) = (&mut self.run, &mut self.in_flight);
        let may_crash = run.has_faults && !self.batch.messages.is_empty();
        let crash = if may_crash { run.faults.on_send(at) } else { None };
        if crash.is_some() {
            run.router.set_sender_crashing(true);
        }
        for (to, message) in self.batch.messages.drain(..) {
            send_message(run, in_flight, departs, at, to, message);
        }
        let in_flight = in_flight.len() as u64;
        run.metrics.max_in_flight = run.metrics.max_in_flight.max(in_flight);
        if let Some(fault) = crash {
            self.crash_while_sending(at, fault);
        }
        crash.is_some()
    }

    /// Crashes a process that has sent some of the messages of its step. The timers of the step do
    /// not start. `fault` is the index of the configured fault.
    #[cold]
    fn crash_while_sending(&mut self, at: ProcessId, fault: u32) {
        self.run.router.set_sender_crashing(false);
        self.batch.timers.clear();
        self.run.next_user = None;
        self.crash(at, Some(fault));
    }
}
