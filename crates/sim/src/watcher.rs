use tenure_core::{Monitor, Observed, ProcessId, Property, Protocol, Violation};

use crate::verdict::{Finding, Verdict};

/// A monitor of the reader's own, whatever its type.
pub(crate) struct Watcher<P: Protocol> {
    property: Property,
    monitor: Box<dyn AnyMonitor<P>>,
    violation: Option<(u64, Violation)>,
}

/// A monitor without its type.
trait AnyMonitor<P: Protocol>: Send + Sync {
    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, P::Command, P::Event>,
    ) -> Result<(), Violation>;

    fn at_end(&self) -> Result<(), Violation>;

    fn copied(&self) -> Box<dyn AnyMonitor<P>>;
}

impl<P: Protocol, M> AnyMonitor<P> for M
where
    M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
{
    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, P::Command, P::Event>,
    ) -> Result<(), Violation> {
        Monitor::observe(self, at, seen)
    }

    fn at_end(&self) -> Result<(), Violation> {
        Monitor::at_end(self)
    }

    fn copied(&self) -> Box<dyn AnyMonitor<P>> {
        Box::new(self.clone())
    }
}

impl<P: Protocol> Watcher<P> {
    pub(crate) fn new<M>(property: Property, monitor: M) -> Self
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        Watcher { property, monitor: Box::new(monitor), violation: None }
    }

    pub(crate) fn observe(
        &mut self,
        time: u64,
        at: ProcessId,
        seen: Observed<'_, P::Command, P::Event>,
    ) {
        if self.violation.is_none()
            && let Err(violation) = self.monitor.observe(at, seen)
        {
            self.violation = Some((time, violation));
        }
    }

    /// What the monitor says in the end. `ended`: the run was not cut short.
    pub(crate) fn finding(self, time: u64, ended: bool) -> Finding {
        let at_end = || match self.monitor.at_end() {
            Err(violation) if ended => Some((time, violation)),
            _ => None,
        };
        match self.violation.clone().or_else(at_end) {
            Some((time, violation)) => {
                Finding::violated(self.property, time, violation.at, violation.says)
            }
            None if ended => Finding::undisputed(self.property, Verdict::Holds),
            None => Finding::undisputed(self.property, Verdict::Incomplete),
        }
    }
}

impl<P: Protocol> Clone for Watcher<P> {
    fn clone(&self) -> Self {
        let (property, violation) = (self.property, self.violation.clone());
        Watcher { property, monitor: self.monitor.copied(), violation }
    }
}
