//! Protocols that a node can run. Each protocol combines locks and an election. A trait object
//! hides the type of the protocol.

use tenure_algorithms::catalogue::{
    self, CatalogueError, MutexAndElectionVisitor, NamedLocksVisitor, Parameters,
};
use tenure_algorithms::channel::{FifoChannel, fifo};
use tenure_algorithms::compose::{NamedLocks, WithDetector, coordinated, with_detector};
use tenure_algorithms::detector::{AdaptiveTimeoutDetector, heartbeat};
use tenure_core::{
    Algorithm, Card, Delay, Election, MutexAndElection, Service as Offered, TICKS_PER_TIME_UNIT,
};
use tenure_runtime::transport::MeshSettings;
use tenure_runtime::{
    FaultInjection, LockApplication, LockCommand, LockEvent, LockRequestReceiver, NodeComponents,
    NodeStartError, RunningNode, StableStorage, TraceSink, start_node,
};
use tenure_trace::RecordableProtocol;

use crate::config::{AlgorithmConfig, Config};

/// Parts of a node that do not depend on its protocol.
pub struct CommonNodeComponents<'a> {
    pub(crate) config: &'a Config,
    pub(crate) transport: MeshSettings,
    pub(crate) store: StableStorage,
    pub(crate) application: LockApplication,
    pub(crate) requests: LockRequestReceiver,
    pub(crate) trace_sink: TraceSink,
    pub(crate) injection: FaultInjection,
}

/// Protocol of locks and an election, with its configuration. The type of the protocol is hidden.
pub trait AnyProtocol {
    /// Returns the [`Card`] of the protocol for a group of `size` processes: its assumptions, costs
    /// and properties.
    fn card(&self, size: u32) -> Card;

    /// Starts a node that runs the protocol.
    ///
    /// # Errors
    ///
    /// [`NodeStartError`]. Nothing is left running.
    fn start(&self, parts: CommonNodeComponents<'_>) -> Result<RunningNode, NodeStartError>;
}

/// Function that returns the protocol for the names in a configuration.
pub type ProtocolFactory =
    fn(&AlgorithmConfig, &Parameters) -> Result<Box<dyn AnyProtocol>, CatalogueError>;

/// Returns a protocol of the catalogue: one lock and an election, or many named locks that a leader
/// grants.
///
/// # Errors
///
/// [`CatalogueError`] if a name or variant does not exist.
pub fn protocol_from_catalogue(
    service: &AlgorithmConfig,
    parameters: &Parameters,
) -> Result<Box<dyn AnyProtocol>, CatalogueError> {
    if service.named {
        catalogue::visit_named_locks(&service.mutex, parameters, BoxProtocolVisitor)
    } else {
        catalogue::visit_mutex_and_election(
            &service.mutex,
            &service.election,
            parameters,
            BoxProtocolVisitor,
        )
    }
}

/// Visitor that converts a protocol of any type to a boxed [`AnyProtocol`].
#[derive(Clone, Copy, Debug)]
pub struct BoxProtocolVisitor;

impl MutexAndElectionVisitor for BoxProtocolVisitor {
    type Output = Box<dyn AnyProtocol>;

    fn mutex_and_election<P: MutexAndElection + Algorithm>(
        self,
        config: P::Config,
    ) -> Self::Output {
        Box::new(Typed::<P> { config })
    }
}

impl NamedLocksVisitor for BoxProtocolVisitor {
    type Output = Box<dyn AnyProtocol>;

    fn named_locks<E: Election + Algorithm>(
        self,
        config: coordinated::Config<E::Config>,
    ) -> Self::Output {
        Box::new(ManyLocks::<E> { config })
    }
}

struct Typed<P: MutexAndElection> {
    config: P::Config,
}

struct ManyLocks<E: Election> {
    config: coordinated::Config<E::Config>,
}

impl<E: Election + Algorithm> AnyProtocol for ManyLocks<E> {
    /// Returns the [`Card`] of the protocol. It contains only the properties of the election,
    /// because no monitor checks named locks.
    fn card(&self, size: u32) -> Card {
        let mut card = NamedLocks::<E>::card(&self.config, size);
        for promised in [&mut card.promises, &mut card.timed_promises] {
            promised.retain(|promise| promise.applies_to(Offered::Election));
        }
        card
    }

    fn start(&self, parts: CommonNodeComponents<'_>) -> Result<RunningNode, NodeStartError> {
        let (detector, inner) = (detector(parts.config), self.config.clone());
        parts.start::<NamedLocks<E>>(with_detector::Config { detector, inner })
    }
}

impl<P: MutexAndElection + Algorithm> AnyProtocol for Typed<P> {
    fn card(&self, size: u32) -> Card {
        P::card(&self.config, size)
    }

    /// Starts the node. The algorithm uses the adapter [`FifoChannel`] if the configuration
    /// requires reliable channels. Heartbeats never use the adapter, because a late heartbeat has
    /// no value.
    fn start(&self, parts: CommonNodeComponents<'_>) -> Result<RunningNode, NodeStartError> {
        let (detector, config) = (detector(parts.config), self.config.clone());
        if parts.config.channel.fifo {
            let resend = Delay::ticks(parts.config.detector.message_ms * TICKS_PER_TIME_UNIT / 2);
            let inner =
                fifo::Config { resend_timeout: resend, ..fifo::Config::with_inner_config(config) };
            parts.start::<FifoChannel<P>>(with_detector::Config { detector, inner })
        } else {
            parts.start::<P>(with_detector::Config { detector, inner: config })
        }
    }
}

impl CommonNodeComponents<'_> {
    fn start<P>(
        self,
        config: with_detector::Config<heartbeat::Config, P::Config>,
    ) -> Result<RunningNode, NodeStartError>
    where
        P: RecordableProtocol<Command: LockCommand, Event: LockEvent>,
    {
        start_node::<WithDetector<AdaptiveTimeoutDetector, P>, LockApplication>(NodeComponents {
            config,
            transport: self.transport,
            store: self.store,
            application: self.application,
            requests: self.requests,
            trace_sink: self.trace_sink,
            injection: self.injection,
            suspected_peers_fn: Some(|process| process.detector().suspected()),
        })
    }
}

fn detector(config: &Config) -> heartbeat::Config {
    let detector = &config.detector;
    heartbeat::Config {
        period: Delay::time_units(detector.period_ms),
        initial_timeout: Delay::time_units(detector.timeout_ms).max,
        increment: Delay::time_units(detector.increment_ms).max,
        // The maximum is at least the initial timeout, so that a wrong suspicion never makes the
        // timeout shorter.
        max_timeout: Delay::time_units(detector.longest_ms.max(detector.timeout_ms)).max,
    }
}
