//! Command-line parsers of the names of properties.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use tenure_core::{Card, Property, Service};

use super::failure::Failure;
use crate::nearest::nearest;

pub(crate) fn parser(
    properties: impl IntoIterator<Item = Property>,
) -> impl TypedValueParser<Value = Property> {
    PropertyParser { properties: properties.into_iter().collect(), accepts_bound: false }
}

/// Returns a parser that accepts the names of `properties`. The parser also accepts the name
/// `bounded-bypass` followed by a bound, such as `bounded-bypass=2`.
pub(crate) fn parser_with_bound(
    properties: impl IntoIterator<Item = Property>,
) -> impl TypedValueParser<Value = Property> {
    PropertyParser { properties: properties.into_iter().collect(), accepts_bound: true }
}

#[derive(Clone)]
struct PropertyParser {
    properties: Vec<Property>,
    accepts_bound: bool,
}

impl TypedValueParser for PropertyParser {
    type Value = Property;

    fn parse_ref(
        &self,
        command: &Command,
        at: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Property, Error> {
        let PropertyParser { properties, accepts_bound } = self.clone();
        let prefix = format!("{}=", Property::Bypass(None).name());
        let read = move |text: String| match text.strip_prefix(&prefix).filter(|_| accepts_bound) {
            Some(bound) => bypass(bound),
            None => read(&properties, &text),
        };
        StringValueParser::new().try_map(read).parse_ref(command, at, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |it: &Property| PossibleValue::new(it.name()).help(it.description());
        Some(Box::new(self.properties.iter().map(value)))
    }
}

fn read(properties: &[Property], text: &str) -> Result<Property, String> {
    let names = || properties.iter().map(|property| property.name());
    // Textbooks also call the order of requests first in, first out.
    let name = if text == "fifo" { Property::FirstComeFirstServed.name() } else { text };
    let found = properties.iter().copied().find(|known| known.name() == name);
    found.ok_or_else(|| {
        if let Some(instead) = renamed(text) {
            return instead.to_owned();
        }
        let nearest = nearest(text, names()).join(", ");
        format!("nearest are {nearest}; --help lists all")
    })
}

/// If `text` is a retired name, returns advice on the names that replace it. Names were retired
/// because textbooks use them for other properties.
fn renamed(text: &str) -> Option<&'static str> {
    match text.split('=').next()? {
        "no-starvation" => Some(
            "use bounded-bypass=1 (no process enters twice while another waits) or \
             starvation-freedom (every waiting process enters)",
        ),
        "bypass" => Some("use bounded-bypass or bounded-bypass=2"),
        _ => None,
    }
}

/// Returns a usage failure if a requested property does not apply to the algorithm, or cannot be
/// decided in these runs.
///
/// `expected` returns a text that describes the properties that apply. `cost_obstacle` is the
/// reason why these runs cannot decide the property `cost`; `None` if they can decide it.
/// `topology_obstacle` is the same for the property `topology`.
pub(crate) fn check_requested_properties(
    requested: &[Property],
    card: &Card,
    expected: impl FnOnce() -> String,
    cost_obstacle: Option<&str>,
    topology_obstacle: Option<&str>,
) -> Result<(), Failure> {
    let Card { name, service, .. } = card;
    match requested.iter().find(|it| !it.applies_to(*service)) {
        // Textbooks divide the progress of a lock into two properties.
        Some(Property::Progress) if *service == Service::Mutex => {
            return Err(Failure::usage(format!(
                "--property progress does not apply to the lock {name}: use starvation-freedom \
                 (every waiting process enters) or deadlock-freedom (some process enters)"
            )));
        }
        Some(unknown) => {
            let message = format!("--property {unknown} does not apply to {name}: {}", expected());
            return Err(Failure::usage(message));
        }
        None => {}
    }
    for (property, obstacle) in
        [(Property::Cost, cost_obstacle), (Property::Topology, topology_obstacle)]
    {
        if let Some(why) = obstacle.filter(|_| requested.contains(&property)) {
            let message = format!("--property {property} cannot be checked for {name} here: {why}");
            return Err(Failure::usage(message));
        }
    }
    Ok(())
}

fn bypass(bound: &str) -> Result<Property, String> {
    let invalid = |_| "expected bounded-bypass, or a bound such as bounded-bypass=1".to_owned();
    bound.parse().map(|most| Property::Bypass(Some(most))).map_err(invalid)
}
