//! `tenure list`: prints the catalogue of algorithms.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;
use tenure_algorithms::catalogue::Parameters;
use tenure_core::{
    Card, ChannelOrder, ConfigurableTimeout, CostUnit, CrashModel, MessageCost, Property, Service,
    ToleratedFaults, Variant,
};

use super::checker_only_card::{self, CheckerOnlyCard};
use super::failure::{Failure, Status};
use super::name_parser::checkable_algorithm;
use super::output::{Format, json_name, line_width, wrap};
use super::rows::LabelledRows;
use super::stabilizing_card;
use super::timeout_option::delay_as_distribution;
use super::verification_extent::{VerificationExtent, refuting_method};

/// Group size for which the printed [`Card`]s are made. The formulas on the cards hold for any
/// size.
const SIZE: u32 = 5;

/// List the algorithms and their cards: service, paper, assumptions, messages, variants, proofs
///
/// Without an algorithm, lists all by service. With one, prints its card, and the command that
/// shows the effect of each variant.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure list
  tenure list ricart-agrawala
  tenure list --only anonymous")]
pub(crate) struct Options {
    /// Print the whole card of this algorithm, such as central or fifo:bully
    #[arg(value_parser = checkable_algorithm(), hide_possible_values = true)]
    algorithm: Option<String>,
    /// List only algorithms whose processes have this knowledge of their group
    #[arg(long, value_enum, value_name = "KIND", conflicts_with = "algorithm")]
    only: Option<GroupKnowledge>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Knowledge of the processes about their group, by which the list is filtered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GroupKnowledge {
    /// Processes do not know the group size
    Uniform,
    /// Processes know the group size
    NonUniform,
    /// Processes have no names
    Anonymous,
}

impl GroupKnowledge {
    fn applies_to(self, card: &Card) -> bool {
        match self {
            GroupKnowledge::Uniform => !card.knows.size,
            GroupKnowledge::NonUniform => card.knows.size,
            GroupKnowledge::Anonymous => !card.knows.names,
        }
    }
}

/// Least width of the terminal, in characters, at which the table has all columns.
const FULL_TABLE_WIDTH: usize = 100;

#[derive(Debug, Serialize)]
struct AlgorithmEntry<'a> {
    name: &'a str,
    service: Service,
    card: &'a Card,
    verified: VerificationExtent,
    variants: Vec<VariantEntry<'a>>,
}

#[derive(Debug, Serialize)]
struct VariantEntry<'a> {
    #[serde(flatten)]
    variant: &'a Variant,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Method by which `tenure prove` shows that the variant is wrong: `invariant` or `comparison`.
    /// `None` if neither method shows this.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_by: Option<&'static str>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    if let Some(card) = options.algorithm.as_deref().and_then(CheckerOnlyCard::find) {
        options.format.print(&card.to_json_list(), || card.full_card())?;
        return Ok(Status::Success);
    }
    if let Some(card) = options.algorithm.as_deref().and_then(stabilizing_card::check_only_card) {
        let entries = [stabilizing_card::json_entry(&card)];
        options.format.print(&entries, || stabilizing_card::full_card(&card))?;
        return Ok(Status::Success);
    }
    let cards = cards(options)?;
    let entries: Vec<_> = cards.iter().map(entry_of).collect();
    options.format.print(&entries, || match &options.algorithm {
        Some(name) => {
            let text: String = cards.iter().map(full_card).collect();
            text + &stabilizing_card::card_appendix(name)
        }
        None => table(&cards),
    })?;
    Ok(Status::Success)
}

fn cards(options: &Options) -> Result<Vec<Card>, Failure> {
    let parameters = Parameters::with_defaults(SIZE);
    let card = |name: &str| tenure_instances::card(name, &parameters).map_err(Failure::usage);
    match &options.algorithm {
        Some(name) => Ok(vec![card(name)?]),
        None => {
            let all = tenure_instances::algorithm_names().map(card);
            let wanted = |card: &Card| options.only.is_none_or(|only| only.applies_to(card));
            all.filter(|card| card.as_ref().map_or(true, wanted)).collect()
        }
    }
}

pub(crate) fn run_to_json(options: &Options) -> Result<Value, Failure> {
    if let Some(card) = options.algorithm.as_deref().and_then(CheckerOnlyCard::find) {
        return Ok(card.to_json_list());
    }
    if let Some(card) = options.algorithm.as_deref().and_then(stabilizing_card::check_only_card) {
        let entries = [stabilizing_card::json_entry(&card)];
        return serde_json::to_value(entries).map_err(Failure::environment);
    }
    let cards = cards(options)?;
    let entries: Vec<_> = cards.iter().map(entry_of).collect();
    serde_json::to_value(entries).map_err(Failure::environment)
}

fn entry_of(card: &Card) -> AlgorithmEntry<'_> {
    let variants = card.variants.iter().map(|variant| variant_entry(card, variant)).collect();
    let verified = VerificationExtent::for_algorithm(&card.name);
    AlgorithmEntry { name: &card.name, service: card.service, card, verified, variants }
}

fn variant_entry<'a>(card: &Card, variant: &'a Variant) -> VariantEntry<'a> {
    let command = variant_command(card, variant);
    VariantEntry { variant, command, refused_by: refuting_method(&card.name, variant.name) }
}

/// Returns the command that demonstrates a variant, without the leading word `tenure`. Returns
/// `None` if there is no such command.
///
/// An algorithm may be a composition, such as a lock with an election. If a component has the
/// variant, the command runs this component alone. The whole composition has other commands and
/// other properties, and might not show the effect of the variant.
fn variant_command(card: &Card, variant: &Variant) -> Option<String> {
    let parameters = Parameters::with_defaults(SIZE);
    let mut full_card: &str = &card.name;
    while let Some((_, part)) = full_card.split_once(':')
        && let Ok(card) = tenure_instances::card(part, &parameters)
        && card.variants.contains(variant)
    {
        full_card = part;
    }
    variant.demonstration_command(full_card)
}

fn table(cards: &[Card]) -> String {
    let mut text = String::new();
    let is_wide = line_width() >= FULL_TABLE_WIDTH;
    let mut row = |name: &str, service: &str, messages: &str, survives: &str, verified: &str| {
        let line = match is_wide {
            true => format!("{name:<24} {service:<11} {messages:<45} {survives:<8} {verified}"),
            // A narrow terminal has no room for the number of messages in the same line.
            false => format!("{name:<30} {service:<11} {survives:<9} {verified}\n    {messages}"),
        };
        writeln!(text, "{line}").expect("writing to a string succeeds");
    };
    row("algorithm", "service", "messages", "survives", "verified");
    let (composed, plain): (Vec<_>, Vec<_>) =
        cards.iter().partition(|card| card.name.contains(':'));
    for Card { name, title, service, messages, faults, .. } in plain {
        // The text after a comma or semicolon is shown in the whole card only.
        let cost = messages.formula.split([',', ';']).next().unwrap_or_default();
        let cost = format!("{cost} {}", per(messages.per));
        let verified = VerificationExtent::for_algorithm(name).to_string();
        row(name, service.name(), &cost, &survives(faults), &verified);
        row(&format!("    {title}"), "", "", "", "");
    }
    let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join("\n");
    let composed: Vec<&str> = composed.iter().map(|card| &*card.name).collect();
    let composed = match composed.as_slice() {
        [] => String::new(),
        some => {
            wrap(&format!("Compositions: {}.", some.join(", ")), line_width()).join("\n") + "\n\n"
        }
    };
    let (checker_only, systems) = (checker_only_card::table(), stabilizing_card::table());
    format!(
        "{text}\n\n{composed}\
         Each can run over a channel that loses and duplicates messages: fifo:NAME.\n\n\
         {checker_only}\n\
         {systems}\n\
         `tenure list NAME` shows a whole card; docs/algorithms.md has measurements.\n"
    )
}

fn full_card(card: &Card) -> String {
    let mut text = LabelledRows::with_card_heading(&card.name, &card.title);
    let mut row = |name: &str, message: &str| text.add_row(name, message);
    row("service", card.service.name());
    row("paper", card.paper);
    row("timing", &json_name(&card.timing));
    row("channel", channel(card.order));
    row("topology", &json_name(&card.topology));
    row("detector", &json_name(&card.detection));
    row("processes", &knowledge(card));
    row("faults", card.faults.description);
    if card.faults.absence {
        row(
            "",
            "processes that are down from the start (--down) are left out, and the others know it",
        );
    }
    let MessageCost { per: unit, formula, least, most, .. } = &card.messages;
    let most = most.map_or("any number".to_string(), |most| most.to_string());
    row("messages", &format!("{formula} {}", per(*unit)));
    row("", &format!("with {SIZE} processes: {least} to {most}"));
    let promises: Vec<_> = card.promises_under_drift(None).map(|promise| promise.name()).collect();
    let drift = card.drift_ppm / 10_000;
    let clocks = format!("while clocks drift by at most {drift} % and no process is suspended");
    let clocked = card.timed_promises.iter().map(|promise| format!("{promise}, {clocks}"));
    let always = (!promises.is_empty()).then(|| promises.join(", "));
    for (place, promise) in always.into_iter().chain(clocked).enumerate() {
        row(if place == 0 { "promises" } else { "" }, &promise);
    }
    for (place, ConfigurableTimeout { name, description, delay }) in
        card.timeouts.iter().enumerate()
    {
        let label = if place == 0 { "timeouts" } else { "" };
        row(label, &format!("{name} {}: {description}", delay_as_distribution(*delay)));
    }
    if let Some(verified) = VerificationExtent::for_algorithm(&card.name).sentence() {
        row("verified", &verified);
    }
    let properties = Property::ALL.into_iter().filter(|property| property.applies_to(card.service));
    let properties: Vec<_> = properties.map(|property| property.name()).collect();
    if !properties.is_empty() {
        row("properties", &properties.join(", "));
    }
    for variant in &card.variants {
        text.add_variant(variant, variant_command(card, variant));
        if let Some(part) = refuting_method(&card.name, variant.name) {
            text.add_row("", &format!("  refused by the {part} of tenure prove"));
        }
    }
    text.into_text()
}

fn channel(order: ChannelOrder) -> &'static str {
    match order {
        ChannelOrder::Fifo => "first in, first out",
        ChannelOrder::Reordered => "any order",
    }
}

fn knowledge(card: &Card) -> String {
    let names = if card.knows.names { "have names" } else { "have no names" };
    let size = if card.knows.size { "know the group size" } else { "need not know the group size" };
    let words: Vec<&str> = card.knows.uniformity_terms().collect();
    format!("{}: they {names} and {size}", words.join(", "))
}

fn per(unit: CostUnit) -> &'static str {
    match unit {
        CostUnit::Entry => "per entry",
        CostUnit::Election => "per election",
        CostUnit::Agreement => "per agreement",
        CostUnit::Message => "per message",
        CostUnit::Period => "per period",
    }
}

fn survives(faults: &ToleratedFaults) -> String {
    let crashes = match (faults.crashes, faults.max_crashed) {
        (CrashModel::None, _) => "no crash".to_owned(),
        (_, Some(1)) => "1 crash".to_owned(),
        (_, Some(most)) => format!("{most} crashes"),
        (CrashModel::Stop, None) => "crashes".to_owned(),
        (CrashModel::Recovery, None) => "recovery".to_owned(),
    };
    match faults.max_lost {
        0 => crashes,
        1 if faults.crashes == CrashModel::None => "1 lost".to_owned(),
        most if faults.crashes == CrashModel::None => format!("{most} lost"),
        most => format!("{crashes}, {most} lost"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn cards() -> Vec<Card> {
        let parameters = Parameters::with_defaults(SIZE);
        tenure_instances::algorithm_names()
            .map(|name| tenure_instances::card(name, &parameters).unwrap())
            .collect()
    }

    #[test]
    fn lines_fit_in_100_columns() {
        let full_card: String = cards().iter().map(full_card).collect();
        for line in table(&cards()).lines().chain(full_card.lines()) {
            // A line without spaces cannot be wrapped, so it may be longer.
            let breaks = line.trim().contains(' ');
            assert!(line.chars().count() <= 100 || !breaks, "{line}");
        }
    }

    #[test]
    fn readme_states_the_numbers_of_algorithms() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
        let readme = fs::read_to_string(path).expect("the README exists");
        let cards = cards();
        let (compositions, algorithms): (Vec<_>, Vec<_>) =
            cards.iter().partition(|card| card.name.contains(':'));
        let (algorithms, compositions) = (algorithms.len(), compositions.len());
        let row = format!("| `tenure list` | {algorithms} algorithms and {compositions} comp");
        assert!(readme.contains(&row), "expected `{row}ositions: …` in README.md");
    }

    #[test]
    fn json_has_stable_keys() {
        let data = serde_json::to_value(cards().iter().map(entry_of).collect::<Vec<_>>()).unwrap();
        for algorithm in data.as_array().unwrap() {
            let keys: Vec<_> = algorithm.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["card", "name", "service", "variants", "verified"]);
        }
    }
}
