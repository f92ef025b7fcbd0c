//! Records which processes are up, and how often each process has recovered.

use tenure_core::ProcessId;

use crate::settings::Settings;

/// The processes that are up, and their sessions.
#[derive(Debug)]
pub(crate) struct LiveProcesses {
    up: Vec<bool>,
    live: u64,
    /// Number of recoveries of each process; empty if no process can crash.
    sessions: Vec<u64>,
}

impl LiveProcesses {
    /// Creates the state at the start of a run. `has_faults` is false if no process can crash.
    pub(crate) fn new(settings: &Settings, has_faults: bool) -> Self {
        let size = settings.size as usize;
        let mut up = vec![true; size];
        for process in &settings.down {
            up[process.index()] = false;
        }
        let live = up.iter().filter(|up| **up).count() as u64;
        LiveProcesses { up, live, sessions: vec![0; if has_faults { size } else { 0 }] }
    }

    #[inline]
    pub(crate) fn is_up(&self, process: ProcessId) -> bool {
        self.up[process.index()]
    }

    /// Returns true if `process` is up, false if it is down, and `None` if it is not in the group.
    pub(crate) fn up_state(&self, process: ProcessId) -> Option<bool> {
        self.up.get(process.index()).copied()
    }

    /// Returns one value per process, by index: true if the process is up.
    pub(crate) fn up_flags(&self) -> &[bool] {
        &self.up
    }

    pub(crate) const fn live_count(&self) -> u64 {
        self.live
    }

    /// Returns the session of a process: the number of its recoveries.
    pub(crate) fn session(&self, process: ProcessId) -> u64 {
        self.sessions.get(process.index()).copied().unwrap_or(0)
    }

    /// Starts to count the recoveries of each process, because from now on any process may crash.
    pub(crate) fn track_sessions(&mut self) {
        self.sessions.resize(self.up.len(), 0);
    }

    pub(crate) fn mark_crashed(&mut self, process: ProcessId) {
        self.up[process.index()] = false;
        self.live -= 1;
    }

    /// Marks a process that is down as up, in a new session.
    pub(crate) fn mark_recovered(&mut self, process: ProcessId) {
        self.up[process.index()] = true;
        self.live += 1;
        if let Some(session) = self.sessions.get_mut(process.index()) {
            *session += 1;
        }
    }
}
