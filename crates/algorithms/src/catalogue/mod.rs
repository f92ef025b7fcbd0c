//! From names to protocols.
//!
//! An engine is generic over a protocol's type; a command line has only its name. A
//! [`Visitor`] bridges the two: [`visit`] calls it with a type that does what the name stands for
//! and the configuration that the parameters ask for. Adding an algorithm adds one line to
//! the list in `mutex`, `election` or `agreement`.

pub(crate) mod member;
pub(crate) mod members;
mod offices;
mod parameters;
pub(crate) mod sum;
mod unknown;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use tenure_core::quorum::Kind;
use tenure_core::theory::{Expected, Scene};
use tenure_core::tree::Shape;
use tenure_core::{Agreement, Algorithm, Card, Election, Mutex, Property};

use crate::agreement::members as agreements;
use crate::channel::fifo;
use crate::compose::coordinated;
use crate::election::members::{self as elections, any::Any as AnyElection};
use crate::election::{ChangRoberts, HirschbergSinclair};
use crate::mutex::members::{self as mutexes, any::Any as AnyMutex};
use crate::reduction::mutex_from_election;
use members::{all_agreements, all_elections, all_locks, bare_elections, bare_locks};

pub(crate) use members::members;

pub use member::{ConfigOfAll, Member};
pub use offices::{
    NamedVisitor, OfficeVisitor, office_card, visit_beside, visit_led, visit_named, visit_office,
};
pub use parameters::{Configured, Parameters};
pub use unknown::Unknown;

/// The mutual exclusion algorithms, by their names.
pub const MUTEXES: &[&str] = mutexes::NAMES;

/// The elections, by their names.
pub const ELECTIONS: &[&str] = elections::NAMES;

/// What agrees otherwise than on a leader or on who is inside, by their names.
pub const AGREEMENTS: &[&str] = agreements::NAMES;

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
    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Self::Output;

    /// The name stands for an election.
    fn election<P: Election + Algorithm>(self, config: P::Config) -> Self::Output;

    /// The name stands for an algorithm of agreement; its card says of which service.
    fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Self::Output;
}

/// Calls `visitor` with the protocol that `name` stands for: all locks are one type, all elections
/// and all that agree, so that an engine is compiled for three.
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
    let Some(inner) = name.strip_prefix("fifo:") else {
        return Ok(match named(name, parameters)? {
            Named::Lock(lock) => {
                visitor.mutex::<all_locks::every::Any>(all_locks::every::Config::Bare(lock))
            }
            Named::Election(election) => visitor.election::<all_elections::every::Any>(
                all_elections::every::Config::Bare(election),
            ),
            Named::Agreement(agreement) => visitor.agreement::<all_agreements::every::Any>(
                all_agreements::every::Config::Bare(agreement),
            ),
        });
    };
    let resend = parameters.resend();
    Ok(match named(inner, &parameters.with_repeats())? {
        Named::Lock(lock) => {
            let over = fifo::Config { resend, ..fifo::Config::around(lock) };
            visitor.mutex::<all_locks::every::Any>(all_locks::every::Config::OverFifo(over))
        }
        Named::Election(election) => {
            let over = fifo::Config { resend, ..fifo::Config::around(election) };
            let over = all_elections::every::Config::OverFifo(over);
            visitor.election::<all_elections::every::Any>(over)
        }
        Named::Agreement(agreement) => {
            let over = fifo::Config { resend, ..fifo::Config::around(agreement) };
            let over = all_agreements::every::Config::OverFifo(over);
            visitor.agreement::<all_agreements::every::Any>(over)
        }
    })
}

/// The same with the type of the algorithm alone, where there is one: of those whose groups grow
/// to a million, which makes their size matter.
///
/// # Errors
///
/// As [`visit`].
pub fn visit_alone<V: Visitor>(
    name: &str,
    parameters: &Parameters,
    visitor: V,
) -> Result<Option<V::Output>, Unknown> {
    let (name, parameters) = &unaliased(name, parameters);
    Ok(match &**name {
        "chang-roberts" => {
            Some(visitor.election::<ChangRoberts>(Configured::configured(parameters)?))
        }
        "hirschberg-sinclair" => {
            Some(visitor.election::<HirschbergSinclair>(Configured::configured(parameters)?))
        }
        _ => None,
    })
}

/// What a name without `fifo:` stands for.
enum Named {
    Lock(bare_locks::any::Config),
    Election(bare_elections::any::Config),
    Agreement(agreements::any::Config),
}

fn named(name: &str, parameters: &Parameters) -> Result<Named, Unknown> {
    use bare_elections::any::Config as OfElection;
    use bare_locks::any::Config as OfLock;
    let whole = |unknown| match unknown {
        Unknown::Algorithm { .. } => Unknown::algorithm(name),
        other => other,
    };
    Ok(match name.split_once(':') {
        None if ELECTIONS.contains(&name) => {
            Named::Election(OfElection::Plain(elections::config(name, parameters)?))
        }
        Some(("election-from-mutex", inner)) => {
            Named::Election(OfElection::ByLock(offices(inner, parameters).map_err(whole)?))
        }
        None if AGREEMENTS.contains(&name) => {
            Named::Agreement(agreements::config(name, parameters)?)
        }
        None => Named::Lock(OfLock::Plain(mutexes::config(name, parameters)?)),
        Some(("coordinated", inner)) => {
            let (variants, parameters) = parameters.split();
            let election = elections::config(inner, &parameters).map_err(whole)?;
            let config = coordinated::configured::<AnyElection>(election, variants, &parameters);
            Named::Lock(OfLock::AtLeader(config))
        }
        Some(("mutex-from-election", inner)) => {
            Named::Lock(OfLock::ByElection(contests(inner, parameters).map_err(whole)?))
        }
        Some(_) => return Err(Unknown::algorithm(name)),
    })
}

/// For an election made of a lock: it must let one in at a time, while clocks keep time at least.
fn offices(name: &str, parameters: &Parameters) -> Result<mutexes::any::Config, Unknown> {
    let config = mutexes::config(name, parameters)?;
    let card = AnyMutex::card(&config, parameters.size);
    if !card.promised(Some(0)).any(|promise| promise == Property::MutualExclusion) {
        return Err(Unknown::algorithm(name));
    }
    Ok(config)
}

/// For a lock made of elections: they must be won by the largest rank.
fn contests(
    name: &str,
    parameters: &Parameters,
) -> Result<mutex_from_election::Config<elections::any::Config>, Unknown> {
    let plain = Parameters { variants: Vec::new(), ..parameters.clone() };
    let election = elections::config(name, &plain)?;
    if !AnyElection::card(&election, parameters.size).promises.contains(&Property::Validity) {
        return Err(Unknown::algorithm(name));
    }
    Ok(mutex_from_election::Config { election, variants: parameters.variants()? })
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

        fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Card {
            P::card(&config, self.0)
        }

        fn election<P: Election + Algorithm>(self, config: P::Config) -> Card {
            P::card(&config, self.0)
        }

        fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Card {
            P::card(&config, self.0)
        }
    }
    visit(name, parameters, ReadCard(parameters.size))
}

/// How many messages theory expects of the algorithm that `name` stands for.
///
/// # Errors
///
/// When there is no such name or variant.
pub fn expected(
    name: &str,
    parameters: &Parameters,
    scene: Scene,
) -> Result<Option<Expected>, Unknown> {
    struct Expect(u32, Scene);
    impl Visitor for Expect {
        type Output = Option<Expected>;

        fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Option<Expected> {
            P::expected(&config, self.0, self.1)
        }

        fn election<P: Election + Algorithm>(self, config: P::Config) -> Option<Expected> {
            P::expected(&config, self.0, self.1)
        }

        fn agreement<P: Agreement + Algorithm>(self, config: P::Config) -> Option<Expected> {
            P::expected(&config, self.0, self.1)
        }
    }
    visit(name, parameters, Expect(parameters.size, scene))
}

/// The names of everything without a prefix, and of the compositions that exist.
pub fn names() -> impl Iterator<Item = &'static str> {
    MUTEXES.iter().chain(ELECTIONS).chain(AGREEMENTS).copied().chain(compositions())
}

/// The names of the compositions that exist.
pub fn compositions() -> impl Iterator<Item = &'static str> {
    let parameters = Parameters::plain(5);
    let composed = elections::COMPOSED.iter().chain(mutexes::COMPOSED).chain(agreements::COMPOSED);
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
        let parameters = Parameters::plain(5);
        let office = |mutex: &str, election: &str| {
            office_card(mutex, election, &parameters).map(|card| card.name)
        };
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
            ("zookeeper", "bully"),
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
            "zookeeper",
            "",
            "coordinated:paxos",
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
