//! `tenure list`.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;
use tenure_algorithms::catalogue::Parameters;
use tenure_core::{Card, Cost, Crashes, Faults, Order, Per, Property, Service, Timeout, Variant};

use super::failure::{Failure, Status};
use super::group::in_units;
use super::known::algorithm;
use super::output::{Format, print, print_json, width, wrapped};

/// How many processes the cards speak of; formulas say what they say for any number.
const SIZE: u32 = 5;

/// List the algorithms with their cards: service, paper, assumptions, messages, variants
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The whole card of this one, for example central or fifo:bully
    #[arg(value_parser = algorithm(), hide_possible_values = true)]
    algorithm: Option<String>,
    /// Only those whose processes know how many they are or not, or have no names
    #[arg(long, value_enum, value_name = "KIND", conflicts_with = "algorithm")]
    only: Option<Kind>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What processes know of their group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// They do not know how many they are
    Uniform,
    /// They know how many they are
    NonUniform,
    /// They have no names
    Anonymous,
}

impl Kind {
    fn is_of(self, card: &Card) -> bool {
        match self {
            Kind::Uniform => !card.knows.size,
            Kind::NonUniform => card.knows.size,
            Kind::Anonymous => !card.knows.names,
        }
    }
}

/// Where the second column of a card begins.
const INDENT: usize = 13;

/// A row of the table that has all columns takes so many.
const WHOLE_ROW: usize = 100;

/// What the JSON has for each algorithm.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    name: &'a str,
    service: Service,
    card: &'a Card,
    variants: Vec<Shown<'a>>,
}

/// A variant, and the words behind `tenure` that show what it does.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    variant: &'a Variant,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let cards = cards(options)?;
    match (options.format, &options.algorithm) {
        (Format::Json, _) => print_json(&cards.iter().map(listed).collect::<Vec<_>>())?,
        (Format::Text, Some(_)) => print(&cards.iter().map(whole).collect::<String>())?,
        (Format::Text, None) => print(&table(&cards))?,
    }
    Ok(Status::Held)
}

/// The cards that were asked for.
fn cards(options: &Options) -> Result<Vec<Card>, Failure> {
    let parameters = Parameters::plain(SIZE);
    let card = |name: &str| tenure_instances::card(name, &parameters).map_err(Failure::usage);
    match &options.algorithm {
        Some(name) => Ok(vec![card(name)?]),
        None => {
            let all = tenure_instances::names().map(card);
            let wanted = |card: &Card| options.only.is_none_or(|only| only.is_of(card));
            all.filter(|card| card.as_ref().map_or(true, wanted)).collect()
        }
    }
}

/// What is printed as JSON.
pub(crate) fn data(options: &Options) -> Result<Value, Failure> {
    let cards = cards(options)?;
    let listed: Vec<_> = cards.iter().map(listed).collect();
    serde_json::to_value(listed).map_err(Failure::environment)
}

fn listed(card: &Card) -> Listed<'_> {
    let shown = |variant| Shown { variant, command: shown_by(card, variant) };
    let variants = card.variants.iter().map(shown).collect();
    Listed { name: &card.name, service: card.service, card, variants }
}

/// The command that shows a variant, if there is one. A mistake of a part is shown in the part: in
/// the whole users ask something else, and something else is judged.
fn shown_by(card: &Card, variant: &Variant) -> Option<String> {
    let parameters = Parameters::plain(SIZE);
    let mut whole: &str = &card.name;
    while let Some((_, part)) = whole.split_once(':')
        && let Ok(card) = tenure_instances::card(part, &parameters)
        && card.variants.contains(variant)
    {
        whole = part;
    }
    variant.command(whole)
}

/// All cards, two lines each, and the names of compositions.
fn table(cards: &[Card]) -> String {
    let mut text = String::new();
    let is_wide = width() >= WHOLE_ROW;
    let mut row = |name: &str, service: &str, messages: &str, survives: &str| {
        let line = match is_wide {
            true => format!("{name:<30} {service:<11} {messages:<47} {survives}"),
            // What does not fit beside stands below.
            false => format!("{name:<30} {service:<11} {survives}\n    {messages}"),
        };
        writeln!(text, "{line}").expect("a string takes everything");
    };
    row("algorithm", "service", "messages", "survives");
    let (composed, plain): (Vec<_>, Vec<_>) =
        cards.iter().partition(|card| card.name.contains(':'));
    for Card { name, title, service, messages, faults, .. } in plain {
        // What is behind a comma or semicolon is for the whole card.
        let cost = messages.formula.split([',', ';']).next().unwrap_or_default();
        let cost = format!("{cost} {}", per(messages.per));
        row(name, service.name(), &cost, &survives(faults));
        row(&format!("    {title}"), "", "", "");
    }
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join("\n");
    let composed: Vec<&str> = composed.iter().map(|card| &*card.name).collect();
    let composed = match composed.as_slice() {
        [] => String::new(),
        some => {
            wrapped(&format!("Compositions: {}.", some.join(", ")), width()).join("\n") + "\n\n"
        }
    };
    format!(
        "{text}\n\n{composed}\
         Any of them may run over a channel that loses and duplicates: fifo:NAME.\n\
         `tenure list NAME` shows a whole card, docs/algorithms.md what was measured.\n"
    )
}

/// All that one card says.
fn whole(card: &Card) -> String {
    let head = format!("{}: {}", card.name, card.title);
    let mut text = wrapped(&head, width() - 2).join("\n  ") + "\n";
    let mut row = |name: &str, says: &str| {
        let mut name = name;
        for line in wrapped(says, width() - INDENT) {
            let width = INDENT - 2;
            writeln!(text, "  {name:<width$}{line}").expect("a string takes everything");
            name = "";
        }
    };
    row("service", card.service.name());
    row("paper", card.paper);
    row("timing", &kebab(&card.timing));
    row("channel", channel(card.order));
    row("topology", &kebab(&card.topology));
    row("detector", &kebab(&card.detection));
    row("processes", &knowledge(card));
    row("faults", card.faults.says);
    if card.faults.absence {
        row("", "whoever is down from the start (--down) is left out, and the others know it");
    }
    let Cost { per: unit, formula, least, most, .. } = &card.messages;
    let most = most.map_or("any number".to_string(), |most| most.to_string());
    row("messages", &format!("{formula} {}", per(*unit)));
    row("", &format!("with {SIZE} processes: {least} to {most}"));
    let promises: Vec<_> = card.promised(None).map(|promise| promise.name()).collect();
    let drift = card.drift_ppm / 10_000;
    let clocks = format!("while clocks are right to {drift} % and nobody is stopped");
    let clocked = card.clocked.iter().map(|promise| format!("{promise}, {clocks}"));
    let always = (!promises.is_empty()).then(|| promises.join(", "));
    for (place, promise) in always.into_iter().chain(clocked).enumerate() {
        row(if place == 0 { "promises" } else { "" }, &promise);
    }
    for (place, Timeout { name, says, delay }) in card.timeouts.iter().enumerate() {
        let label = if place == 0 { "timeouts" } else { "" };
        row(label, &format!("{name} {}: {says}", in_units(*delay)));
    }
    let judged = Property::ALL.into_iter().filter(|property| property.is_of(card.service));
    let judged: Vec<_> = judged.map(|property| property.name()).collect();
    if !judged.is_empty() {
        row("judged by", &judged.join(", "));
    }
    for shown in &card.variants {
        let Variant { name: variant, says, sound, verdict, .. } = shown;
        let warning = if *sound { "" } else { " (wrong on purpose)" };
        let verdict = if verdict.is_empty() { String::new() } else { format!(", {verdict}") };
        row("variant", &format!("{variant}{warning}{verdict}"));
        row("", &format!("  {says}"));
        if let Some(command) = shown_by(card, shown) {
            row("", &format!("  tenure {command}"));
        }
    }
    text
}

fn channel(order: Order) -> &'static str {
    match order {
        Order::Fifo => "first in, first out",
        Order::Reordered => "any order",
    }
}

/// What processes know of their group.
fn knowledge(card: &Card) -> String {
    let names = if card.knows.names { "have names" } else { "have no names" };
    let size = if card.knows.size { "know how many they are" } else { "need not know how many" };
    let words: Vec<&str> = card.knows.words().collect();
    format!("{}: they {names} and {size}", words.join(", "))
}

fn per(unit: Per) -> &'static str {
    match unit {
        Per::Entry => "per entry",
        Per::Election => "per election",
        Per::Agreement => "per agreement",
        Per::Message => "per message",
        Per::Period => "per period",
    }
}

fn survives(faults: &Faults) -> String {
    let crashes = match (faults.crashes, faults.max_crashed) {
        (Crashes::None, _) => "no crash".to_owned(),
        (_, Some(1)) => "1 crash".to_owned(),
        (_, Some(most)) => format!("{most} crashes"),
        (Crashes::Stop, None) => "crashes".to_owned(),
        (Crashes::Recovery, None) => "recovery".to_owned(),
    };
    match faults.max_lost {
        0 => crashes,
        1 if faults.crashes == Crashes::None => "1 lost".to_owned(),
        most if faults.crashes == Crashes::None => format!("{most} lost"),
        most => format!("{crashes}, {most} lost"),
    }
}

/// The name of a variant as JSON has it.
fn kebab(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cards() -> Vec<Card> {
        let parameters = Parameters::plain(SIZE);
        tenure_instances::names()
            .map(|name| tenure_instances::card(name, &parameters).unwrap())
            .collect()
    }

    #[test]
    fn every_line_fits_a_hundred_columns() {
        let whole: String = cards().iter().map(whole).collect();
        for line in table(&cards()).lines().chain(whole.lines()) {
            // A course is one word, which would not be understood if it were broken.
            let breaks = line.trim().contains(' ');
            assert!(line.chars().count() <= 100 || !breaks, "{line}");
        }
    }

    #[test]
    fn the_data_has_the_keys_that_scripts_know() {
        let data = serde_json::to_value(cards().iter().map(listed).collect::<Vec<_>>()).unwrap();
        for algorithm in data.as_array().unwrap() {
            let keys: Vec<_> = algorithm.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["card", "name", "service", "variants"]);
        }
    }
}
