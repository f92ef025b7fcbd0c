//! From the names of a lock and an election to a protocol that offers both.

use tenure_core::{Algorithm, Card, Election, Mutex, Office};

use super::{Parameters, Unknown, unaliased};
use crate::Variants;
use crate::compose::{Coordinated, Side, coordinated, side};
use crate::election::members::{self as elections, any::Any as AnyElection};
use crate::mutex::members::{self as mutexes, any::Any as AnyMutex};

/// What to do with an office once its type is known.
pub trait OfficeVisitor: Sized {
    /// The outcome.
    type Output;

    /// The names stand for this office.
    fn office<P: Office + Algorithm>(self, config: P::Config) -> Self::Output;
}

/// What to do with many locks by name at a leader, [`Named`](crate::compose::Named), once their
/// type is known.
pub trait NamedVisitor: Sized {
    /// The outcome.
    type Output;

    /// The name stands for these locks.
    fn named<E: Election + Algorithm>(self, config: coordinated::Config<E::Config>)
    -> Self::Output;
}

/// Calls `visitor` with many locks by name, each of them `coordinated:ELECTION` and all of them
/// under one election.
///
/// # Errors
///
/// When there is no such name or variant, or when the lock follows no leader; the visitor was not
/// called then.
pub fn visit_named<V: NamedVisitor>(
    mutex: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, Unknown> {
    let (mutex, parameters) = unaliased(mutex, parameters);
    let election = mutex.strip_prefix("coordinated:").ok_or_else(|| Unknown::algorithm(&mutex))?;
    let (own, parameters) = parameters.split();
    let elected = elections::config(election, &parameters.of_office(election))?;
    let config = coordinated::configured::<AnyElection>(elected, own, &parameters);
    Ok(visitor.named::<AnyElection>(config))
}

/// Calls `visitor` with the office that a mutex and an election make: side by side, or the
/// mutex following the election's leader when it is `coordinated:ELECTION`.
///
/// Variants are those of the mutex, except that an election can be `fault-tolerant` as well. A
/// bully greets whoever is trusted again, since real networks part and heal.
///
/// # Errors
///
/// When there is no such name or variant; the visitor was not called then.
pub fn visit_office<V: OfficeVisitor>(
    mutex: &str,
    election: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, Unknown> {
    let (mutex, mut of_mutex) = unaliased(mutex, parameters);
    let (election, of_election) = unaliased(election, parameters);
    of_mutex.variants.retain(|variant| of_election.variants.contains(variant));
    let (own, of_mutex) = match mutex.starts_with("coordinated:") {
        true => of_mutex.split(),
        false => (Variants::none(), of_mutex),
    };
    let (mutex, election, parameters) = (&*mutex, &*election, &of_mutex);
    let elected = elections::config(election, &parameters.of_office(election))?;
    match mutex.strip_prefix("coordinated:") {
        Some(named) if named == election => {
            let config = coordinated::configured::<AnyElection>(elected, own, parameters);
            Ok(visitor.office::<Coordinated<AnyElection>>(config))
        }
        Some(_) => Err(Unknown::algorithm(mutex)),
        None => {
            let mutex = mutexes::config(mutex, parameters)?;
            let config = side::Config { mutex, election: elected };
            Ok(visitor.office::<Side<AnyMutex, AnyElection>>(config))
        }
    }
}

/// The same with a mutex that the catalogue does not have.
///
/// # Errors
///
/// When there is no such election.
pub fn visit_beside<M: Mutex + Algorithm, V: OfficeVisitor>(
    mutex: M::Config,
    election: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, Unknown> {
    let election = elections::config(election, &parameters.of_office(election))?;
    Ok(visitor.office::<Side<M, AnyElection>>(side::Config { mutex, election }))
}

/// The same with an election that the catalogue does not have: a mutex with a prefix follows it.
///
/// # Errors
///
/// When there is no such mutex or variant.
pub fn visit_led<E: Election + Algorithm, V: OfficeVisitor>(
    mutex: &str,
    election: E::Config,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, Unknown> {
    if let Some(named) = mutex.strip_prefix("coordinated:") {
        let is_named = named == E::card(&election, parameters.size).name;
        return if is_named {
            let none = Variants::none();
            let config = coordinated::configured::<E>(election, none, parameters);
            Ok(visitor.office::<Coordinated<E>>(config))
        } else {
            Err(Unknown::algorithm(mutex))
        };
    }
    let mutex = mutexes::config(mutex, parameters)?;
    Ok(visitor.office::<Side<AnyMutex, E>>(side::Config { mutex, election }))
}

/// The card of the office that a mutex and an election make.
///
/// # Errors
///
/// When there is no such name or variant.
pub fn office_card(mutex: &str, election: &str, parameters: &Parameters) -> Result<Card, Unknown> {
    struct ReadCard(u32);
    impl OfficeVisitor for ReadCard {
        type Output = Card;

        fn office<P: Office + Algorithm>(self, config: P::Config) -> Card {
            P::card(&config, self.0)
        }
    }
    visit_office(mutex, election, parameters, ReadCard(parameters.size))
}
