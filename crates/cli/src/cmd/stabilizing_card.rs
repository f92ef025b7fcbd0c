//! Cards of the self-stabilizing systems, for `tenure list`.

use std::fmt::Write;

use serde::Serialize;
use tenure_algorithms::stabilization::{self, NAMES};
use tenure_core::Variant;
use tenure_core::stabilization::StabilizingCard;

use super::rows::LabelledRows;

#[derive(Debug, Serialize)]
pub(crate) struct StabilizingSystemEntry<'a> {
    name: &'a str,
    service: &'static str,
    title: &'a str,
    paper: &'a str,
    states: &'a str,
    variants: &'a [Variant],
}

/// Returns the [`StabilizingCard`] of a self-stabilizing system that only `tenure check` runs.
/// Returns `None` for an unknown name, and for a system that is also an algorithm of the catalogue.
pub(crate) fn check_only_card(name: &str) -> Option<StabilizingCard> {
    let is_algorithm = tenure_instances::algorithm_names().any(|known| known == name);
    stabilization::card(name).filter(|_| !is_algorithm)
}

/// Returns the text of the [`StabilizingCard`] if `algorithm` is the name of a self-stabilizing
/// system. Returns an empty text for any other algorithm.
pub(crate) fn card_appendix(algorithm: &str) -> String {
    stabilization::card(algorithm)
        .map_or_else(String::new, |card| format!("\n{}", full_card(&card)))
}

/// Returns the entry of a stabilizing system in the JSON output.
pub(crate) fn json_entry(card: &StabilizingCard) -> StabilizingSystemEntry<'_> {
    let StabilizingCard { name, title, paper, states, variants } = card;
    StabilizingSystemEntry { name, service: "stabilization", title, paper, states, variants }
}

pub(crate) fn table() -> String {
    let mut text = "Self-stabilizing systems, for `tenure check NAME --from any`:\n".to_owned();
    for card in NAMES.into_iter().filter_map(stabilization::card) {
        writeln!(text, "  {:<28} {}", card.name, card.title).expect("writing to a string succeeds");
    }
    text
}

pub(crate) fn full_card(card: &StabilizingCard) -> String {
    let mut text = LabelledRows::with_card_heading(card.name, card.title);
    let mut row = |name: &str, message: &str| text.add_row(name, message);
    row("paper", card.paper);
    row("from any", "with `tenure check --from any` it starts in every state");
    row("machines", "read the states of their neighbours and write their own in one atomic step");
    row("states", card.states);
    row("schedules", "all of a central daemon: one machine moves at a time");
    row("promises", "closure, convergence");
    for variant in &card.variants {
        text.add_variant(variant, variant.demonstration_command(card.name));
    }
    text.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_names_its_mistakes_with_their_commands() {
        let text = full_card(&check_only_card("dijkstra-four-state").expect("it is a system"));
        assert!(text.contains("bottom-ignores-up (deliberate mistake), D-4"), "{text}");
        let command = "tenure check dijkstra-four-state --variant bottom-ignores-up";
        assert!(text.contains(command), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert_eq!(check_only_card("dijkstra-ring"), None, "it is an algorithm with messages");
    }
}
