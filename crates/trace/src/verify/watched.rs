use tenure_core::{Monitor, Observed, ProcessId};

/// A monitor up to its first violation.
#[derive(Clone, Debug)]
pub(super) struct Watched<M> {
    monitor: Option<M>,
    found: Option<Found>,
}

/// When a violation was seen, and what happened.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) time: u64,
    pub(super) says: String,
}

impl<M> Watched<M> {
    pub(super) fn new(monitor: M) -> Self {
        Watched { monitor: Some(monitor), found: None }
    }

    pub(super) fn found(&self) -> Option<&Found> {
        self.found.as_ref()
    }

    /// Reads one thing. After a violation the monitor's state means nothing, so it is dropped.
    pub(super) fn observe<C, E>(&mut self, time: u64, at: ProcessId, seen: Observed<'_, C, E>)
    where
        M: Monitor<C, E>,
    {
        let Some(monitor) = &mut self.monitor else { return };
        if let Err(violation) = monitor.observe(at, seen) {
            self.found = Some(Found { time, says: violation.says });
            self.monitor = None;
        }
    }

    /// What the monitor says of the run as it stands now, as if it had ended.
    pub(super) fn at_end<C, E>(&self, time: u64) -> Option<Found>
    where
        M: Monitor<C, E>,
    {
        let violation = self.monitor.as_ref()?.at_end().err()?;
        Some(Found { time, says: violation.says })
    }
}
