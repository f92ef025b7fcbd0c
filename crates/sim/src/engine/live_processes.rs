//! Records which processes are up, and how often each process has recovered.

use tenure_core::ProcessId;

use crate::settings::Settings;

/// The processes that are up, and their sessions.
#[derive(Debug)]
pub(crate) struct LiveProcesses {
    up: Vec<bool>,
    /// Number of processes that are up.
    live: u64,
    /// For each process: the number of its recoveries. Empty if no process can crash.
    sessions: Vec<u64>,
    /// For each process: true if partitions that never end separate it from a majority. Empty if
    /// this applies to no process.
    cut_off: Vec<bool>,
    /// For each process: true if it is up and not cut off. Empty if no process is cut off.
    connected: Vec<bool>,
}

impl LiveProcesses {
    /// Creates the state at the start of a run. `has_faults` is false if the settings contain
    /// neither faults nor processes that are down.
    pub(crate) fn new(settings: &Settings, has_faults: bool) -> Self {
        let size = settings.size as usize;
        let mut up = vec![true; size];
        for process in &settings.down {
            up[process.index()] = false;
        }
        let live = up.iter().filter(|up| **up).count() as u64;
        let sessions = vec![0; if has_faults { size } else { 0 }];
        LiveProcesses { up, live, sessions, cut_off: Vec::new(), connected: Vec::new() }
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

    /// Returns one value per process, by index: true if the process is up, and no partition that
    /// never ends separates it from a majority. The processes with the value true must agree on a
    /// leader.
    pub(crate) fn connected_flags(&self) -> &[bool] {
        if self.connected.is_empty() { &self.up } else { &self.connected }
    }

    /// Returns the number of processes that are up and not cut off.
    pub(crate) fn connected_count(&self) -> u64 {
        match self.connected.is_empty() {
            true => self.live,
            false => self.connected.iter().filter(|is_connected| **is_connected).count() as u64,
        }
    }

    pub(crate) fn is_connected(&self, process: ProcessId) -> bool {
        self.connected_flags()[process.index()]
    }

    /// Marks these processes as cut off from a majority for ever. Replaces all earlier marks.
    pub(crate) fn set_cut_off(&mut self, cut_off: &[ProcessId]) {
        self.cut_off = vec![false; self.up.len()];
        self.connected.clone_from(&self.up);
        for process in cut_off {
            self.cut_off[process.index()] = true;
            self.connected[process.index()] = false;
        }
    }

    /// Returns the live processes that are cut off from a majority for ever.
    pub(crate) fn cut_off_processes(&self) -> Vec<ProcessId> {
        let flags = self.cut_off.iter().zip(&self.up).enumerate();
        let cut_off = flags.filter(|(_, (cut_off, up))| **cut_off && **up);
        cut_off.map(|(place, _)| ProcessId::from_index(place)).collect()
    }

    /// Returns the session of a process: the number of its recoveries.
    pub(crate) fn session(&self, process: ProcessId) -> u64 {
        self.sessions.get(process.index()).copied().unwrap_or(0)
    }

    /// Returns true if a process is down because of a crash in its session `session`.
    pub(crate) fn is_crashed_in(&self, process: ProcessId, session: u32) -> bool {
        !self.is_up(process) && self.session(process) == u64::from(session)
    }

    /// Starts to count the recoveries of each process, because from now on any process may crash.
    pub(crate) fn track_sessions(&mut self) {
        self.sessions.resize(self.up.len(), 0);
    }

    pub(crate) fn mark_crashed(&mut self, process: ProcessId) {
        self.up[process.index()] = false;
        self.live -= 1;
        if let Some(is_connected) = self.connected.get_mut(process.index()) {
            *is_connected = false;
        }
    }

    /// Marks a process that is down as up, in a new session.
    pub(crate) fn mark_recovered(&mut self, process: ProcessId) {
        self.up[process.index()] = true;
        self.live += 1;
        if let Some(is_connected) = self.connected.get_mut(process.index()) {
            *is_connected = !self.cut_off[process.index()];
        }
        if let Some(session) = self.sessions.get_mut(process.index()) {
            *session += 1;
        }
    }
}
