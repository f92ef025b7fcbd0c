use tenure_core::ProcessId;

use crate::settings::fault::{CrashTrigger, Fault};

/// Configured crashes that occur at a certain message or save, and counters of all faults that
/// occurred.
#[derive(Debug, Default)]
pub(crate) struct FaultInjector {
    message_crashes: Vec<CrashOnMessage>,
    send_crashes: Vec<CrashWhileSending>,
    save_crashes: Vec<CrashDuringSave>,
    /// Number of occurrences of each configured fault, in the order of the settings.
    occurrences: Vec<u64>,
    /// Number of recoveries that occurred because a crash was configured with them.
    pub(crate) automatic_recoveries: u64,
    pub(crate) crashes: u64,
    pub(crate) recoveries: u64,
    /// Number of messages lost because their receiver was down or crashed.
    pub(crate) undeliverable: u64,
}

/// Crashes a process when its n-th message arrives.
#[derive(Debug)]
struct CrashOnMessage {
    process: ProcessId,
    left: u64,
    fault: u32,
}

/// Crashes a process in the middle of the n-th step that sends messages.
#[derive(Debug)]
struct CrashWhileSending {
    process: ProcessId,
    left: u64,
    fault: u32,
}

/// Crashes a process in the n-th step that changes its stable state.
#[derive(Debug)]
struct CrashDuringSave {
    process: ProcessId,
    left: u64,
    is_kept: bool,
    fault: u32,
}

impl FaultInjector {
    pub(crate) fn new(faults: &[Fault]) -> Self {
        let mut injector =
            FaultInjector { occurrences: vec![0; faults.len()], ..FaultInjector::default() };
        for (fault, configured) in (0..).zip(faults) {
            let Fault::Crash { process, when, .. } = *configured else { continue };
            match when {
                CrashTrigger::OnMessage(left) => {
                    injector.message_crashes.push(CrashOnMessage { process, left, fault });
                }
                CrashTrigger::Sending(left) => {
                    injector.send_crashes.push(CrashWhileSending { process, left, fault });
                }
                CrashTrigger::Saving { save: left, is_kept } => {
                    let crash = CrashDuringSave { process, left, is_kept, fault };
                    injector.save_crashes.push(crash);
                }
                _ => {}
            }
        }
        injector
    }

    /// Counts an arriving message. Returns the index of the fault that crashes its receiver now;
    /// `None` if no fault is due.
    pub(crate) fn on_message(&mut self, at: ProcessId) -> Option<u32> {
        for crash in self.message_crashes.iter_mut().filter(|crash| crash.process == at) {
            crash.left = crash.left.saturating_sub(1);
            if crash.left == 0 {
                crash.left = u64::MAX;
                return Some(crash.fault);
            }
        }
        None
    }

    /// Counts a step that sends messages. Returns the index of the fault that crashes the process
    /// in the middle of this step; `None` if no fault is due.
    pub(crate) fn on_send(&mut self, at: ProcessId) -> Option<u32> {
        for crash in self.send_crashes.iter_mut().filter(|crash| crash.process == at) {
            crash.left = crash.left.saturating_sub(1);
            if crash.left == 0 {
                crash.left = u64::MAX;
                return Some(crash.fault);
            }
        }
        None
    }

    /// Returns true if a crash during a save is configured.
    pub(crate) const fn has_save_crashes(&self) -> bool {
        !self.save_crashes.is_empty()
    }

    /// Returns true if a crash during a save of this process is configured.
    pub(crate) fn has_save_crash(&self, at: ProcessId) -> bool {
        self.save_crashes.iter().any(|crash| crash.process == at)
    }

    /// Counts a step that changes the stable state of a process. If a fault crashes the process in
    /// this step, returns the index of the fault, and true if the change is saved.
    pub(crate) fn on_save(&mut self, at: ProcessId) -> Option<(u32, bool)> {
        for crash in self.save_crashes.iter_mut().filter(|crash| crash.process == at) {
            crash.left = crash.left.saturating_sub(1);
            if crash.left == 0 {
                crash.left = u64::MAX;
                return Some((crash.fault, crash.is_kept));
            }
        }
        None
    }

    /// Counts an occurrence of the configured fault with this index.
    pub(crate) fn occurred(&mut self, fault: u32) {
        self.occurrences[fault as usize] += 1;
    }

    /// Returns the number of occurrences of each configured fault.
    pub(crate) fn occurrences(&self) -> &[u64] {
        &self.occurrences
    }
}
