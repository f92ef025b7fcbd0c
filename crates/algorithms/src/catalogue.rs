//! From names to protocols.
//!
//! An engine is generic over a protocol's type; a command line has only its name. A
//! [`Visitor`] bridges the two: [`visit`] calls it with the type that the name stands for and
//! the configuration that the parameters ask for. Adding an algorithm adds one line here.

mod parameters;

use core::fmt;

use alloc::string::{String, ToString};

use tenure_core::quorum::{Kind, NoQuorums};
use tenure_core::{Algorithm, Card, Election, Mutex, Office, Rebase};

use crate::UnknownVariant;
use crate::channel::{Fifo, fifo};
use crate::compose::{Coordinated, MutexOnly, Side, side};
use crate::election::{Bully, ChangRoberts, HirschbergSinclair};
use crate::mutex::{Central, Lamport, Maekawa, RicartAgrawala, TokenRing};

pub use parameters::Parameters;

/// The mutual exclusion algorithms, by their names.
pub const MUTEXES: &[&str] = &["central", "token-ring", "lamport", "ricart-agrawala", "maekawa"];

/// The elections, by their names.
pub const ELECTIONS: &[&str] = &["chang-roberts", "hirschberg-sinclair", "bully"];

/// The compositions, by their names.
const COMPOSITIONS: &[&str] =
    &["coordinated:chang-roberts", "coordinated:hirschberg-sinclair", "coordinated:bully"];

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
        None => visit_plain(&name, parameters, visitor),
        Some(("fifo", inner)) if !inner.starts_with("fifo:") => {
            let repeated = parameters.with_repeats();
            visit_unprefixed(inner, &repeated, OverFifo { visitor, parameters })
        }
        Some(_) => visit_unprefixed(&name, parameters, visitor),
    }
}

fn visit_unprefixed<V: Visitor>(
    name: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, Unknown> {
    match name.split_once(':') {
        None => visit_plain(name, parameters, visitor),
        Some(("coordinated", election)) => {
            let visitor = CoordinatedBy { name, visitor };
            visit_plain(election, parameters, visitor)?
        }
        Some(_) => Err(Unknown::algorithm(name)),
    }
}

fn visit_plain<V: Visitor>(
    name: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<V::Output, Unknown> {
    Ok(match name {
        "central" => visitor.mutex::<Central>(parameters.central()?),
        "token-ring" => visitor.mutex::<TokenRing>(parameters.token_ring()?),
        "lamport" => visitor.mutex::<Lamport>(parameters.lamport()?),
        "ricart-agrawala" => visitor.mutex::<RicartAgrawala>(parameters.ricart_agrawala()?),
        "maekawa" => visitor.mutex::<Maekawa>(parameters.maekawa()?),
        "chang-roberts" => visitor.election::<ChangRoberts>(parameters.chang_roberts()?),
        "hirschberg-sinclair" => {
            visitor.election::<HirschbergSinclair>(parameters.hirschberg_sinclair()?)
        }
        "bully" => visitor.election::<Bully>(parameters.bully()?),
        _ => return Err(Unknown::algorithm(name)),
    })
}

/// Puts a lock at whoever wins the election it is called with.
struct CoordinatedBy<'a, V> {
    name: &'a str,
    visitor: V,
}

impl<V: Visitor> Visitor for CoordinatedBy<'_, V> {
    type Output = Result<V::Output, Unknown>;

    fn mutex<P: Mutex + Algorithm + Rebase>(self, _: P::Config) -> Self::Output {
        Err(Unknown::algorithm(self.name))
    }

    fn election<P: Election + Algorithm + Rebase>(self, config: P::Config) -> Self::Output {
        Ok(self.visitor.mutex::<MutexOnly<Coordinated<P>>>(config))
    }
}

/// Calls `visitor` with the office that a mutex and an election make: side by side, or the
/// mutex following the election's leader when it is `coordinated:ELECTION`.
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
    match (mutex.strip_prefix("coordinated:"), election) {
        (Some("bully"), "bully") => {
            Ok(visitor.office::<Coordinated<Bully>>(parameters.greeting_bully()))
        }
        (Some(named), _) if named == election => {
            visit_plain(election, parameters, OfficeBy { mutex: &mutex, visitor })?
        }
        (None, "bully") => {
            visit_plain(&mutex, parameters, BesideBully { mutex: &mutex, visitor, parameters })?
        }
        (Some(_), _) => Err(Unknown::algorithm(&mutex)),
        (None, _) => Err(Unknown::algorithm(election)),
    }
}

/// Makes an office of the election it is called with.
struct OfficeBy<'a, V> {
    mutex: &'a str,
    visitor: V,
}

impl<V: OfficeVisitor> Visitor for OfficeBy<'_, V> {
    type Output = Result<V::Output, Unknown>;

    fn mutex<P: Mutex + Algorithm + Rebase>(self, _: P::Config) -> Self::Output {
        Err(Unknown::algorithm(self.mutex))
    }

    fn election<P: Election + Algorithm + Rebase>(self, config: P::Config) -> Self::Output {
        Ok(self.visitor.office::<Coordinated<P>>(config))
    }
}

/// Puts whatever lock it is called with beside a bully.
struct BesideBully<'a, V> {
    mutex: &'a str,
    visitor: V,
    parameters: &'a Parameters,
}

impl<V: OfficeVisitor> Visitor for BesideBully<'_, V> {
    type Output = Result<V::Output, Unknown>;

    fn mutex<P: Mutex + Algorithm + Rebase>(self, mutex: P::Config) -> Self::Output {
        let election = self.parameters.greeting_bully();
        Ok(self.visitor.office::<Side<P, Bully>>(side::Config { mutex, election }))
    }

    fn election<P: Election + Algorithm + Rebase>(self, _: P::Config) -> Self::Output {
        Err(Unknown::algorithm(self.mutex))
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
    fn an_office_is_any_lock_beside_a_bully_or_the_lock_of_an_election() {
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
            assert_eq!(office(mutex, "bully").unwrap(), alloc::format!("{mutex} beside bully"));
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
