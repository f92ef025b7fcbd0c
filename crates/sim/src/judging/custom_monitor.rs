//! Monitors that the caller of a simulation adds.

use tenure_core::{
    Finding, Monitor, MonitorRun, Observation, ProcessId, Property, Protocol, Violation,
};

/// A monitor that the caller of a simulation added, under the property name that the caller chose.
pub(crate) struct CustomMonitor<P: Protocol>(Box<dyn DynMonitor<P>>);

/// A [`MonitorRun`] as a trait object, which hides the type of the monitor.
trait DynMonitor<P: Protocol>: Send + Sync {
    fn observe(&mut self, time: u64, at: ProcessId, seen: Observation<'_, P::Command, P::Event>);
    fn end(&mut self, time: u64);
    fn finding(&self) -> Finding;
    fn copied(&self) -> Box<dyn DynMonitor<P>>;
}

/// A monitor that reports its findings under the property name in the first field.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Named<M>(&'static str, M);

impl<C, E, M: Monitor<C, E>> Monitor<C, E> for Named<M> {
    fn property(&self) -> Property {
        Property::Custom(self.0)
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, C, E>) -> Result<(), Violation> {
        self.1.observe(at, seen)
    }

    fn check_final_state(&self) -> Result<(), Violation> {
        self.1.check_final_state()
    }
}

impl<P: Protocol, M> DynMonitor<P> for MonitorRun<M>
where
    M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
{
    fn observe(&mut self, time: u64, at: ProcessId, seen: Observation<'_, P::Command, P::Event>) {
        MonitorRun::observe(self, time, at, seen);
    }

    fn end(&mut self, time: u64) {
        MonitorRun::judge_end(self, time, true);
    }

    fn finding(&self) -> Finding {
        MonitorRun::finding_so_far(self)
    }

    fn copied(&self) -> Box<dyn DynMonitor<P>> {
        Box::new(self.clone())
    }
}

impl<P: Protocol> CustomMonitor<P> {
    pub(crate) fn new<M>(name: &'static str, monitor: M) -> Self
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        CustomMonitor(Box::new(MonitorRun::new(Named(name, monitor))))
    }

    pub(crate) fn observe(
        &mut self,
        time: u64,
        at: ProcessId,
        seen: Observation<'_, P::Command, P::Event>,
    ) {
        self.0.observe(time, at, seen);
    }

    /// Returns the final finding of the monitor. `time` is the end of the run, in ticks. If `ended`
    /// is false, the run was cut short, and the monitor does not judge its end.
    pub(crate) fn into_finding(mut self, time: u64, ended: bool) -> Finding {
        if ended {
            self.0.end(time);
        }
        self.0.finding()
    }
}

impl<P: Protocol> Clone for CustomMonitor<P> {
    fn clone(&self) -> Self {
        CustomMonitor(self.0.copied())
    }
}
