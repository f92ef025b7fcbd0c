//! Maps the names of a lock and an election to a protocol that offers both.

use alloc::string::String;

use tenure_core::{Algorithm, Card, Election, Mutex, MutexAndElection};

use super::{
    CatalogueError, Parameters, election_for_leader, election_to_follow, require_single_leader,
    unaliased, unknown_algorithm,
};
use crate::compose::{CoordinatedLock, SideBySide, coordinated, side_by_side};
use crate::election::members::sum::Any as AnyElection;
use crate::election::{bully, raft};
use crate::mutex::members::{self as mutexes, sum::Any as AnyMutex};
use crate::variants::{VariantId, Variants};

/// Code that is generic over the type of a protocol that offers a mutex and an election. The
/// functions [`visit_mutex_and_election`], [`visit_typed_mutex_and_election`] and
/// [`visit_mutex_and_typed_election`] find this type and then run the code.
pub trait MutexAndElectionVisitor: Sized {
    /// Result of the visit.
    type Output;

    /// Runs the code with the type `P` of the protocol and with its configuration.
    fn mutex_and_election<P: MutexAndElection + Algorithm>(self, config: P::Config)
    -> Self::Output;
}

/// Code that is generic over the type of the election in
/// [`NamedLocks`](crate::compose::NamedLocks). In this protocol, one elected leader grants many
/// named locks. [`visit_named_locks`] finds the election by its name, and then runs the code.
pub trait NamedLocksVisitor: Sized {
    /// Result of the visit.
    type Output;

    /// Runs the code with the election `E`. `config` is the configuration of the named locks.
    fn named_locks<E: Election + Algorithm>(
        self,
        config: coordinated::Config<E::Config>,
    ) -> Self::Output;
}

/// Calls `visitor` with the configuration of named locks that the leader of one election grants.
/// The name `mutex` has the form `coordinated:ELECTION`, where `ELECTION` is the name of the
/// election. A bully election always has the variant `greet`, and a Raft election has `pre-vote`,
/// as in [`visit_mutex_and_election`].
///
/// # Errors
///
/// Returns an error, without calling the visitor, if the election or a variant is unknown, or if
/// `mutex` does not have the form `coordinated:ELECTION`. Also returns an error if the election
/// runs in rounds, may have several leaders, or cannot run with the parameters.
pub fn visit_named_locks<V: NamedLocksVisitor>(
    mutex: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, CatalogueError> {
    let (mutex, parameters) = unaliased(mutex, parameters);
    let election = mutex.strip_prefix("coordinated:").ok_or_else(|| unknown_algorithm(&mutex))?;
    let (own, parameters) = parameters.partition_variants();
    let variants = &parameters.variants;
    let election_config =
        election_to_follow(election, &election_parameters(&parameters, election, variants))?;
    let config =
        coordinated::config_for_election::<AnyElection>(election_config, own, &parameters)?;
    Ok(visitor.named_locks::<AnyElection>(config))
}

/// Calls `visitor` with the configuration of named locks that the leader of one election grants, as
/// in [`visit_named_locks`]. The election is given by its type, and need not be in the catalogue.
/// The variants in `parameters` are ignored.
///
/// # Errors
///
/// Returns an error, without calling the visitor, if the election runs in rounds or may have
/// several leaders.
pub fn visit_named_locks_of_typed_election<E: Election + Algorithm, V: NamedLocksVisitor>(
    election: E::Config,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, CatalogueError> {
    Ok(visitor.named_locks::<E>(config_for_typed_election::<E>(election, parameters)?))
}

/// Returns the configuration of a lock at the leader of an election that is given by its type.
fn config_for_typed_election<E: Election + Algorithm>(
    election: E::Config,
    parameters: &Parameters,
) -> Result<coordinated::Config<E::Config>, CatalogueError> {
    require_single_leader(&E::card(&election, parameters.size))?;
    Ok(coordinated::config_for_election::<E>(election, Variants::none(), parameters)?)
}

/// Calls `visitor` with a protocol that combines a mutex and an election. If `mutex` is
/// `coordinated:ELECTION`, the mutex follows the leader of that election. Otherwise, the mutex and
/// the election run side by side.
///
/// The variants in `parameters` belong to the mutex. For `coordinated:ELECTION`, they may also be
/// variants of the election. If the mutex and the election run side by side, the election accepts
/// only the variant `fault-tolerant`. A bully election always has the variant `greet`, and a Raft
/// election has `pre-vote`, because real networks partition and heal.
///
/// # Errors
///
/// Returns an error, without calling the visitor, in these cases:
///
/// - A name or a variant is unknown.
/// - `mutex` is `coordinated:` with the name of another election than `election`.
/// - The election runs in rounds.
/// - `mutex` is `coordinated:ELECTION`, and the election may have several leaders.
/// - The mutex or the election cannot run with the parameters.
pub fn visit_mutex_and_election<V: MutexAndElectionVisitor>(
    mutex: &str,
    election: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, CatalogueError> {
    let (mutex, mut of_mutex) = unaliased(mutex, parameters);
    let (election, of_election) = unaliased(election, parameters);
    of_mutex.variants.retain(|variant| of_election.variants.contains(variant));
    let is_coordinated = mutex.starts_with("coordinated:");
    let (own, of_mutex) = match is_coordinated {
        true => of_mutex.partition_variants(),
        false => (Variants::none(), of_mutex),
    };
    let (mutex, election, parameters) = (&*mutex, &*election, &of_mutex);
    let variants = if is_coordinated { &of_mutex.variants[..] } else { &[] };
    let of_election = election_parameters(parameters, election, variants);
    match mutex.strip_prefix("coordinated:") {
        Some(named) if named == election => {
            let election = election_to_follow(election, &of_election)?;
            let config =
                coordinated::config_for_election::<AnyElection>(election, own, parameters)?;
            Ok(visitor.mutex_and_election::<CoordinatedLock<AnyElection>>(config))
        }
        Some(_) => Err(unknown_algorithm(mutex)),
        None => {
            let election = election_for_leader(election, &of_election)?;
            let mutex = mutexes::config(mutex, parameters)?;
            let config = side_by_side::Config { mutex, election };
            Ok(visitor.mutex_and_election::<SideBySide<AnyMutex, AnyElection>>(config))
        }
    }
}

/// Calls `visitor` with one protocol that runs a mutex and an election side by side, as in
/// [`visit_mutex_and_election`]. The election is found by its name in the catalogue. The mutex is
/// given by its type, and need not be in the catalogue. The variants in `parameters` are ignored.
///
/// # Errors
///
/// Returns an error, without calling the visitor, if the election is unknown, runs in rounds, or
/// cannot run with the parameters.
pub fn visit_typed_mutex_and_election<M: Mutex + Algorithm, V: MutexAndElectionVisitor>(
    mutex: M::Config,
    election: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, CatalogueError> {
    let election = election_for_leader(election, &election_parameters(parameters, election, &[]))?;
    Ok(visitor
        .mutex_and_election::<SideBySide<M, AnyElection>>(side_by_side::Config { mutex, election }))
}

/// Calls `visitor` with one protocol that offers a mutex and an election. The mutex is found by its
/// name in the catalogue. The election is given by its type, and need not be in the catalogue. If
/// `mutex` consists of `coordinated:` and the name of the election, the elected leader grants the
/// lock, and the variants in `parameters` are ignored. Otherwise, the mutex and the election run
/// side by side, as in [`visit_mutex_and_election`], and the variants belong to the mutex.
///
/// # Errors
///
/// Returns an error, without calling the visitor, if the mutex or a variant is unknown, or if the
/// mutex cannot run with the parameters. Also returns an error if `mutex` is `coordinated:` with
/// the name of another election, and if it follows an election that runs in rounds or may have
/// several leaders.
pub fn visit_mutex_and_typed_election<E: Election + Algorithm, V: MutexAndElectionVisitor>(
    mutex: &str,
    election: E::Config,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, CatalogueError> {
    if let Some(named) = mutex.strip_prefix("coordinated:") {
        let is_named = named == E::card(&election, parameters.size).name;
        return if is_named {
            let config = config_for_typed_election::<E>(election, parameters)?;
            Ok(visitor.mutex_and_election::<CoordinatedLock<E>>(config))
        } else {
            Err(unknown_algorithm(mutex))
        };
    }
    let mutex = mutexes::config(mutex, parameters)?;
    Ok(visitor
        .mutex_and_election::<SideBySide<AnyMutex, E>>(side_by_side::Config { mutex, election }))
}

/// Returns the parameters for an election that is combined with a lock. `election` is its name, and
/// `own` contains the variants that the user has chosen for it. A bully election also gets the
/// variant `greet`, and a Raft election gets `pre-vote`, because real networks partition and heal.
fn election_parameters(parameters: &Parameters, election: &str, own: &[String]) -> Parameters {
    let switch = match election {
        "bully" => Some(bully::VariantId::Greet.declaration()),
        "raft" => Some(raft::VariantId::PreVote.declaration()),
        _ => None,
    };
    let always = switch.into_iter().map(|it| it.name.into());
    let variants = always.chain(own.iter().cloned()).collect();
    Parameters { variants, ..parameters.clone() }
}

/// Returns the [`Card`] of the protocol that combines the mutex and the election.
///
/// # Errors
///
/// As for [`visit_mutex_and_election`].
pub fn mutex_and_election_card(
    mutex: &str,
    election: &str,
    parameters: &Parameters,
) -> Result<Card, CatalogueError> {
    struct ReadCard(u32);
    impl MutexAndElectionVisitor for ReadCard {
        type Output = Card;

        fn mutex_and_election<P: MutexAndElection + Algorithm>(self, config: P::Config) -> Card {
            P::card(&config, self.0)
        }
    }
    visit_mutex_and_election(mutex, election, parameters, ReadCard(parameters.size))
}
