//! Catalogue of all algorithms: the built-in ones, and those that a program registers.

use std::sync::OnceLock;

use tenure_algorithms::catalogue::{
    self as builtin_catalogue, CatalogueError, FromParameters, Parameters,
};
use tenure_core::service::{election, mutex};
use tenure_core::theory::{Prediction, WorkloadKind};
use tenure_core::{Algorithm, Card, Election, Mutex};
#[cfg(feature = "nodes")]
use tenure_daemon::{AlgorithmConfig, AnyProtocol, BoxProtocolVisitor, ProtocolFactory};

use crate::any_algorithm::{AnyAlgorithm, builtin_algorithm};
use crate::check::{check_election, check_lock, measure_any, measure_lock};
use crate::instance::Instance;

/// Algorithms that a program adds to the built-in algorithms of Tenure.
///
/// ```
/// use tenure_algorithms::channel::FifoChannel;
/// use tenure_algorithms::mutex::Central;
/// use tenure_instances::catalogue;
///
/// // Use your own algorithm here. The second entry has the name `fifo:` plus its name.
/// let own = catalogue![Central, FifoChannel<Central>];
/// ```
#[derive(Default)]
pub struct CustomAlgorithms(Vec<UserEntry>);

/// Creates the [`CustomAlgorithms`] of the given algorithm types.
#[macro_export]
macro_rules! catalogue {
    ($($Algorithm:ty),* $(,)?) => {
        $crate::CustomAlgorithms::default()$(.with::<$Algorithm>())*
    };
}

/// An algorithm that a program registers, with the functions that configure and run it.
struct UserEntry {
    name: String,
    /// True for a lock, false for an election.
    is_lock: bool,
    /// Function that returns the card of the algorithm with these parameters.
    card: fn(&Parameters) -> Result<Card, CatalogueError>,
    /// Function that returns the number of messages that theory predicts, or `None` if there is no
    /// formula.
    predicted_messages: fn(&Parameters, WorkloadKind) -> Result<Option<Prediction>, CatalogueError>,
    /// Function that returns the algorithm, configured by the parameters.
    instantiate: fn(&Parameters) -> Result<Box<dyn AnyAlgorithm>, CatalogueError>,
    /// Function that combines the algorithm with a built-in algorithm of the other service, for
    /// nodes.
    #[cfg(feature = "nodes")]
    create_protocol: ProtocolFactory,
}

/// A service for which a program can register its own algorithm `P`: mutual exclusion or election.
/// The command type of the service implements this trait.
pub trait RegistrableService<P> {
    /// Adds the algorithm `P` to `catalogue`, as an algorithm of this service.
    fn register(catalogue: &mut CustomAlgorithms);
}

impl<P: Mutex + Algorithm<Config: FromParameters>> RegistrableService<P> for mutex::Command {
    fn register(catalogue: &mut CustomAlgorithms) {
        catalogue.0.push(UserEntry {
            name: name::<P>(),
            is_lock: true,
            card: card_of::<P>,
            predicted_messages: predicted_messages_of::<P>,
            instantiate: |parameters| {
                let config = P::Config::from_parameters(parameters)?;
                Ok(Instance::<P>::boxed(config, None, check_lock::<P>, measure_lock::<P>))
            },
            #[cfg(feature = "nodes")]
            create_protocol: |service, parameters| {
                let lock = P::Config::from_parameters(parameters)?;
                let plain = Parameters { variants: Vec::new(), ..parameters.clone() };
                builtin_catalogue::visit_typed_mutex_and_election::<P, BoxProtocolVisitor>(
                    lock,
                    &service.election,
                    &plain,
                    BoxProtocolVisitor,
                )
            },
        });
    }
}

impl<P: Election + Algorithm<Config: FromParameters>> RegistrableService<P> for election::Command {
    fn register(catalogue: &mut CustomAlgorithms) {
        catalogue.0.push(UserEntry {
            name: name::<P>(),
            is_lock: false,
            card: card_of::<P>,
            predicted_messages: predicted_messages_of::<P>,
            instantiate: |parameters| {
                let config = P::Config::from_parameters(parameters)?;
                Ok(Instance::<P>::boxed(config, None, check_election::<P>, measure_any::<P>))
            },
            #[cfg(feature = "nodes")]
            create_protocol: |service, parameters| {
                let election = P::Config::from_parameters(parameters)?;
                if service.named {
                    return builtin_catalogue::visit_named_locks_of_typed_election::<
                        P,
                        BoxProtocolVisitor,
                    >(election, parameters, BoxProtocolVisitor);
                }
                builtin_catalogue::visit_mutex_and_typed_election::<P, BoxProtocolVisitor>(
                    &service.mutex,
                    election,
                    parameters,
                    BoxProtocolVisitor,
                )
            },
        });
    }
}

fn name<P: Algorithm<Config: FromParameters>>() -> String {
    card_of::<P>(&Parameters::with_defaults(5)).expect("plain parameters suit every algorithm").name
}

fn card_of<P: Algorithm<Config: FromParameters>>(
    parameters: &Parameters,
) -> Result<Card, CatalogueError> {
    Ok(P::card(&P::Config::from_parameters(parameters)?, parameters.size))
}

fn predicted_messages_of<P: Algorithm<Config: FromParameters>>(
    parameters: &Parameters,
    workload: WorkloadKind,
) -> Result<Option<Prediction>, CatalogueError> {
    Ok(P::predicted_messages(&P::Config::from_parameters(parameters)?, parameters.size, workload))
}

static USER_ALGORITHMS: OnceLock<CustomAlgorithms> = OnceLock::new();

impl CustomAlgorithms {
    /// Adds the algorithm of type `P` to the catalogue.
    #[must_use]
    pub fn with<P: Algorithm<Command: RegistrableService<P>>>(mut self) -> Self {
        P::Command::register(&mut self);
        self
    }

    /// Returns true if the catalogue contains no algorithm.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes the algorithms of this catalogue available to the functions of this crate, under the
    /// names on their [`Card`]s.
    ///
    /// # Panics
    ///
    /// If a name is already in use, or if the program has already installed a catalogue.
    pub fn install(self) {
        let mut names: Vec<&str> = builtin_catalogue::names().collect();
        for entry in &self.0 {
            let name = &*entry.name;
            assert!(!names.contains(&name), "the name `{name}` is already in use");
            names.push(name);
        }
        assert!(USER_ALGORITHMS.set(self).is_ok(), "a program can install only one catalogue");
    }
}

fn user_algorithms() -> &'static [UserEntry] {
    USER_ALGORITHMS.get().map_or(&[][..], |user| &user.0)
}

fn find(name: &str) -> Option<&'static UserEntry> {
    user_algorithms().iter().find(|entry| entry.name == name)
}

/// Returns the names of the registered locks if `locks` is true, and of the registered election
/// algorithms otherwise.
fn user_names(locks: bool) -> impl Iterator<Item = &'static str> {
    let entries = user_algorithms().iter().filter(move |entry| entry.is_lock == locks);
    entries.map(|entry| &*entry.name)
}

/// Adds the names of the registered algorithms to the suggestions of an error.
fn with_user_names(unknown: CatalogueError) -> CatalogueError {
    unknown.with_additional_names(user_algorithms().iter().map(|entry| entry.name.clone()))
}

/// Returns the names of all mutual exclusion algorithms.
pub fn lock_names() -> impl Iterator<Item = &'static str> {
    builtin_catalogue::MUTEXES.iter().copied().chain(user_names(true))
}

/// Returns the names of all election algorithms.
pub fn election_names() -> impl Iterator<Item = &'static str> {
    builtin_catalogue::ELECTIONS.iter().copied().chain(user_names(false))
}

/// Returns the names of all algorithms for services other than locks and elections.
pub fn agreement_names() -> impl Iterator<Item = &'static str> {
    builtin_catalogue::AGREEMENTS.iter().copied()
}

/// Returns the names of all algorithms. The last names are those of compositions of built-in
/// algorithms, which have a prefix, such as `fifo:`.
pub fn algorithm_names() -> impl Iterator<Item = &'static str> {
    lock_names()
        .chain(election_names())
        .chain(agreement_names())
        .chain(builtin_catalogue::composition_names())
}

/// Returns the [`Card`] of an algorithm: its assumptions, costs and promises.
///
/// # Errors
///
/// [`CatalogueError`] if the name or a variant does not exist, or if the parameters do not suit the
/// algorithm.
pub fn card(name: &str, parameters: &Parameters) -> Result<Card, CatalogueError> {
    match find(name) {
        Some(entry) => (entry.card)(parameters),
        None => builtin_catalogue::card(name, parameters).map_err(with_user_names),
    }
}

/// Returns the number of messages that theory predicts for an algorithm and a kind of workload.
/// Returns `None` if there is no formula.
///
/// # Errors
///
/// [`CatalogueError`] if the name or a variant does not exist, or if the parameters do not suit the
/// algorithm.
pub fn predicted_message_count(
    name: &str,
    parameters: &Parameters,
    workload: WorkloadKind,
) -> Result<Option<Prediction>, CatalogueError> {
    match find(name) {
        Some(entry) => (entry.predicted_messages)(parameters, workload),
        None => builtin_catalogue::predicted_messages(name, parameters, workload)
            .map_err(with_user_names),
    }
}

/// Returns the algorithm with this name, configured by `parameters`.
///
/// # Errors
///
/// [`CatalogueError`] if the name or a variant does not exist, or if the parameters do not suit the
/// algorithm.
pub fn algorithm(
    name: &str,
    parameters: &Parameters,
) -> Result<Box<dyn AnyAlgorithm>, CatalogueError> {
    match find(name) {
        Some(entry) => (entry.instantiate)(parameters),
        None => builtin_algorithm(name, parameters).map_err(with_user_names),
    }
}

/// Returns the protocol that a node runs: a combination of the lock and the election that `service`
/// names. At most one of the two names may be that of a registered algorithm. If `service.named` is
/// true, returns many named locks, which the leader of the election in the name of the lock grants.
///
/// # Errors
///
/// [`CatalogueError`] if a name or a variant does not exist, if the parameters do not suit the
/// algorithms, or if both names are those of registered algorithms.
#[cfg(feature = "nodes")]
pub fn service_protocol(
    service: &AlgorithmConfig,
    parameters: &Parameters,
) -> Result<Box<dyn AnyProtocol>, CatalogueError> {
    let registered = match service.named {
        true => {
            let election = service.mutex.strip_prefix("coordinated:").and_then(find);
            election.filter(|entry| !entry.is_lock)
        }
        false => find(&service.mutex).or_else(|| find(&service.election)),
    };
    match registered {
        Some(entry) => (entry.create_protocol)(service, parameters),
        None => {
            tenure_daemon::protocol_from_catalogue(service, parameters).map_err(with_user_names)
        }
    }
}
