//! Crashes at the n-th message, save or sending step of a process, and counters of faults of
//! processes.

use tenure_core::ProcessId;

use crate::settings::fault::{CrashTrigger, Fault};

/// Configured crashes that depend on a count of messages, saves or sending steps, and counters of
/// the faults that have occurred. The router counts the faults of messages.
#[derive(Debug, Default)]
pub(crate) struct FaultInjector {
    message_crashes: Vec<CountedCrash>,
    /// Configured crashes that occur while a process sends the messages of a step. Some of these
    /// messages are then lost. Each crash counts the steps in which its process sends messages.
    send_crashes: Vec<CountedCrash>,
    save_crashes: Vec<CountedCrash>,
    /// Number of occurrences of each configured fault, in the order of
    /// [`Settings::faults`](crate::Settings::faults).
    occurrences: Vec<u64>,
    /// Number of recoveries so far that were configured as a part of a crash.
    pub(crate) automatic_recoveries: u64,
    pub(crate) crashes: u64,
    pub(crate) recoveries: u64,
    /// Number of messages lost because their receiver was down or crashed.
    pub(crate) undeliverable: u64,
}

/// A crash that occurs when its process has received, sent or saved a certain number of times.
#[derive(Debug)]
struct CountedCrash {
    process: ProcessId,
    /// Number of occasions until the crash. `u64::MAX` after the crash.
    left: u64,
    /// True if the process crashes after the save is durable; false if the crash loses the save.
    /// Used only by crashes that a save triggers.
    is_kept: bool,
    /// Index of the crash among all configured faults.
    fault: u32,
}

impl FaultInjector {
    pub(crate) fn new(faults: &[Fault]) -> Self {
        let mut injector =
            FaultInjector { occurrences: vec![0; faults.len()], ..FaultInjector::default() };
        for (fault, configured) in (0..).zip(faults) {
            let Fault::Crash { process, when, .. } = *configured else { continue };
            let (crashes, left, is_kept) = match when {
                CrashTrigger::OnMessage(left) => (&mut injector.message_crashes, left, false),
                CrashTrigger::Sending(left) => (&mut injector.send_crashes, left, false),
                CrashTrigger::Saving { save, is_kept } => {
                    (&mut injector.save_crashes, save, is_kept)
                }
                _ => continue,
            };
            crashes.push(CountedCrash { process, left, is_kept, fault });
        }
        injector
    }

    /// Counts a message that arrives at the process `at`. Returns the index of the configured fault
    /// that crashes the process now; `None` if no fault is due.
    pub(crate) fn on_message(&mut self, at: ProcessId) -> Option<u32> {
        count_down(&mut self.message_crashes, at).map(|crash| crash.fault)
    }

    /// Counts a step in which the process `at` sends messages. Returns the index of the configured
    /// fault that crashes the process in the middle of this step; `None` if no fault is due.
    pub(crate) fn on_send(&mut self, at: ProcessId) -> Option<u32> {
        count_down(&mut self.send_crashes, at).map(|crash| crash.fault)
    }

    pub(crate) const fn has_save_crashes(&self) -> bool {
        !self.save_crashes.is_empty()
    }

    /// Returns true if the settings contain a crash of the process `at` that a save triggers.
    pub(crate) fn has_save_crash(&self, at: ProcessId) -> bool {
        self.save_crashes.iter().any(|crash| crash.process == at)
    }

    /// Counts a step that changes the stable state of the process `at`. If a fault crashes the
    /// process in this step, returns the index of the configured fault and a flag. The flag is true
    /// if the change is saved before the crash.
    pub(crate) fn on_save(&mut self, at: ProcessId) -> Option<(u32, bool)> {
        count_down(&mut self.save_crashes, at).map(|crash| (crash.fault, crash.is_kept))
    }

    pub(crate) fn record_occurrence(&mut self, fault: u32) {
        self.occurrences[fault as usize] += 1;
    }

    pub(crate) fn has_occurred(&self, fault: u32) -> bool {
        self.occurrences[fault as usize] > 0
    }

    /// Returns the number of occurrences of each configured fault, in the order of
    /// [`Settings::faults`](crate::Settings::faults).
    pub(crate) fn occurrences_by_configured_fault(&self) -> &[u64] {
        &self.occurrences
    }
}

/// Decrements the counters of all crashes of the process `at`. Returns the first crash whose
/// counter is then zero. This crash does not become due again.
fn count_down(crashes: &mut [CountedCrash], at: ProcessId) -> Option<&CountedCrash> {
    for crash in crashes.iter_mut().filter(|crash| crash.process == at) {
        crash.left = crash.left.saturating_sub(1);
    }
    let due = crashes.iter_mut().find(|crash| crash.process == at && crash.left == 0)?;
    due.left = u64::MAX;
    Some(due)
}
