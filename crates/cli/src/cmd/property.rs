//! Properties, as options name them.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use tenure_core::Property;
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
        let read = move |text: String| match text.strip_prefix("bypass=").filter(|_| bounds) {
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
    let found = names().find(|name| *name == text).and_then(Property::named);
    found.ok_or_else(|| {
        let nearest = nearest(text, names()).join(", ");
        format!("there is no property `{text}` here; nearest are {nearest}; --help lists all")
    })
}

fn bypass(bound: &str) -> Result<Property, String> {
    let strange = |_| format!("`{bound}` is no number of entries; bypass=1, or bypass alone");
    bound.parse().map(|most| Property::Bypass(Some(most))).map_err(strange)
}
