//! Armed timers of a process in a test cluster.

/// Time at which a timer is due, as a local time, and a number that grows with each armed timer. If
/// several timers are due at the same time, they fire in the order in which they were armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimerDueTime {
    pub(crate) at: u64,
    pub(crate) armed: u64,
}

/// Armed timers of a process, sorted by the order of the timer type.
///
/// A process arms few timers, so a sorted list is enough. A map would increase the compile time,
/// because it would be compiled for each protocol.
#[derive(Debug)]
pub(crate) struct ProcessTimers<T> {
    timers: Vec<(T, TimerDueTime)>,
}

impl<T> Default for ProcessTimers<T> {
    fn default() -> Self {
        ProcessTimers { timers: Vec::new() }
    }
}

impl<T: Ord> ProcessTimers<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.timers.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&T, TimerDueTime)> {
        self.timers.iter().map(|(timer, due)| (timer, *due))
    }

    /// Arms a timer. If the timer is already armed, changes the time at which it is due.
    pub(crate) fn insert(&mut self, timer: T, due: TimerDueTime) {
        match self.position(&timer) {
            Ok(index) => self.timers[index].1 = due,
            Err(index) => self.timers.insert(index, (timer, due)),
        }
    }

    /// Disarms a timer, and returns the time at which it was due. Returns `None` if the timer is
    /// not armed.
    pub(crate) fn remove(&mut self, timer: &T) -> Option<TimerDueTime> {
        let index = self.position(timer).ok()?;
        Some(self.timers.remove(index).1)
    }

    pub(crate) fn clear(&mut self) {
        self.timers.clear();
    }

    fn position(&self, timer: &T) -> Result<usize, usize> {
        self.timers.binary_search_by(|(armed, _)| armed.cmp(timer))
    }
}
