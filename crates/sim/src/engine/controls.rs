use std::sync::atomic::{AtomicBool, Ordering};

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many events were handled.
    pub events: u64,
    /// The virtual time, in ticks.
    pub now: u64,
    /// How many entries there were.
    pub entered: u64,
    /// How many messages are under way.
    pub in_flight: u64,
}

/// How to watch and to stop a run while it is going on. Neither changes what happens in it.
#[derive(Default)]
pub struct Controls<'a> {
    stop: Option<&'a AtomicBool>,
    progress: Option<Box<dyn FnMut(Progress) + 'a>>,
}

impl<'a> Controls<'a> {
    /// Neither watched nor stopped.
    pub fn new() -> Self {
        Controls::default()
    }

    /// Stops soon after `flag` becomes true; the report then holds the partial figures.
    #[must_use]
    pub fn stopped_by(mut self, flag: &'a AtomicBool) -> Self {
        self.stop = Some(flag);
        self
    }

    /// Calls `report` every few thousand events.
    #[must_use]
    pub fn reporting(mut self, report: impl FnMut(Progress) + 'a) -> Self {
        self.progress = Some(Box::new(report));
        self
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    pub(crate) fn report(&mut self, progress: impl FnOnce() -> Progress) {
        if let Some(report) = &mut self.progress {
            report(progress());
        }
    }
}
