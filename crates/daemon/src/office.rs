//! The offices that a node can run: a lock and a leader, whatever their types are.

use tenure_algorithms::catalogue::{self, NamedVisitor, OfficeVisitor, Parameters, Unknown};
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::compose::{Detected, Named, coordinated, detected};
use tenure_algorithms::detector::{Heartbeat, heartbeat};
use tenure_core::{Algorithm, Card, Delay, Election, Office, Service as Offered, TICKS_PER_UNIT};
use tenure_runtime::transport::Settings;
use tenure_runtime::{
    Asks, Demand, Front, Injection, Parts, Recorder, Running, StartError, Store, Tidings, start,
};
use tenure_trace::Recorded;

use crate::config::{Config, Service};

/// What a node is made of, before its protocol is known.
pub struct Materials<'a> {
    pub(crate) config: &'a Config,
    pub(crate) transport: Settings,
    pub(crate) store: Store,
    pub(crate) front: Front,
    pub(crate) asks: Asks,
    pub(crate) recorder: Recorder,
    pub(crate) injection: Injection,
}

/// An office under one configuration, whatever its type is.
pub trait AnyOffice {
    /// What it assumes, costs and promises in a group of `size` processes.
    fn card(&self, size: u32) -> Card;

    /// Starts a node of it.
    ///
    /// # Errors
    ///
    /// [`StartError`]; nothing is left running.
    fn start(&self, materials: Materials<'_>) -> Result<Running, StartError>;
}

/// The way from names to an office.
pub type Offices = fn(&Service, &Parameters) -> Result<Box<dyn AnyOffice>, Unknown>;

/// The offices of the catalogue, and many locks by name at a leader where the service says so.
///
/// # Errors
///
/// When there is no such name or variant.
pub fn of_house(service: &Service, parameters: &Parameters) -> Result<Box<dyn AnyOffice>, Unknown> {
    if service.named {
        catalogue::visit_named(&service.mutex, parameters, Erase)
    } else {
        catalogue::visit_office(&service.mutex, &service.election, parameters, Erase)
    }
}

/// Forgets the type of an office.
#[derive(Clone, Copy, Debug)]
pub struct Erase;

impl OfficeVisitor for Erase {
    type Output = Box<dyn AnyOffice>;

    fn office<P: Office + Algorithm>(self, config: P::Config) -> Self::Output {
        Box::new(Typed::<P> { config })
    }
}

impl NamedVisitor for Erase {
    type Output = Box<dyn AnyOffice>;

    fn named<E: Election + Algorithm>(
        self,
        config: coordinated::Config<E::Config>,
    ) -> Self::Output {
        Box::new(ManyLocks::<E> { config })
    }
}

struct Typed<P: Office> {
    config: P::Config,
}

struct ManyLocks<E: Election> {
    config: coordinated::Config<E::Config>,
}

impl<E: Election + Algorithm> AnyOffice for ManyLocks<E> {
    /// Nothing judges many locks by their names, so that nothing is promised to judges but what the
    /// election is.
    fn card(&self, size: u32) -> Card {
        let mut card = Named::<E>::card(&self.config, size);
        for promised in [&mut card.promises, &mut card.clocked] {
            promised.retain(|promise| promise.is_of(Offered::Election));
        }
        card
    }

    fn start(&self, materials: Materials<'_>) -> Result<Running, StartError> {
        let (detector, inner) = (detector(materials.config), self.config.clone());
        materials.start::<Named<E>>(detected::Config { detector, inner })
    }
}

impl<P: Office + Algorithm> AnyOffice for Typed<P> {
    fn card(&self, size: u32) -> Card {
        P::card(&self.config, size)
    }

    /// Heartbeats stay outside the reliable channel: a late one is worth nothing.
    fn start(&self, materials: Materials<'_>) -> Result<Running, StartError> {
        let (detector, config) = (detector(materials.config), self.config.clone());
        if materials.config.channel.fifo {
            let resend = Delay::ticks(materials.config.detector.message_ms * TICKS_PER_UNIT / 2);
            let inner = fifo::Config { resend, ..fifo::Config::around(config) };
            materials.start::<Fifo<P>>(detected::Config { detector, inner })
        } else {
            materials.start::<P>(detected::Config { detector, inner: config })
        }
    }
}

impl Materials<'_> {
    fn start<P>(
        self,
        config: detected::Config<heartbeat::Config, P::Config>,
    ) -> Result<Running, StartError>
    where
        P: Recorded<Command: Demand, Event: Tidings>,
    {
        start::<Detected<Heartbeat, P>, Front>(Parts {
            config,
            transport: self.transport,
            store: self.store,
            local: self.front,
            asks: self.asks,
            recorder: self.recorder,
            injection: self.injection,
            suspected: Some(|process| process.detector().suspected()),
        })
    }
}

fn detector(config: &Config) -> heartbeat::Config {
    let detector = &config.detector;
    heartbeat::Config {
        period: Delay::units(detector.period_ms),
        timeout: Delay::units(detector.timeout_ms).max,
        increment: Delay::units(detector.increment_ms).max,
        longest: Delay::units(detector.longest_ms).max,
    }
}
