//! From names to protocols.
//!
//! An engine is generic over a protocol's type; a command line has only its name. A
//! [`Visitor`] bridges the two: [`visit`] calls it with the type that the name stands for and
//! the configuration that the parameters ask for. Adding an algorithm adds one line to `members.rs`.

mod members;
mod parameters;
mod sum;

use core::fmt;

use alloc::string::{String, ToString};

use tenure_core::quorum::{Kind, NoQuorums};
use tenure_core::{Algorithm, Card, Election, Mutex, Office, Rebase};

use crate::UnknownVariant;
use crate::channel::{Fifo, fifo};
use crate::compose::{Coordinated, MutexOnly, Side, side};
use members::elections::any_election::Any as AnyElection;
use members::mutexes::any_mutex::Any as AnyMutex;
use members::{elections, mutexes};

pub use members::elections::ELECTIONS;
pub use members::mutexes::MUTEXES;
pub use parameters::Parameters;

/// The compositions, by their names.
const COMPOSITIONS: &[&str] = &[
    "coordinated:lelann",
    "coordinated:chang-roberts",
    "coordinated:hirschberg-sinclair",
    "coordinated:dolev-klawe-rodeh",
    "coordinated:franklin",
    "coordinated:itai-rodeh",
    "coordinated:bully",
    "coordinated:raft",
];

/// The prefixes and what they make of the name behind the colon.
pub const PREFIXES: &[(&str, &str)] = &[
    ("fifo", "any of them over a reliable channel made from an unreliable one"),
    ("coordinated", "the centralised mutex at whoever this election elects"),
];

/// The ways to build quorums, by their names.
pub const QUORUMS: &[(&str, Kind)] = &[
    ("pairs", Kind::Pairs),
    ("fpp", Kind::Plane),
    ("grid", Kind::Grid),
    ("majority", Kind::Majority),
    ("tree", Kind::Tree),
];

/// The way to build quorums that has this name.
///
/// # Errors
///
/// When there is none.
pub fn quorums(name: &str) -> Result<Kind, Unknown> {
    let found = QUORUMS.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| *kind).ok_or_else(|| Unknown::Kind(name.to_string()))
}

/// What to do with a protocol once its type is known.
pub trait Visitor: Sized {
    /// The outcome.
    type Output;

    /// The name stands for a mutex.
    fn mutex<P: Mutex + Algorithm + Rebase>(self, config: P::Config) -> Self::Output;

    /// The name stands for an election.
    fn election<P: Election + Algorithm + Rebase>(self, config: P::Config) -> Self::Output;
}

/// What to do with an office once its type is known.
pub trait OfficeVisitor: Sized {
    /// The outcome.
    type Output;

    /// The names stand for this office.
    fn office<P: Office + Algorithm>(self, config: P::Config) -> Self::Output;
}

/// Calls `visitor` with the protocol that `name` stands for.
///
/// # Errors
///
/// When there is no such name or variant; the visitor was not called then.
pub fn visit<V: Visitor>(
    name: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, Unknown> {
    let name = with_colons(name);
    match name.split_once(':') {
        None if ELECTIONS.contains(&&*name) => elections::visit(&name, parameters, visitor),
        None => mutexes::visit(&name, parameters, visitor),
        Some(("fifo", inner)) => {
            visit_sum(inner, &parameters.with_repeats(), OverFifo { visitor, parameters })
        }
        Some(_) => visit_sum(&name, parameters, visitor),
    }
}

/// The same with one type for all locks, one for all elections, and one for all compositions of
/// the two.
fn visit_sum<V: Visitor>(
    name: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, Unknown> {
    if let Some(election) = name.strip_prefix("coordinated:") {
        let none = |_| Unknown::algorithm(name);
        let config = elections::config(election, parameters).map_err(none)?;
        Ok(visitor.mutex::<MutexOnly<Coordinated<AnyElection>>>(config))
    } else if ELECTIONS.contains(&name) {
        Ok(visitor.election::<AnyElection>(elections::config(name, parameters)?))
    } else {
        Ok(visitor.mutex::<AnyMutex>(mutexes::config(name, parameters)?))
    }
}

/// Calls `visitor` with the office that a mutex and an election make: side by side, or the
/// mutex following the election's leader when it is `coordinated:ELECTION`.
///
/// Variants are those of the mutex. A bully greets whoever is trusted again, since real networks
/// part and heal.
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
    let mutex = with_colons(mutex);
    let elected = elections::config(election, &parameters.of_office(election))?;
    match mutex.strip_prefix("coordinated:") {
        Some(named) if named == election => Ok(visitor.office::<Coordinated<AnyElection>>(elected)),
        Some(_) => Err(Unknown::algorithm(&mutex)),
        None => {
            let mutex = mutexes::config(&mutex, parameters)?;
            let config = side::Config { mutex, election: elected };
            Ok(visitor.office::<Side<AnyMutex, AnyElection>>(config))
        }
    }
}

/// Wraps whatever it is called with into the reliable channel.
struct OverFifo<'a, V> {
    visitor: V,
    parameters: &'a Parameters,
}

impl<V: Visitor> Visitor for OverFifo<'_, V> {
    type Output = V::Output;

    fn mutex<P: Mutex + Algorithm + Rebase>(self, config: P::Config) -> V::Output {
        let resend = self.parameters.resend();
        self.visitor.mutex::<Fifo<P>>(fifo::Config { resend, ..fifo::Config::around(config) })
    }

    fn election<P: Election + Algorithm + Rebase>(self, config: P::Config) -> V::Output {
        let resend = self.parameters.resend();
        self.visitor.election::<Fifo<P>>(fifo::Config { resend, ..fifo::Config::around(config) })
    }
}

/// The card of the algorithm that `name` stands for.
///
/// # Errors
///
/// When there is no such name or variant.
pub fn card(name: &str, parameters: &Parameters) -> Result<Card, Unknown> {
    struct ReadCard(u32);
    impl Visitor for ReadCard {
        type Output = Card;

        fn mutex<P: Mutex + Algorithm + Rebase>(self, config: P::Config) -> Card {
            P::card(&config, self.0)
        }

        fn election<P: Election + Algorithm + Rebase>(self, config: P::Config) -> Card {
            P::card(&config, self.0)
        }
    }
    visit(name, parameters, ReadCard(parameters.size))
}

/// The names of everything without a prefix, and of the compositions that exist.
pub fn names() -> impl Iterator<Item = &'static str> {
    MUTEXES.iter().chain(ELECTIONS).chain(COMPOSITIONS).copied()
}

/// `a(b)` is the same as `a:b`.
fn with_colons(name: &str) -> String {
    name.replace('(', ":").replace(')', "")
}

/// A name that the catalogue does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No algorithm is called so.
    Algorithm(String),
    /// The algorithm declares no variant of this name.
    Variant(UnknownVariant),
    /// No way to build quorums is called so.
    Kind(String),
    /// There are no quorums of this kind for so many processes.
    Quorums(NoQuorums),
}

impl Unknown {
    fn algorithm(name: &str) -> Self {
        Unknown::Algorithm(name.to_string())
    }
}

impl From<UnknownVariant> for Unknown {
    fn from(unknown: UnknownVariant) -> Self {
        Unknown::Variant(unknown)
    }
}

impl From<NoQuorums> for Unknown {
    fn from(none: NoQuorums) -> Self {
        Unknown::Quorums(none)
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown::Variant(unknown) => unknown.fmt(f),
            Unknown::Quorums(none) => none.fmt(f),
            Unknown::Kind(name) => {
                write!(f, "there are no quorums `{name}`; there are")?;
                let separators = core::iter::once(" ").chain(core::iter::repeat(", "));
                QUORUMS
                    .iter()
                    .zip(separators)
                    .try_for_each(|((name, _), before)| write!(f, "{before}{name}"))
            }
            Unknown::Algorithm(name) => {
                write!(f, "there is no algorithm `{name}`; there are ")?;
                for name in names() {
                    write!(f, "{name}, ")?;
                }
                f.write_str("and each of them with the prefix fifo:")
            }
        }
    }
}

impl core::error::Error for Unknown {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_card_of_that_name_also_over_fifo() {
        let parameters = Parameters::plain(5);
        for name in names() {
            assert_eq!(card(name, &parameters).unwrap().name, name);
            let over = alloc::format!("fifo:{name}");
            assert_eq!(card(&over, &parameters).unwrap().name, over);
        }
        assert_eq!(card("coordinated(bully)", &parameters).unwrap().name, "coordinated:bully");
    }

    #[test]
    fn an_office_is_any_lock_beside_any_election_or_the_lock_of_an_election() {
        struct ReadName(u32);
        impl OfficeVisitor for ReadName {
            type Output = String;

            fn office<P: Office + Algorithm>(self, config: P::Config) -> String {
                P::card(&config, self.0).name
            }
        }
        let parameters = Parameters::plain(5);
        let office = |mutex, election| visit_office(mutex, election, &parameters, ReadName(5));
        for mutex in MUTEXES {
            for election in ELECTIONS {
                let beside = alloc::format!("{mutex} beside {election}");
                assert_eq!(office(mutex, election).unwrap(), beside);
            }
        }
        for composition in COMPOSITIONS {
            let election = composition.split_once(':').unwrap().1;
            assert_eq!(office(composition, election).unwrap(), *composition);
        }
        for (mutex, election) in [
            ("bully", "bully"),
            ("paxos", "bully"),
            ("central", "central"),
            ("coordinated:bully", "chang-roberts"),
            ("coordinated:central", "central"),
        ] {
            assert!(office(mutex, election).is_err(), "{mutex} {election}");
        }
    }

    #[test]
    fn unknown_names_are_refused() {
        let mut parameters = Parameters::plain(5);
        for name in ["paxos", "", "fifo:", "fifo:fifo:bully", "coordinated:central", "bully:"] {
            assert!(card(name, &parameters).is_err(), "{name}");
        }
        parameters.quorums = Kind::Plane;
        assert!(card("maekawa", &parameters).is_err());
        parameters.variants.push("unstamped-reply".into());
        assert!(card("ricart-agrawala", &parameters).is_ok());
        assert!(card("bully", &parameters).is_err());
    }
}
