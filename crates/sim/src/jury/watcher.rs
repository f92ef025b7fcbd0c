//! A monitor of the reader's own, whatever its type.

use tenure_core::{Finding, Juror, Monitor, Observed, ProcessId, Property, Protocol, Violation};

/// A monitor of the reader's own, and the name that it is watched under.
pub(crate) struct Watcher<P: Protocol>(Box<dyn Watches<P>>);

/// A juror without its type.
trait Watches<P: Protocol>: Send + Sync {
    fn observe(&mut self, time: u64, at: ProcessId, seen: Observed<'_, P::Command, P::Event>);
    fn end(&mut self, time: u64);
    fn finding(&self) -> Finding;
    fn copied(&self) -> Box<dyn Watches<P>>;
}

/// A monitor under another name.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Named<M>(&'static str, M);

impl<C, E, M: Monitor<C, E>> Monitor<C, E> for Named<M> {
    fn property(&self) -> Property {
        Property::Own(self.0)
    }

    fn observe(&mut self, at: ProcessId, seen: Observed<'_, C, E>) -> Result<(), Violation> {
        self.1.observe(at, seen)
    }

    fn at_end(&self) -> Result<(), Violation> {
        self.1.at_end()
    }
}

impl<P: Protocol, M> Watches<P> for Juror<M>
where
    M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
{
    fn observe(&mut self, time: u64, at: ProcessId, seen: Observed<'_, P::Command, P::Event>) {
        Juror::observe(self, time, at, seen);
    }

    fn end(&mut self, time: u64) {
        Juror::end(self, time, true);
    }

    fn finding(&self) -> Finding {
        Juror::finding(self)
    }

    fn copied(&self) -> Box<dyn Watches<P>> {
        Box::new(self.clone())
    }
}

impl<P: Protocol> Watcher<P> {
    pub(crate) fn new<M>(name: &'static str, monitor: M) -> Self
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        Watcher(Box::new(Juror::new(Named(name, monitor))))
    }

    pub(crate) fn observe(
        &mut self,
        time: u64,
        at: ProcessId,
        seen: Observed<'_, P::Command, P::Event>,
    ) {
        self.0.observe(time, at, seen);
    }

    /// What the monitor says in the end. `ended`: the run was not cut short.
    pub(crate) fn finding(mut self, time: u64, ended: bool) -> Finding {
        if ended {
            self.0.end(time);
        }
        self.0.finding()
    }
}

impl<P: Protocol> Clone for Watcher<P> {
    fn clone(&self) -> Self {
        Watcher(self.0.copied())
    }
}
