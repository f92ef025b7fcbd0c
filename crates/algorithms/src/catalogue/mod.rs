//! The catalogue: maps names to protocols.
//!
//! An engine is generic over the type of a protocol, but a command line only contains a name.
//! [`visit`] finds the type that has this name, and creates its configuration from the parameters.
//! Then [`visit`] calls an [`AlgorithmVisitor`] with the type and the configuration. A new
//! algorithm needs one line in the list of `mutex`, `election` or `agreement`.

pub(crate) mod catalogue_entries;
pub(crate) mod member;
mod mutex_and_election;
mod shapes;
pub(crate) mod sum_type;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use tenure_core::theory::{Prediction, WorkloadKind};
use tenure_core::{Agreement, Algorithm, Card, Delay, Election, Mutex, Property, Timing};

use crate::agreement::members as agreements;
use crate::channel::fifo;
use crate::compose::coordinated;
use crate::election::members::{self as elections, sum::Any as AnyElection};
use crate::election::{ChangRoberts, HirschbergSinclair};
use crate::mutex::members::{self as mutexes, sum::Any as AnyMutex};
use crate::reduction::mutex_from_election;
use catalogue_entries::all_agreements::{self, sum::Any as EveryAgreement};
use catalogue_entries::all_elections::{self, sum::Any as EveryElection};
use catalogue_entries::all_locks::{self, sum::Any as EveryLock};
use catalogue_entries::{bare_elections, bare_locks};

pub(crate) use catalogue_entries::members;

pub use shapes::{
    QUORUM_KINDS, TREE_SHAPES, parse_graph, parse_quorum_kind, parse_quorums_or_kind,
    parse_tree_or_shape, parse_tree_shape,
};

pub use crate::catalogue_error::CatalogueError;
pub use crate::parameters::{FromParameters, Parameters};
pub use member::{SumTypeConfig, SumTypeMember};
pub use mutex_and_election::{
    MutexAndElectionVisitor, NamedLocksVisitor, mutex_and_election_card, visit_mutex_and_election,
    visit_mutex_and_typed_election, visit_named_locks, visit_named_locks_of_typed_election,
    visit_typed_mutex_and_election,
};

/// Names of the mutual exclusion algorithms.
pub const MUTEXES: &[&str] = mutexes::NAMES;

/// Names of the election algorithms.
pub const ELECTIONS: &[&str] = elections::NAMES;

/// Names of the agreement algorithms.
pub const AGREEMENTS: &[&str] = agreements::NAMES;

/// Code that is generic over the type of an algorithm. [`visit`] finds this type by the name of the
/// algorithm, and then calls the method for the service of the algorithm.
pub trait AlgorithmVisitor: Sized {
    /// Result of the visit.
    type Output;

    /// Runs the visitor's code with the lock algorithm `P`. The catalogue calls this method if the
    /// selected name is that of a lock algorithm.
    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Self::Output;

    /// Runs the visitor's code with the election algorithm `P`. The catalogue calls this method if
    /// the selected name is that of an election algorithm.
    fn election<P: Election + Algorithm>(self, config: P::Config) -> Self::Output;

    /// Runs the visitor's code with the agreement algorithm `P`. The catalogue calls this method if
    /// the selected name is that of an agreement algorithm. The [`Card`] of the algorithm states
    /// the problem that it solves, for example consensus or a replicated log.
    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Self::Output;
}

/// Calls `visitor` with the type and configuration of the algorithm that has this name. All locks
/// share one type, all elections another, and all agreement algorithms a third. Therefore generic
/// code is compiled only three times. The name may be the name of a composition, and may have the
/// prefix `fifo:`, which adds a reliable channel.
///
/// # Errors
///
/// Returns an error, without calling the visitor, if the name or a variant is unknown. Also returns
/// an error if the algorithm cannot run with the other parameters, or if the parts of the
/// composition cannot be combined.
pub fn visit<V: AlgorithmVisitor>(
    name: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, CatalogueError> {
    Ok(match configured(name, parameters)? {
        Configuration::Lock(config) => visitor.mutex::<EveryLock>(config),
        Configuration::Election(config) => visitor.election::<EveryElection>(config),
        Configuration::Agreement(config) => visitor.agreement::<EveryAgreement>(config),
    })
}

/// Configuration of one algorithm. Each value contains the configuration of the sum type for one
/// service.
enum Configuration {
    Lock(all_locks::sum::Config),
    Election(all_elections::sum::Config),
    Agreement(all_agreements::sum::Config),
}

/// Returns the configuration of the algorithm with this name. The optional prefix `fifo:` of the
/// name adds a reliable channel. Fails as [`visit`] does.
fn configured(name: &str, parameters: &Parameters) -> Result<Configuration, CatalogueError> {
    use all_agreements::sum::Config as AgreementConfig;
    use all_elections::sum::Config as ElectionConfig;
    use all_locks::sum::Config as LockConfig;
    let (name, parameters) = &unaliased(name, parameters);
    let (named, resend) = match name.strip_prefix("fifo:") {
        Some(inner) => (
            bare_configuration(inner, &parameters.with_retransmission_delay())?,
            Some(parameters.retransmission_timeout()),
        ),
        None => (bare_configuration(name, parameters)?, None),
    };
    Ok(match (named, resend) {
        (BareConfiguration::Lock(it), None) => Configuration::Lock(LockConfig::Bare(it)),
        (BareConfiguration::Lock(it), Some(resend)) => {
            Configuration::Lock(LockConfig::OverFifo(config_around(it, resend)))
        }
        (BareConfiguration::Election(it), None) => {
            Configuration::Election(ElectionConfig::Bare(it))
        }
        (BareConfiguration::Election(it), Some(resend)) => {
            Configuration::Election(ElectionConfig::OverFifo(config_around(it, resend)))
        }
        (BareConfiguration::Agreement(it), None) => {
            Configuration::Agreement(AgreementConfig::Bare(it))
        }
        (BareConfiguration::Agreement(it), Some(resend)) => {
            Configuration::Agreement(AgreementConfig::OverFifo(config_around(it, resend)))
        }
    })
}

fn config_around<C>(inner: C, resend: Delay) -> fifo::Config<C> {
    fifo::Config { resend_timeout: resend, ..fifo::Config::with_inner_config(inner) }
}

/// Calls `visitor` with the algorithm's own type, and not with the type that [`visit`] uses for all
/// algorithms of a service. The states of the algorithm's own type are smaller. Supports only
/// algorithms that are simulated with up to a million processes. For all other names, also unknown
/// ones, returns `None` without calling the visitor.
///
/// # Errors
///
/// Returns an error, without calling the visitor, if the algorithm is supported but cannot run with
/// the parameters, for example because a variant is unknown.
pub fn try_visit_concrete_type<V: AlgorithmVisitor>(
    name: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<Option<V::Output>, CatalogueError> {
    let (name, parameters) = &unaliased(name, parameters);
    Ok(match &**name {
        "chang-roberts" => {
            Some(visitor.election::<ChangRoberts>(FromParameters::from_parameters(parameters)?))
        }
        "hirschberg-sinclair" => Some(
            visitor.election::<HirschbergSinclair>(FromParameters::from_parameters(parameters)?),
        ),
        _ => None,
    })
}

/// Configuration of an algorithm without the reliable channel that the prefix `fifo:` of a name
/// adds.
enum BareConfiguration {
    Lock(bare_locks::sum::Config),
    Election(bare_elections::sum::Config),
    Agreement(agreements::sum::Config),
}

fn bare_configuration(
    name: &str,
    parameters: &Parameters,
) -> Result<BareConfiguration, CatalogueError> {
    use bare_elections::sum::Config as ElectionConfig;
    use bare_locks::sum::Config as LockConfig;
    let with_full_name = |unknown| match unknown {
        CatalogueError::Algorithm { .. } => unknown_algorithm(name),
        other => other,
    };
    Ok(match name.split_once(':') {
        None if ELECTIONS.contains(&name) => {
            BareConfiguration::Election(ElectionConfig::Plain(elections::config(name, parameters)?))
        }
        Some(("election-from-mutex", inner)) => BareConfiguration::Election(
            ElectionConfig::ByLock(lock_for_election(inner, parameters).map_err(with_full_name)?),
        ),
        None if AGREEMENTS.contains(&name) => {
            BareConfiguration::Agreement(agreements::config(name, parameters)?)
        }
        None => BareConfiguration::Lock(LockConfig::Plain(mutexes::config(name, parameters)?)),
        Some(("coordinated", inner)) => {
            let (variants, parameters) = parameters.partition_variants();
            let election = election_to_follow(inner, &parameters).map_err(with_full_name)?;
            let config =
                coordinated::config_for_election::<AnyElection>(election, variants, &parameters)?;
            BareConfiguration::Lock(LockConfig::AtLeader(config))
        }
        Some(("mutex-from-election", inner)) => BareConfiguration::Lock(LockConfig::ByElection(
            election_for_lock(inner, parameters).map_err(with_full_name)?,
        )),
        Some(_) => return Err(unknown_algorithm(name)),
    })
}

/// Returns the configuration of a lock from which an election can be made. Such a lock promises
/// mutual exclusion and fencing, at least while all clocks run at the same rate. The fences become
/// the terms of the election. Returns an error for any other lock, and for parameters with which
/// the lock cannot run.
fn lock_for_election(
    name: &str,
    parameters: &Parameters,
) -> Result<mutexes::sum::Config, CatalogueError> {
    let config = mutexes::config(name, parameters)?;
    let card = AnyMutex::card(&config, parameters.size);
    let promises: Vec<Property> = card.promises_under_drift(Some(0)).collect();
    if !promises.contains(&Property::MutualExclusion) || !promises.contains(&Property::Fencing) {
        return Err(unknown_algorithm(name));
    }
    Ok(config)
}

/// Returns the configuration of an election that can be combined with a lock. Returns an error if
/// the election runs in rounds: in such an election all processes start together, but users request
/// a lock at any time. Also returns an error if the election cannot run with the parameters.
fn election_for_leader(
    name: &str,
    parameters: &Parameters,
) -> Result<elections::sum::Config, CatalogueError> {
    let config = elections::config(name, parameters)?;
    require_no_rounds(&AnyElection::card(&config, parameters.size))?;
    Ok(config)
}

/// Returns an error if the election with this card runs in rounds.
fn require_no_rounds(card: &Card) -> Result<(), CatalogueError> {
    match card.timing {
        Timing::Rounds => Err(CatalogueError::NeedsRounds { name: card.name.clone() }),
        _ => Ok(()),
    }
}

/// Returns an error if no lock can follow the leader of the election with this card.
fn require_single_leader(card: &Card) -> Result<(), CatalogueError> {
    require_no_rounds(card)?;
    match card.promises.contains(&Property::OneLeaderPerGroup) {
        true => Err(CatalogueError::LeaderPerGroup { name: card.name.clone() }),
        false => Ok(()),
    }
}

/// Returns the configuration of an election whose leader can grant a lock. Returns an error for an
/// election that may form several groups, each with its own leader. Also fails as
/// `election_for_leader` does.
fn election_to_follow(
    name: &str,
    parameters: &Parameters,
) -> Result<elections::sum::Config, CatalogueError> {
    let config = elections::config(name, parameters)?;
    require_single_leader(&AnyElection::card(&config, parameters.size))?;
    Ok(config)
}

/// Returns the configuration of a lock that is made from the election with this name. The process
/// with the largest rank must win the election. Returns an error for any other election, and for
/// parameters with which the election cannot run.
fn election_for_lock(
    name: &str,
    parameters: &Parameters,
) -> Result<mutex_from_election::Config<elections::sum::Config>, CatalogueError> {
    let plain = Parameters { variants: Vec::new(), ..parameters.clone() };
    let election = elections::config(name, &plain)?;
    if !AnyElection::card(&election, parameters.size).promises.contains(&Property::Validity) {
        return Err(unknown_algorithm(name));
    }
    Ok(mutex_from_election::Config { election, variants: parameters.variants()? })
}

/// Returns the [`Card`] of the algorithm with this name: its assumptions, costs and promises.
///
/// # Errors
///
/// As for [`visit`].
pub fn card(name: &str, parameters: &Parameters) -> Result<Card, CatalogueError> {
    let size = parameters.size;
    Ok(match configured(name, parameters)? {
        Configuration::Lock(config) => EveryLock::card(&config, size),
        Configuration::Election(config) => EveryElection::card(&config, size),
        Configuration::Agreement(config) => EveryAgreement::card(&config, size),
    })
}

/// Returns the number of messages that theory predicts for the algorithm with this name, or `None`
/// if there is no formula for this workload.
///
/// # Errors
///
/// As for [`visit`].
pub fn predicted_messages(
    name: &str,
    parameters: &Parameters,
    workload: WorkloadKind,
) -> Result<Option<Prediction>, CatalogueError> {
    let size = parameters.size;
    Ok(match configured(name, parameters)? {
        Configuration::Lock(config) => EveryLock::predicted_messages(&config, size, workload),
        Configuration::Election(config) => {
            EveryElection::predicted_messages(&config, size, workload)
        }
        Configuration::Agreement(config) => {
            EveryAgreement::predicted_messages(&config, size, workload)
        }
    })
}

pub(crate) fn unknown_algorithm(name: &str) -> CatalogueError {
    let known = MUTEXES.iter().chain(ELECTIONS).chain(AGREEMENTS).copied().collect();
    CatalogueError::Algorithm { name: name.to_string(), additional: Vec::new(), known }
}

/// Returns the names of all algorithms and of all valid compositions, without the prefix `fifo:`.
pub fn names() -> impl Iterator<Item = &'static str> {
    MUTEXES.iter().chain(ELECTIONS).chain(AGREEMENTS).copied().chain(composition_names())
}

/// Returns the names of the valid compositions, for example `coordinated:bully`. A composition is
/// valid if it has a card for five processes with default parameters.
pub fn composition_names() -> impl Iterator<Item = &'static str> {
    let parameters = Parameters::with_defaults(5);
    let composed = elections::COMPOSED.iter().chain(mutexes::COMPOSED).chain(agreements::COMPOSED);
    composed.copied().flatten().copied().filter(move |name| card(name, &parameters).is_ok())
}

/// Resolves aliases in a name. The name `a(b)` means `a:b`. If the variant `fault-tolerant` is
/// switched on, an algorithm in `REPAIRED` is replaced by its repaired algorithm, and the returned
/// parameters lack this variant. The algorithm is the part of the name after the last colon.
fn unaliased(name: &str, parameters: &Parameters) -> (String, Parameters) {
    let (name, mut parameters) = (with_colons(name), parameters.clone());
    let (prefix, last) = name
        .rsplit_once(':')
        .map_or(("", &*name), |(_, last)| (&name[..name.len() - last.len()], last));
    let aliased = parameters.variants.iter().any(|variant| variant == FAULT_TOLERANT);
    let repaired = REPAIRED.iter().find(|(plain, repaired)| [plain, repaired].contains(&&last));
    match repaired {
        Some((_, repaired)) if aliased => {
            parameters.variants.retain(|variant| variant != FAULT_TOLERANT);
            (prefix.to_string() + repaired, parameters)
        }
        _ => (name, parameters),
    }
}

const FAULT_TOLERANT: &str = "fault-tolerant";

/// Names of the algorithms that the variant `fault-tolerant` replaces, each with the name of its
/// replacement.
const REPAIRED: &[(&str, &str)] = &[
    ("token-ring", "repaired-ring"),
    ("ricart-agrawala", "tolerant-ricart-agrawala"),
    ("suzuki-kasami", "nishio-li-manning"),
    ("chang-roberts", "repaired-chang-roberts"),
];

/// Replaces each `(` by `:` and removes each `)`. For example, converts `a(b)` to `a:b`. Returns
/// the name unchanged if each `(` does not have its `)` at the end.
fn with_colons(name: &str) -> String {
    let without_end = name.trim_end_matches(')');
    let opened = without_end.matches('(').count();
    if without_end.contains(')') || name.len() - without_end.len() != opened {
        return name.into();
    }
    without_end.replace('(', ":")
}
