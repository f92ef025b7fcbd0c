//! From names to protocols.
//!
//! An engine is generic over a protocol's type; a command line has only its name. A
//! [`Visitor`] bridges the two: [`visit`] calls it with the type that the name stands for and
//! the configuration that the parameters ask for. Adding an algorithm adds one line to
//! `members.rs`.

mod members;
mod parameters;
mod sum;
mod unknown;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use tenure_core::quorum::Kind;
use tenure_core::tree::Shape;
use tenure_core::{Algorithm, Card, Election, Mutex, Office, Promise, Rebase};

use crate::channel::{Fifo, fifo};
use crate::compose::{Coordinated, Side, side};
use crate::reduction::mutex_from_election;
use any_election::Any as AnyElection;
use members::locks::any_lock;
use members::mutexes::any_mutex::{self, Any as AnyMutex};
use members::offices::any_office;
use members::{elections, mutexes};

pub(crate) use members::elections::any_election;

pub use members::elections::ELECTIONS;
pub use members::mutexes::MUTEXES;
pub use parameters::Parameters;
pub use unknown::Unknown;

/// The prefixes and what they make of the name behind the colon.
pub const PREFIXES: &[(&str, &str)] = &[
    ("fifo", "any of them over a reliable channel made from an unreliable one"),
    ("coordinated", "the centralised mutex at whoever this election elects"),
    ("election-from-mutex", "an election that whoever first enters this lock wins"),
    ("mutex-from-election", "a lock whose every entry is an election among those who wait"),
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

/// The shapes of trees, by their names.
pub const TREES: &[(&str, Shape)] =
    &[("star", Shape::Star), ("path", Shape::Path), ("heap", Shape::Heap)];

/// The shape of a tree that has this name.
///
/// # Errors
///
/// When there is none.
pub fn tree(name: &str) -> Result<Shape, Unknown> {
    let found = TREES.iter().find(|(known, _)| *known == name);
    found.map(|(_, shape)| *shape).ok_or_else(|| Unknown::Shape(name.to_string()))
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
    let (name, parameters) = &unaliased(name, parameters);
    if let Some(inner) = name.strip_prefix("fifo:") {
        return visit_sum(inner, &parameters.with_repeats(), OverFifo { visitor, parameters });
    }
    let visitor = match mutexes::visit_alone(name, parameters, visitor)? {
        Ok(output) => return Ok(output),
        Err(visitor) => visitor,
    };
    match elections::visit_alone(name, parameters, visitor)? {
        Ok(output) => Ok(output),
        Err(visitor) => visit_sum(name, parameters, visitor),
    }
}

/// The same with one type for everything that is a lock, and one for all elections.
fn visit_sum<V: Visitor>(
    name: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, Unknown> {
    let whole = |unknown| match unknown {
        Unknown::Algorithm(_) => Unknown::algorithm(name),
        other => other,
    };
    let lock = match name.split_once(':') {
        None if ELECTIONS.contains(&name) => {
            let config = any_office::Config::Plain(elections::config(name, parameters)?);
            return Ok(visitor.election::<any_office::Any>(config));
        }
        Some(("election-from-mutex", inner)) => {
            let config = any_office::Config::ByLock(offices(inner, parameters).map_err(whole)?);
            return Ok(visitor.election::<any_office::Any>(config));
        }
        None => any_lock::Config::Plain(mutexes::config(name, parameters)?),
        Some(("coordinated", inner)) => {
            any_lock::Config::AtLeader(elections::config(inner, parameters).map_err(whole)?)
        }
        Some(("mutex-from-election", inner)) => {
            any_lock::Config::ByElection(contests(inner, parameters).map_err(whole)?)
        }
        Some(_) => return Err(Unknown::algorithm(name)),
    };
    Ok(visitor.mutex::<any_lock::Any>(lock))
}

/// For an election made of a lock: it must let one in at a time, and some day.
fn offices(name: &str, parameters: &Parameters) -> Result<any_mutex::Config, Unknown> {
    let config = mutexes::config(name, parameters)?;
    let promises = AnyMutex::card(&config, parameters.size).promises;
    let needs = [Promise::MutualExclusion, Promise::Progress];
    if !needs.iter().all(|promise| promises.contains(promise)) {
        return Err(Unknown::algorithm(name));
    }
    Ok(config)
}

/// For a lock made of elections: they must be won by the largest rank.
fn contests(
    name: &str,
    parameters: &Parameters,
) -> Result<mutex_from_election::Config<any_election::Config>, Unknown> {
    let plain = Parameters { variants: Vec::new(), ..parameters.clone() };
    let election = elections::config(name, &plain)?;
    if !AnyElection::card(&election, parameters.size).promises.contains(&Promise::Validity) {
        return Err(Unknown::algorithm(name));
    }
    Ok(mutex_from_election::Config { election, variants: parameters.variants()? })
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
    let (mutex, election, parameters) = (&*mutex, &*election, &of_mutex);
    let elected = elections::config(election, &parameters.of_office(election))?;
    match mutex.strip_prefix("coordinated:") {
        Some(named) if named == election => Ok(visitor.office::<Coordinated<AnyElection>>(elected)),
        Some(_) => Err(Unknown::algorithm(mutex)),
        None => {
            let mutex = mutexes::config(mutex, parameters)?;
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
    MUTEXES.iter().chain(ELECTIONS).copied().chain(compositions())
}

/// The names of the compositions that exist.
pub fn compositions() -> impl Iterator<Item = &'static str> {
    let parameters = Parameters::plain(5);
    let composed = elections::COMPOSED.iter().chain(mutexes::COMPOSED);
    composed.copied().flatten().copied().filter(move |name| card(name, &parameters).is_ok())
}

/// `a(b)` is the same as `a:b`; and a variant that is another algorithm has that one's name.
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

/// The variant of an algorithm that is another one.
const FAULT_TOLERANT: &str = "fault-tolerant";

/// Which one that is.
const REPAIRED: &[(&str, &str)] = &[
    ("token-ring", "repaired-ring"),
    ("ricart-agrawala", "tolerant-ricart-agrawala"),
    ("suzuki-kasami", "nishio-li-manning"),
    ("chang-roberts", "repaired-chang-roberts"),
];

/// `a(b)` is the same as `a:b`.
fn with_colons(name: &str) -> String {
    name.replace('(', ":").replace(')', "")
}

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
        for name in
            ["coordinated:bully", "mutex-from-election:bully", "election-from-mutex:lamport"]
        {
            assert!(compositions().any(|composition| composition == name), "{name}");
        }
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
        let office =
            |mutex: &str, election: &str| visit_office(mutex, election, &parameters, ReadName(5));
        for mutex in MUTEXES {
            for election in ELECTIONS {
                let beside = alloc::format!("{mutex} beside {election}");
                assert_eq!(office(mutex, election).unwrap(), beside);
            }
        }
        for election in ELECTIONS {
            let coordinated = alloc::format!("coordinated:{election}");
            assert_eq!(office(&coordinated, election).unwrap(), coordinated);
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
        for name in [
            "paxos",
            "",
            "fifo:",
            "fifo:fifo:bully",
            "coordinated:central",
            "bully:",
            "election-from-mutex:bully",
        ] {
            assert!(card(name, &parameters).is_err(), "{name}");
        }
        parameters.quorums = Kind::Plane;
        assert!(card("maekawa", &parameters).is_err());
        assert!(quorums("round").unwrap_err().to_string().ends_with("grid, majority, tree"));
        assert!(tree("round").unwrap_err().to_string().ends_with("there are star, path, heap"));
        parameters.variants.push("unstamped-reply".into());
        assert!(card("ricart-agrawala", &parameters).is_ok());
        assert!(card("bully", &parameters).is_err());
    }
}
