//! Cards that `tenure list` prints for algorithms that only the checker runs. These algorithms are
//! locks in shared memory, and Byzantine generals.

use std::fmt::Write;

use serde_json::{Value, json};
use tenure_core::Variant;
use tenure_core::byzantine::GeneralsCard;
use tenure_core::shared_memory::SharedMemoryCard;
use tenure_instances::{byzantine, shared_memory};

use super::output::{line_width, wrap};
use super::rows::LabelledRows;

/// Group size for which the [`SharedMemoryCard`]s of locks are made. Most papers use two processes.
const LOCK_SIZE: u32 = 2;

/// Number of generals for which the [`GeneralsCard`] is made. It is the least number that tolerates
/// [`LIARS`] liars.
const GENERALS: u32 = 4;

/// Number of lying generals for which the [`GeneralsCard`] is made.
const LIARS: u32 = 1;

#[derive(Debug)]
pub(crate) enum CheckerOnlyCard {
    Lock(SharedMemoryCard),
    Generals(GeneralsCard),
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    shared_memory::names().chain(byzantine::names())
}

impl CheckerOnlyCard {
    /// Returns the card of an algorithm that only the checker runs, by its name. Returns `None` if
    /// there is no algorithm with this name, or if other commands can run the algorithm.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let lock = shared_memory::card(name, LOCK_SIZE).map(CheckerOnlyCard::Lock);
        let generals = || byzantine::card(name, GENERALS, LIARS).map(CheckerOnlyCard::Generals);
        lock.or_else(generals)
    }

    fn name(&self) -> &'static str {
        match self {
            CheckerOnlyCard::Lock(card) => card.name,
            CheckerOnlyCard::Generals(card) => card.name,
        }
    }

    fn title(&self) -> &'static str {
        match self {
            CheckerOnlyCard::Lock(card) => card.title,
            CheckerOnlyCard::Generals(card) => card.title,
        }
    }

    fn variants(&self) -> &[Variant] {
        match self {
            CheckerOnlyCard::Lock(card) => &card.variants,
            CheckerOnlyCard::Generals(card) => &card.variants,
        }
    }

    /// Returns the card as JSON. The result is a list with one element, because `tenure list`
    /// prints a list for every algorithm.
    pub(crate) fn to_json_list(&self) -> Value {
        let (service, card) = match self {
            CheckerOnlyCard::Lock(card) => ("mutex", json!(card)),
            CheckerOnlyCard::Generals(card) => ("consensus", json!(card)),
        };
        let variants = self.variants();
        json!([{ "name": self.name(), "service": service, "card": card, "variants": variants }])
    }

    /// Returns the rows of the printed card, each with a label and a text. The rows of the variants
    /// are not included.
    fn rows(&self) -> Vec<(&'static str, String)> {
        match self {
            CheckerOnlyCard::Lock(card) => {
                let promises: Vec<_> = card.promises.iter().map(ToString::to_string).collect();
                vec![
                    ("service", "mutex, in shared memory: only the checker runs it".to_owned()),
                    ("paper", card.paper.to_owned()),
                    ("registers", card.registers.to_owned()),
                    ("accesses", format!("{} per entry without contention", card.accesses)),
                    ("", format!("with {LOCK_SIZE} processes: {}", card.uncontended_accesses)),
                    ("promises", promises.join(", ")),
                ]
            }
            CheckerOnlyCard::Generals(card) => vec![
                ("service", "consensus among liars: only the checker runs it".to_owned()),
                ("paper", card.paper.to_owned()),
                ("assumes", card.assumes.to_owned()),
                ("messages", format!("{} per order", card.messages)),
                ("", format!("with {GENERALS} generals and {LIARS} liar: {}", card.message_count)),
                ("promises", "agreement (IC1), validity (IC2)".to_owned()),
            ],
        }
    }

    pub(crate) fn full_card(&self) -> String {
        let mut text = LabelledRows::with_card_heading(self.name(), self.title());
        self.rows().iter().for_each(|(name, message)| text.add_row(name, message));
        for variant in self.variants() {
            text.add_variant(variant, variant.demonstration_command(self.name()));
        }
        text.into_text()
    }
}

pub(crate) fn table() -> String {
    let mut text = "For `tenure check` only, in shared memory or among liars:\n".to_owned();
    for card in names().filter_map(CheckerOnlyCard::find) {
        let lines = wrap(card.title(), line_width() - 33);
        for (place, line) in lines.iter().enumerate() {
            let name = if place == 0 { card.name() } else { "" };
            writeln!(text, "  {name:<29}{line}").expect("writing to a string succeeds");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_names_its_mistakes_with_their_commands() {
        let text = CheckerOnlyCard::find("peterson-lock").expect("it is a lock").full_card();
        assert!(text.contains("turn-first (deliberate mistake)"), "{text}");
        assert!(text.contains("tenure check peterson-lock --variant turn-first"), "{text}");
        assert!(CheckerOnlyCard::find("lamport").is_none());
    }

    #[test]
    fn lines_fit_in_100_columns() {
        let cards: String =
            names().filter_map(CheckerOnlyCard::find).map(|it| it.full_card()).collect();
        for line in table().lines().chain(cards.lines()) {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}
