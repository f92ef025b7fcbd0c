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
    OneOf(properties.into_iter().collect())
}

#[derive(Clone)]
struct OneOf(Vec<Property>);

impl TypedValueParser for OneOf {
    type Value = Property;

    fn parse_ref(
        &self,
        command: &Command,
        at: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Property, Error> {
        let properties = self.0.clone();
        let read = move |text: String| read(&properties, &text);
        StringValueParser::new().try_map(read).parse_ref(command, at, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |it: &Property| PossibleValue::new(it.name()).help(it.says());
        Some(Box::new(self.0.iter().map(value)))
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
