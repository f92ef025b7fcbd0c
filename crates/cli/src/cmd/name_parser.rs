//! Parsers of names on the command line: spelling variants, suggestions and completion.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use tenure_algorithms::catalogue::{CatalogueError, Parameters};
use tenure_algorithms::stabilization;
use tenure_core::Service;

use super::checker_only_card;
use crate::lessons::{Question, Scenario};
use crate::nearest::nearest;

/// Command-line parser that converts a name to a value of the type `T`. Shells complete the names
/// in a list, but the help does not show the list.
#[derive(Clone)]
pub(crate) struct NameParser<T> {
    names: fn() -> Vec<&'static str>,
    parse: fn(&str) -> Result<T, String>,
}

impl<T> NameParser<T> {
    /// Creates a parser that converts a name to a value by `parse`. Shells complete the names that
    /// `names` returns. The function `parse` may accept further names.
    pub(crate) const fn new(
        names: fn() -> Vec<&'static str>,
        parse: fn(&str) -> Result<T, String>,
    ) -> Self {
        NameParser { names, parse }
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for NameParser<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, at: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        let parse = self.parse;
        StringValueParser::new().try_map(move |text| parse(&text)).parse_ref(command, at, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

/// Returns a parser of the name of a lock. The parser suggests only locks, but accepts any
/// algorithm. The command rejects other algorithms with a better explanation.
pub(crate) fn lock() -> NameParser<String> {
    NameParser::new(|| names_of(LOCKS), |text| parse_or_suggest(text, LOCKS))
}

/// Returns a parser of the name of an election. The parser suggests only elections, but accepts any
/// algorithm. The command rejects other algorithms with a better explanation.
pub(crate) fn election() -> NameParser<String> {
    NameParser::new(|| names_of(ELECTIONS), |text| parse_or_suggest(text, ELECTIONS))
}

/// Services of the algorithms that a cluster can run as its lock.
const LOCKS: &[Service] = &[Service::Mutex, Service::MutexAndElection];
const ELECTIONS: &[Service] = &[Service::Election];

fn names_of(services: &[Service]) -> Vec<&'static str> {
    tenure_instances::algorithm_names().filter(|name| has_service(name, services)).collect()
}

/// Returns true if the name is that of an algorithm for one of these services.
fn has_service(name: &str, services: &[Service]) -> bool {
    let card = tenure_instances::card(name, &Parameters::with_defaults(5));
    card.is_ok_and(|card| services.contains(&card.service))
}

/// Returns a parser of the name of an algorithm. The parser also accepts algorithms that only the
/// checker runs.
pub(crate) fn checkable_algorithm() -> NameParser<String> {
    NameParser::new(
        || tenure_instances::algorithm_names().chain(only_checked()).collect(),
        |text| match only_checked().find(|name| *name == normalize(text)) {
            Some(name) => Ok(name.to_owned()),
            None => parse_algorithm(text),
        },
    )
}

/// Returns the names of the algorithms and systems that no command except `tenure check` runs.
fn only_checked() -> impl Iterator<Item = &'static str> {
    let is_new = |name: &&str| tenure_instances::algorithm_names().all(|known| known != *name);
    checker_only_card::names().chain(stabilization::NAMES.into_iter().filter(is_new))
}

/// Returns a parser of the name of an algorithm, optionally with variants: `NAME+VARIANT`.
pub(crate) fn algorithm_with_variants() -> NameParser<String> {
    NameParser::new(|| tenure_instances::algorithm_names().collect(), parse_with_variants)
}

/// Returns a parser of the name of a scenario. The parser accepts any name; `Scenario::find`
/// reports unknown ones.
pub(crate) fn scenario() -> NameParser<String> {
    NameParser::new(
        || Scenario::all().iter().map(|it| &*it.name).collect(),
        |text| Ok(normalize(text)),
    )
}

pub(crate) fn lesson_question() -> NameParser<String> {
    NameParser::new(|| Question::all().map(|(_, it)| &*it.id).collect(), |text| Ok(text.to_owned()))
}

/// Upper bound on the length of the name of an algorithm. The error message for an unknown name
/// compares the name with all known names, so a longer name would take long to reject.
const MAX_NAME_LETTERS: usize = 200;

/// Normalizes the spelling of a name: lower case, and hyphens between words.
fn normalize(text: &str) -> String {
    text.to_lowercase().replace('_', "-")
}

fn parse_algorithm(text: &str) -> Result<String, String> {
    parse_or_suggest(text, &[])
}

/// Parses the name of an algorithm of any service. If there is no such algorithm, the error message
/// suggests algorithms for one of `services`, or for any service if `services` is empty. It
/// suggests nothing if the name is too long, or if only the checker runs the algorithm.
fn parse_or_suggest(text: &str, services: &[Service]) -> Result<String, String> {
    let letters = text.chars().count();
    if letters > MAX_NAME_LETTERS {
        return Err(format!(
            "the name has {letters} letters, more than any algorithm; `{} list` shows all",
            super::program::name()
        ));
    }
    let parameters = Parameters::with_defaults(5);
    let is_known = |name: &str| {
        let card = tenure_instances::card(name, &parameters);
        !matches!(card, Err(CatalogueError::Algorithm { .. }))
    };
    let spelling = [text.to_owned(), normalize(text)].into_iter().find(|name| is_known(name));
    spelling.ok_or_else(|| {
        let text = normalize(text);
        if only_checked().any(|name| name == text) {
            let program = super::program::name();
            return format!("only the checker runs it: use `{program} check {text}`");
        }
        let (prefix, _) = text.rsplit_once(':').unwrap_or_default();
        let plain = tenure_instances::algorithm_names().chain(only_checked()).map(str::to_owned);
        let composed = tenure_instances::algorithm_names().map(|name| format!("{prefix}:{name}"));
        let mut known: Vec<String> = plain.chain(composed.filter(|name| is_known(name))).collect();
        if !services.is_empty() {
            known.retain(|name| has_service(name, services));
        }
        let nearest = nearest(&text, known.iter().map(String::as_str)).join(", ");
        format!("nearest are {nearest}; `{} list` shows all", super::program::name())
    })
}

/// Parses the name of an algorithm, optionally with variants after `+`. Does not check whether the
/// variants exist. A later step checks them, together with the variants of `--variant`.
fn parse_with_variants(text: &str) -> Result<String, String> {
    let (name, variants) = text.split_once('+').unwrap_or((text, ""));
    let name = parse_algorithm(name)?;
    Ok(if variants.is_empty() { name } else { format!("{name}+{variants}") })
}

/// Describes why a lock and an election cannot be combined. The description suggests settings to
/// the user. `format_setting` receives the name and the value of a setting, and returns the setting
/// in the form in which the user writes it.
pub(crate) fn describe_mismatch(
    mutex: &str,
    election: &str,
    format_setting: impl Fn(&str, &str) -> String,
) -> String {
    let (lock, elects) = (format_setting("mutex", mutex), format_setting("election", election));
    if tenure_instances::election_names().any(|name| name == mutex) {
        let election = format_setting("election", mutex);
        let follows = format_setting("mutex", &format!("coordinated:{mutex}"));
        return format!(
            "{mutex} is an election, not a lock: use {election}, or the lock {follows}"
        );
    }
    if tenure_instances::lock_names().any(|name| name == election) {
        let mutex = format_setting("mutex", election);
        return format!("{election} is a lock, not an election: use {mutex}");
    }
    format!(
        "{lock} and {elects} do not match: coordinated:NAME is the lock of the election NAME; \
         `tenure list` shows all"
    )
}

/// Describes why the names of a lock and an election are invalid. The names may come from a
/// configuration file, so the command-line parser may not have checked them.
///
/// The description may suggest settings to the user. `format_setting` receives the name and the
/// value of a setting, and returns the setting in the form in which the user writes it.
pub(crate) fn describe_invalid_names(
    mutex: &str,
    election: &str,
    format_setting: impl Fn(&str, &str) -> String,
) -> String {
    let named = [(mutex, LOCKS), (election, ELECTIONS)];
    let unknown =
        named.into_iter().find_map(|(name, services)| match parse_or_suggest(name, services) {
            Ok(spelling) if spelling == name => None,
            Ok(spelling) => Some(format!("unknown algorithm '{name}': did you mean {spelling}?")),
            Err(message) => Some(format!("unknown algorithm '{name}': {message}")),
        });
    unknown.unwrap_or_else(|| describe_mismatch(mutex, election, format_setting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignores_case_and_accepts_underscores() {
        for text in ["ricart-agrawala", "Ricart_Agrawala", "RICART-AGRAWALA"] {
            assert_eq!(parse_algorithm(text).as_deref(), Ok("ricart-agrawala"));
        }
        assert_eq!(parse_algorithm("fifo:Lamport").as_deref(), Ok("fifo:lamport"));
        assert_eq!(parse_with_variants("Lamport+strict").as_deref(), Ok("lamport+strict"));
    }

    #[test]
    fn suggests_nearest_names_only() {
        let message = parse_algorithm("lamprot").unwrap_err();
        assert!(message.contains("nearest are lamport,") && message.len() < 200, "{message}");
        let message = parse_algorithm("fifo:lamprot").unwrap_err();
        assert!(message.contains("nearest are fifo:lamport,"), "{message}");
    }

    #[test]
    fn suggests_only_locks_or_only_elections() {
        for (services, text) in [(LOCKS, "nosuch"), (LOCKS, "bulyl"), (ELECTIONS, "lamprot")] {
            let message = parse_or_suggest(text, services).unwrap_err();
            let names = message.strip_prefix("nearest are ").and_then(|it| it.split_once(';'));
            let (names, _) = names.unwrap_or_else(|| panic!("{message}"));
            assert!(names.split(", ").all(|name| has_service(name, services)), "{message}");
        }
        assert_eq!(parse_or_suggest("bully", LOCKS).as_deref(), Ok("bully"));
    }

    #[test]
    fn longest_name_is_below_limit() {
        let composed = |name: &str| parse_algorithm(&format!("fifo:{name}"));
        let known = tenure_instances::algorithm_names().filter(|name| composed(name).is_ok());
        assert!(known.map(str::len).max() < Some(MAX_NAME_LETTERS / 2));
        let message = parse_algorithm(&"fifo:".repeat(20_000)).unwrap_err();
        assert!(message.starts_with("the name has 100000 letters"), "{message}");
    }

    #[test]
    fn describes_mismatch_in_terms_of_the_settings() {
        let write = |key: &str, name: &str| format!("{key} = \"{name}\"");
        for (mutex, election, part) in [
            (
                "coordinated:raft",
                "bully",
                "mutex = \"coordinated:raft\" and election = \"bully\" do not match",
            ),
            ("raft", "raft", "use election = \"raft\", or the lock mutex = \"coordinated:raft\""),
            ("lamport", "central", "use mutex = \"central\""),
            ("lamprot", "raft", "nearest are lamport,"),
            ("lamport", "bulli", "nearest are bully,"),
            ("Lamport", "raft", "did you mean lamport?"),
        ] {
            let message = describe_invalid_names(mutex, election, write);
            assert!(
                message.contains(part) && message.len() < 200,
                "{mutex}, {election}: {message}"
            );
        }
    }
}
