//! Names that the command line knows: how people may spell them, which were perhaps meant, and
//! what a shell can complete.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use tenure_algorithms::catalogue::{Parameters, Unknown};
use tenure_lessons::{Question, Scenario, nearest};

/// Reads one of some names; shells complete them, and the help does not list them.
#[derive(Clone)]
pub(crate) struct Known<T> {
    names: fn() -> Vec<&'static str>,
    read: fn(&str) -> Result<T, String>,
}

impl<T> Known<T> {
    /// Those names, read like this.
    pub(crate) const fn new(
        names: fn() -> Vec<&'static str>,
        read: fn(&str) -> Result<T, String>,
    ) -> Self {
        Known { names, read }
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Known<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, at: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        let read = self.read;
        StringValueParser::new().try_map(move |text| read(&text)).parse_ref(command, at, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

/// The name of an algorithm.
pub(crate) fn algorithm() -> Known<String> {
    Known::new(|| tenure_instances::names().collect(), read_algorithm)
}

/// The name of a scenario; an unknown one is told with those of the same kind.
pub(crate) fn scenario() -> Known<String> {
    Known::new(|| Scenario::all().iter().map(|it| &*it.name).collect(), |text| Ok(forgiven(text)))
}

/// The number of a question.
pub(crate) fn question() -> Known<String> {
    Known::new(|| Question::all().map(|(_, it)| &*it.id).collect(), |text| Ok(text.to_owned()))
}

/// As names are spelt here: small letters, and hyphens between words.
fn forgiven(text: &str) -> String {
    text.to_lowercase().replace('_', "-")
}

fn read_algorithm(text: &str) -> Result<String, String> {
    let parameters = Parameters::plain(5);
    let is_known = |name: &str| {
        let card = tenure_instances::card(name, &parameters);
        !matches!(card, Err(Unknown::Algorithm { .. }))
    };
    let spelt = [text.to_owned(), forgiven(text)].into_iter().find(|name| is_known(name));
    spelt.ok_or_else(|| {
        let text = forgiven(text);
        let (prefix, _) = text.rsplit_once(':').unwrap_or_default();
        let plain = tenure_instances::names().map(str::to_owned);
        let composed = tenure_instances::names().map(|name| format!("{prefix}:{name}"));
        let known: Vec<String> = plain.chain(composed.filter(|name| is_known(name))).collect();
        let nearest = nearest(&text, known.iter().map(String::as_str)).join(", ");
        format!("there is no algorithm `{text}`; nearest are {nearest}; `tenure list` shows all")
    })
}

/// Why these are no lock and no election that go together; `write` says how one is asked for.
pub(crate) fn misplaced(
    mutex: &str,
    election: &str,
    write: impl Fn(&str, &str) -> String,
) -> String {
    let (lock, elects) = (write("mutex", mutex), write("election", election));
    if tenure_instances::elections().any(|name| name == mutex) {
        let election = write("election", mutex);
        let follows = write("mutex", &format!("coordinated:{mutex}"));
        return format!(
            "{mutex} is an election and no lock; write {election}, or the lock {follows}"
        );
    }
    if tenure_instances::locks().any(|name| name == election) {
        let mutex = write("mutex", election);
        return format!("{election} is a lock and no election; write {mutex}");
    }
    format!(
        "{lock} and {elects} do not go together; `tenure list` shows all, and coordinated:NAME is \
         the lock of the election NAME"
    )
}

/// The same of names that nothing has read before, one of which may be misspelt.
pub(crate) fn misnamed(
    mutex: &str,
    election: &str,
    write: impl Fn(&str, &str) -> String,
) -> String {
    let unknown = [mutex, election].into_iter().find_map(|name| match read_algorithm(name) {
        Ok(spelt) if spelt == name => None,
        Ok(spelt) => Some(format!("there is no algorithm `{name}`; it is spelt {spelt}")),
        Err(says) => Some(says),
    });
    unknown.unwrap_or_else(|| misplaced(mutex, election, write))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_underscores_are_forgiven() {
        for text in ["ricart-agrawala", "Ricart_Agrawala", "RICART-AGRAWALA"] {
            assert_eq!(read_algorithm(text).as_deref(), Ok("ricart-agrawala"));
        }
        assert_eq!(read_algorithm("fifo:Lamport").as_deref(), Ok("fifo:lamport"));
    }

    #[test]
    fn the_nearest_names_are_told_and_no_list_of_all() {
        let says = read_algorithm("lamprot").unwrap_err();
        assert!(says.contains("nearest are lamport,") && says.len() < 200, "{says}");
        let says = read_algorithm("fifo:lamprot").unwrap_err();
        assert!(says.contains("nearest are fifo:lamport,"), "{says}");
    }

    #[test]
    fn names_that_do_not_fit_are_told_as_they_are_written() {
        let write = |key: &str, name: &str| format!("{key} = \"{name}\"");
        for (mutex, election, part) in [
            (
                "coordinated:raft",
                "bully",
                "mutex = \"coordinated:raft\" and election = \"bully\" do",
            ),
            ("raft", "raft", "write election = \"raft\", or the lock mutex = \"coordinated:raft\""),
            ("lamport", "central", "write mutex = \"central\""),
            ("lamprot", "raft", "nearest are lamport,"),
            ("lamport", "bulli", "nearest are bully,"),
            ("Lamport", "raft", "it is spelt lamport"),
        ] {
            let says = misnamed(mutex, election, write);
            assert!(says.contains(part) && says.len() < 200, "{mutex}, {election}: {says}");
        }
    }
}
