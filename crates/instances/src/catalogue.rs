//! The names that this program knows: those of the house, and those that it brings along.

use std::sync::OnceLock;

use tenure_algorithms::catalogue::{self as house, Configured, Parameters, Unknown};
use tenure_core::service::{election, mutex};
use tenure_core::theory::{Expected, Scene};
use tenure_core::{Algorithm, Card, Election, Mutex};
use tenure_daemon::{AnyOffice, Erase, Offices, Service};

use crate::examination::{of_election, of_lock};
use crate::instance::Instance;
use crate::subject::{Subject, of_house};

/// The algorithms that a program adds to those of the house.
///
/// ```
/// use tenure_algorithms::channel::Fifo;
/// use tenure_algorithms::mutex::Central;
/// use tenure_instances::catalogue;
///
/// // An algorithm of your own stands here; the second is `fifo:` and its name.
/// let own = catalogue![Central, Fifo<Central>];
/// ```
#[derive(Default)]
pub struct Catalogue {
    locks: Vec<Member>,
    elections: Vec<Member>,
}

/// The algorithms of these types, which a program adds to those of the house.
#[macro_export]
macro_rules! catalogue {
    ($($Algorithm:ty),* $(,)?) => {
        $crate::Catalogue::default()$(.with::<$Algorithm>())*
    };
}

/// An algorithm of a program's own.
struct Member {
    name: String,
    card: fn(&Parameters) -> Result<Card, Unknown>,
    expected: fn(&Parameters, Scene) -> Result<Option<Expected>, Unknown>,
    subject: fn(&Parameters) -> Result<Box<dyn Subject>, Unknown>,
    office: Offices,
}

/// A service of which a program may bring an algorithm of its own.
pub trait Brought<P> {
    /// Adds it where it belongs.
    fn bring(catalogue: &mut Catalogue);
}

impl<P: Mutex + Algorithm<Config: Configured>> Brought<P> for mutex::Command {
    fn bring(catalogue: &mut Catalogue) {
        catalogue.locks.push(Member {
            name: name::<P>(),
            card: card_of::<P>,
            expected: expected_of::<P>,
            subject: |parameters| {
                let config = P::Config::configured(parameters)?;
                Ok(Box::new(Instance::<P> { config, alone: None, examine: of_lock::<P> }))
            },
            office: |service, parameters| {
                let lock = P::Config::configured(parameters)?;
                let plain = Parameters { variants: Vec::new(), ..parameters.clone() };
                house::visit_beside::<P, Erase>(lock, &service.election, &plain, Erase)
            },
        });
    }
}

impl<P: Election + Algorithm<Config: Configured>> Brought<P> for election::Command {
    fn bring(catalogue: &mut Catalogue) {
        catalogue.elections.push(Member {
            name: name::<P>(),
            card: card_of::<P>,
            expected: expected_of::<P>,
            subject: |parameters| {
                let config = P::Config::configured(parameters)?;
                Ok(Box::new(Instance::<P> { config, alone: None, examine: of_election::<P> }))
            },
            office: |service, parameters| {
                let election = P::Config::configured(parameters)?;
                house::visit_led::<P, Erase>(&service.mutex, election, parameters, Erase)
            },
        });
    }
}

fn name<P: Algorithm<Config: Configured>>() -> String {
    card_of::<P>(&Parameters::plain(5)).expect("plain parameters suit every algorithm").name
}

fn card_of<P: Algorithm<Config: Configured>>(parameters: &Parameters) -> Result<Card, Unknown> {
    Ok(P::card(&P::Config::configured(parameters)?, parameters.size))
}

fn expected_of<P: Algorithm<Config: Configured>>(
    parameters: &Parameters,
    scene: Scene,
) -> Result<Option<Expected>, Unknown> {
    Ok(P::expected(&P::Config::configured(parameters)?, parameters.size, scene))
}

static OWN: OnceLock<Catalogue> = OnceLock::new();

impl Catalogue {
    /// The same with one more algorithm.
    #[must_use]
    pub fn with<P: Algorithm<Command: Brought<P>>>(mut self) -> Self {
        P::Command::bring(&mut self);
        self
    }

    /// Whether the program brings none.
    pub fn is_empty(&self) -> bool {
        self.locks.is_empty() && self.elections.is_empty()
    }

    /// From now on this program knows them, under the names on their cards.
    ///
    /// # Panics
    ///
    /// When a name is taken: by the house, by another of them, or by an earlier call.
    pub fn install(self) {
        let mut names: Vec<&str> = house::names().collect();
        for member in self.locks.iter().chain(&self.elections) {
            let name = &*member.name;
            assert!(!names.contains(&name), "`{name}` is the name of another algorithm already");
            names.push(name);
        }
        assert!(OWN.set(self).is_ok(), "a program says once what algorithms it brings");
    }
}

fn own() -> (&'static [Member], &'static [Member]) {
    OWN.get().map_or((&[], &[]), |own| (&own.locks, &own.elections))
}

fn find(name: &str) -> Option<&'static Member> {
    let (locks, elections) = own();
    locks.iter().chain(elections).find(|member| member.name == name)
}

/// What this program has besides the house is told to whoever looks for a name.
fn beside_own(unknown: Unknown) -> Unknown {
    let (locks, elections) = own();
    unknown.beside(locks.iter().chain(elections).map(|member| member.name.clone()))
}

/// The names of all locks.
pub fn locks() -> impl Iterator<Item = &'static str> {
    let own = own().0.iter().map(|member| &*member.name);
    house::MUTEXES.iter().copied().chain(own)
}

/// The names of all elections.
pub fn elections() -> impl Iterator<Item = &'static str> {
    let own = own().1.iter().map(|member| &*member.name);
    house::ELECTIONS.iter().copied().chain(own)
}

/// The names of all that agree otherwise.
pub fn agreements() -> impl Iterator<Item = &'static str> {
    house::AGREEMENTS.iter().copied()
}

/// All names without a prefix, and the compositions that exist.
pub fn names() -> impl Iterator<Item = &'static str> {
    locks().chain(elections()).chain(agreements()).chain(house::compositions())
}

/// The card of the algorithm that a name stands for.
///
/// # Errors
///
/// When there is no such name or variant.
pub fn card(name: &str, parameters: &Parameters) -> Result<Card, Unknown> {
    match find(name) {
        Some(own) => (own.card)(parameters),
        None => house::card(name, parameters).map_err(beside_own),
    }
}

/// How many messages theory expects of the algorithm that a name stands for.
///
/// # Errors
///
/// When there is no such name or variant.
pub fn expected(
    name: &str,
    parameters: &Parameters,
    scene: Scene,
) -> Result<Option<Expected>, Unknown> {
    match find(name) {
        Some(own) => (own.expected)(parameters, scene),
        None => house::expected(name, parameters, scene).map_err(beside_own),
    }
}

/// The algorithm that a name stands for, as the parameters configure it.
///
/// # Errors
///
/// When there is no such name or variant.
pub fn subject(name: &str, parameters: &Parameters) -> Result<Box<dyn Subject>, Unknown> {
    match find(name) {
        Some(own) => (own.subject)(parameters),
        None => of_house(name, parameters).map_err(beside_own),
    }
}

/// The lock and the leader that nodes offer under these names.
///
/// # Errors
///
/// When there is no such name or variant.
pub fn office(service: &Service, parameters: &Parameters) -> Result<Box<dyn AnyOffice>, Unknown> {
    match find(&service.mutex).or_else(|| find(&service.election)) {
        Some(own) => (own.office)(service, parameters),
        None => tenure_daemon::of_house(service, parameters),
    }
}
