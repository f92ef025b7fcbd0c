//! Properties, as options name them.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use tenure_core::{Card, Property, Service};
use tenure_lessons::nearest;

/// Reads the name of one of these.
pub(crate) fn one_of(
    properties: impl IntoIterator<Item = Property>,
) -> impl TypedValueParser<Value = Property> {
    OneOf { properties: properties.into_iter().collect(), bounds: false }
}

/// Reads the name of one of these, and that of a bypass with a bound: `bypass=2`.
pub(crate) fn bounded(
    properties: impl IntoIterator<Item = Property>,
) -> impl TypedValueParser<Value = Property> {
    OneOf { properties: properties.into_iter().collect(), bounds: true }
}

#[derive(Clone)]
struct OneOf {
    properties: Vec<Property>,
    /// Whether a bypass may have a bound.
    bounds: bool,
}

impl TypedValueParser for OneOf {
    type Value = Property;

    fn parse_ref(
        &self,
        command: &Command,
        at: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Property, Error> {
        let OneOf { properties, bounds } = self.clone();
        let prefix = format!("{}=", Property::Bypass(None).name());
        let read = move |text: String| match text.strip_prefix(&prefix).filter(|_| bounds) {
            Some(bound) => bypass(bound),
            None => read(&properties, &text),
        };
        StringValueParser::new().try_map(read).parse_ref(command, at, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |it: &Property| PossibleValue::new(it.name()).help(it.says());
        Some(Box::new(self.properties.iter().map(value)))
    }
}

fn read(properties: &[Property], text: &str) -> Result<Property, String> {
    let names = || properties.iter().map(|property| property.name());
    // First in, first out: the order of requests by another name of the textbooks.
    let asked = if text == "fifo" { Property::Order.name() } else { text };
    let found = names().find(|name| *name == asked).and_then(Property::named);
    found.ok_or_else(|| {
        if let Some(instead) = renamed(text) {
            return format!("there is no property `{text}` any more: {instead}");
        }
        let nearest = nearest(text, names()).join(", ");
        format!("there is no property `{text}` here; nearest are {nearest}; --help lists all")
    })
}

/// What to write instead of a name that was given up because textbooks mean something else by it.
fn renamed(text: &str) -> Option<&'static str> {
    match text.split('=').next()? {
        "no-starvation" => Some(
            "bounded-bypass=1 says that no process enters twice while another waits, \
             starvation-freedom that every process that waits enters",
        ),
        "bypass" => Some("write bounded-bypass, or bounded-bypass=2"),
        _ => None,
    }
}

/// What to ask of a lock instead of progress, which mixes two properties of the textbooks.
pub(crate) fn of_locks(asked: Property, card: &Card) -> Option<String> {
    let name = &card.name;
    (asked == Property::Progress && card.service == Service::Mutex).then(|| {
        format!(
            "--property progress does not judge {name}, a lock; ask for starvation-freedom \
             (every process that waits enters) or deadlock-freedom (some process does)"
        )
    })
}

fn bypass(bound: &str) -> Result<Property, String> {
    let strange =
        |_| format!("`{bound}` is no number of entries; bounded-bypass=1, or bounded-bypass alone");
    bound.parse().map(|most| Property::Bypass(Some(most))).map_err(strange)
}
