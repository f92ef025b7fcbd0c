//! Monitors that a program adds to the built-in monitors of Tenure.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use tenure_core::service::{EventConversions, election, mutex, mutex_and_election};
use tenure_core::{Monitor, Observation, ProcessId, Property, Service, Violation};
use tenure_trace::{ServiceCommand, ServiceEvent};

/// Monitors that a program adds to the built-in monitors of Tenure.
///
/// The simulator, the checker and the browser laboratory use each monitor for all algorithms of the
/// monitor's service, and for all combinations of a lock and an election.
#[derive(Default)]
pub struct CustomMonitors(Vec<CustomMonitor>);

/// Creates [`CustomMonitors`] from values of types that implement [`Monitor`].
///
/// ```
/// use tenure_core::monitors::Bypass;
/// use tenure_instances::monitors;
///
/// // Use your own monitor here.
/// let own = monitors![Bypass::at_most(2)];
/// ```
#[macro_export]
macro_rules! monitors {
    ($($monitor:expr),* $(,)?) => {
        $crate::CustomMonitors::default()$(.with($monitor))*
    };
}

/// Service for which a program can add its own monitors: mutual exclusion or election. The command
/// type of the service implements this trait.
pub trait MonitoredService: Sized + 'static {
    /// Type of the events of the service.
    type Event: 'static;

    /// Converts a monitor of this service to a [`CustomMonitor`], which judges every algorithm of
    /// the service.
    fn custom_monitor(monitor: BoxedMonitor<Self, Self::Event>) -> CustomMonitor;
}

impl MonitoredService for mutex::Command {
    type Event = mutex::Event;

    fn custom_monitor(monitor: BoxedMonitor<Self, mutex::Event>) -> CustomMonitor {
        CustomMonitor::Mutex(monitor)
    }
}

impl MonitoredService for election::Command {
    type Event = election::Event;

    fn custom_monitor(monitor: BoxedMonitor<Self, election::Event>) -> CustomMonitor {
        CustomMonitor::Election(monitor)
    }
}

impl CustomMonitors {
    /// Adds a monitor to the list.
    #[must_use]
    pub fn with<C, M>(mut self, monitor: M) -> Self
    where
        C: MonitoredService,
        M: Monitor<C, C::Event> + Send + Sync + 'static,
    {
        self.0.push(C::custom_monitor(BoxedMonitor(Box::new(monitor))));
        self
    }

    /// Returns true if the list contains no monitor.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes the monitors available to the simulator, the checker and the lab, for the rest of the
    /// program.
    ///
    /// # Panics
    ///
    /// If two monitors have the same name, or if the program has already installed monitors.
    pub fn install(self) {
        for (index, monitor) in self.0.iter().enumerate() {
            let name = monitor.property_name();
            let is_new = self.0[..index].iter().all(|other| other.property_name() != name);
            assert!(is_new, "two monitors have the name `{name}`");
        }
        assert!(OWN_MONITORS.set(self).is_ok(), "a program can install monitors only once");
    }
}

static OWN_MONITORS: OnceLock<CustomMonitors> = OnceLock::new();

/// Returns the monitors of a service that the program has added with [`CustomMonitors::install`].
/// For a service with a lock and an election, returns the monitors of both.
pub fn custom_monitors(service: Service) -> impl Iterator<Item = &'static CustomMonitor> {
    let all = OWN_MONITORS.get().map_or(&[][..], |monitors| &monitors.0);
    all.iter().filter(move |monitor| match monitor {
        CustomMonitor::Mutex(_) => matches!(service, Service::Mutex | Service::MutexAndElection),
        CustomMonitor::Election(_) => {
            matches!(service, Service::Election | Service::MutexAndElection)
        }
    })
}

/// Returns the properties of the monitors that the program has added for `service`. Each monitor
/// judges one property.
pub fn custom_properties(service: Service) -> impl Iterator<Item = Property> {
    custom_monitors(service).map(|monitor| Property::Custom(monitor.property_name()))
}

/// Returns a copy of the monitor for `property` that the program has added. Returns `None` if there
/// is none.
pub(crate) fn custom_monitor(property: Property) -> Option<CustomMonitor> {
    let all = OWN_MONITORS.get().map_or(&[][..], |monitors| &monitors.0);
    all.iter().find(|monitor| monitor.property_name() == property.name()).cloned()
}

/// Monitor that a program has added to the built-in monitors. The monitor judges either all locks
/// or all elections.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CustomMonitor {
    /// Monitor of a lock.
    Mutex(BoxedMonitor<mutex::Command, mutex::Event>),
    /// Monitor of an election.
    Election(BoxedMonitor<election::Command, election::Event>),
}

impl CustomMonitor {
    /// Returns the name of the property that the monitor judges.
    pub fn property_name(&self) -> &'static str {
        match self {
            CustomMonitor::Mutex(monitor) => monitor.0.property().name(),
            CustomMonitor::Election(monitor) => monitor.0.property().name(),
        }
    }
}

impl<C: ServiceCommand, E: ServiceEvent> Monitor<C, E> for CustomMonitor {
    fn property(&self) -> Property {
        Property::Custom(self.property_name())
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, C, E>) -> Result<(), Violation> {
        let command = match seen {
            Observation::Command { command, .. } => command.to_mutex_and_election(),
            _ => None,
        };
        match self {
            CustomMonitor::Mutex(monitor) => {
                let command = command.as_ref().and_then(|command| match command {
                    mutex_and_election::Command::Mutex(command) => Some(command),
                    mutex_and_election::Command::Election(_) => None,
                });
                let seen = project(seen, command, EventConversions::as_mutex);
                seen.map_or(Ok(()), |seen| monitor.0.observe(at, seen))
            }
            CustomMonitor::Election(monitor) => {
                let command = command.as_ref().and_then(|command| match command {
                    mutex_and_election::Command::Election(command) => Some(command),
                    mutex_and_election::Command::Mutex(_) => None,
                });
                let seen = project(seen, command, EventConversions::as_election);
                seen.map_or(Ok(()), |seen| monitor.0.observe(at, seen))
            }
        }
    }

    fn check_final_state(&self) -> Result<(), Violation> {
        match self {
            CustomMonitor::Mutex(monitor) => monitor.0.check_final_state(),
            CustomMonitor::Election(monitor) => monitor.0.check_final_state(),
        }
    }

    fn smallest_timestamp(&self) -> Option<u64> {
        match self {
            CustomMonitor::Mutex(monitor) => monitor.0.smallest_timestamp(),
            CustomMonitor::Election(monitor) => monitor.0.smallest_timestamp(),
        }
    }

    fn lower_timestamps(&mut self, by: u64) {
        match self {
            CustomMonitor::Mutex(monitor) => monitor.0.lower_timestamps(by),
            CustomMonitor::Election(monitor) => monitor.0.lower_timestamps(by),
        }
    }
}

/// Converts an observation of a combined service to an observation of one of its parts. `command`
/// is the observed command, if it belongs to this part, and `event` selects the events of this
/// part. Returns `None` if the observation belongs to another part. Crashes, recoveries and
/// messages belong to all parts.
fn project<'a, C, E, D, F>(
    seen: Observation<'a, C, E>,
    command: Option<&'a D>,
    event: impl FnOnce(&'a E) -> Option<&'a F>,
) -> Option<Observation<'a, D, F>> {
    Some(match seen {
        Observation::Command { clock, .. } => Observation::Command { command: command?, clock },
        Observation::Event(whole) => Observation::Event(event(whole)?),
        Observation::Crashed => Observation::Crashed,
        Observation::Recovered => Observation::Recovered,
        Observation::Sent { to } => Observation::Sent { to },
    })
}

/// A monitor of a service as a trait object.
pub struct BoxedMonitor<C, E>(Box<dyn DynMonitor<C, E>>);

trait DynMonitor<C, E>: Send + Sync {
    fn property(&self) -> Property;
    fn observe(&mut self, at: ProcessId, seen: Observation<'_, C, E>) -> Result<(), Violation>;
    fn check_final_state(&self) -> Result<(), Violation>;
    fn smallest_timestamp(&self) -> Option<u64>;
    fn lower_timestamps(&mut self, by: u64);
    fn copied(&self) -> Box<dyn DynMonitor<C, E>>;
    fn as_any(&self) -> &dyn Any;
    fn is_equal(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

impl<C, E, M: Monitor<C, E> + Send + Sync + 'static> DynMonitor<C, E> for M {
    fn property(&self) -> Property {
        Monitor::property(self)
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, C, E>) -> Result<(), Violation> {
        Monitor::observe(self, at, seen)
    }

    fn check_final_state(&self) -> Result<(), Violation> {
        Monitor::check_final_state(self)
    }

    fn smallest_timestamp(&self) -> Option<u64> {
        Monitor::smallest_timestamp(self)
    }

    fn lower_timestamps(&mut self, by: u64) {
        Monitor::lower_timestamps(self, by);
    }

    fn copied(&self) -> Box<dyn DynMonitor<C, E>> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_equal(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<M>() == Some(self)
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

impl<C, E> Clone for BoxedMonitor<C, E> {
    fn clone(&self) -> Self {
        BoxedMonitor(self.0.copied())
    }
}

impl<C, E> PartialEq for BoxedMonitor<C, E> {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_equal(other.0.as_any())
    }
}

impl<C, E> Eq for BoxedMonitor<C, E> {}

impl<C, E> Hash for BoxedMonitor<C, E> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash_into(hasher);
    }
}

impl<C, E> fmt::Debug for BoxedMonitor<C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BoxedMonitor").field(&self.0.property()).finish()
    }
}
