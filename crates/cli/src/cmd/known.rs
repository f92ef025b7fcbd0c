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
}
