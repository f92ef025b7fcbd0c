//! Cards of the algorithms that only the checker runs, for `tenure list`: locks in shared memory,
//! and Byzantine generals.

use std::fmt::Write;

use serde_json::{Value, json};
use tenure_core::Variant;
use tenure_core::byzantine::GeneralsCard;
use tenure_core::shared_memory::SharedMemoryCard;
use tenure_instances::{byzantine, shared_memory};

use super::output::{width, wrap};
use super::rows::Rows;

/// Group size for which the [`SharedMemoryCard`]s of locks are made. Most papers use two processes.
const LOCK_SIZE: u32 = 2;

/// Number of generals for which the [`GeneralsCard`] is made. It is the least number that tolerates
/// [`LIARS`] liars.
const GENERALS: u32 = 4;

/// Number of lying generals for which the [`GeneralsCard`] is made.
const LIARS: u32 = 1;

#[derive(Debug)]
pub(crate) enum OwnModelCard {
    Lock(SharedMemoryCard),
    Generals(GeneralsCard),
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    shared_memory::names().chain(byzantine::names())
}

impl OwnModelCard {
    /// Returns the card of the algorithm with this name. `None` if other commands run this
    /// algorithm as well, or if it does not exist.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let lock = shared_memory::card(name, LOCK_SIZE).map(OwnModelCard::Lock);
        let generals = || byzantine::card(name, GENERALS, LIARS).map(OwnModelCard::Generals);
        lock.or_else(generals)
    }

    fn name(&self) -> &'static str {
        match self {
            OwnModelCard::Lock(card) => card.name,
            OwnModelCard::Generals(card) => card.name,
        }
    }

    fn title(&self) -> &'static str {
        match self {
            OwnModelCard::Lock(card) => card.title,
            OwnModelCard::Generals(card) => card.title,
        }
    }

    fn variants(&self) -> &[Variant] {
        match self {
            OwnModelCard::Lock(card) => &card.variants,
            OwnModelCard::Generals(card) => &card.variants,
        }
    }

    /// Returns the card as JSON: a list with one element, like the list of other algorithms.
    pub(crate) fn entries(&self) -> Value {
        let (service, card) = match self {
            OwnModelCard::Lock(card) => ("mutex", json!(card)),
            OwnModelCard::Generals(card) => ("consensus", json!(card)),
        };
        let variants = self.variants();
        json!([{ "name": self.name(), "service": service, "card": card, "variants": variants }])
    }

    /// Returns the rows of the printed card, each with a label and a text. The rows of the variants
    /// are not included.
    fn rows(&self) -> Vec<(&'static str, String)> {
        match self {
            OwnModelCard::Lock(card) => {
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
            OwnModelCard::Generals(card) => vec![
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
        let mut text = Rows::of_card(self.name(), self.title());
        self.rows().iter().for_each(|(name, message)| text.row(name, message));
        for variant in self.variants() {
            text.add_variant(variant, variant.command(self.name()));
        }
        text.into_text()
    }
}

pub(crate) fn table() -> String {
    let mut text = "For `tenure check` only, in shared memory or among liars:\n".to_owned();
    for card in names().filter_map(OwnModelCard::of) {
        let lines = wrap(card.title(), width() - 33);
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
        let text = OwnModelCard::of("peterson-lock").expect("it is a lock").full_card();
        assert!(text.contains("turn-first (deliberate mistake)"), "{text}");
        assert!(text.contains("tenure check peterson-lock --variant turn-first"), "{text}");
        assert!(OwnModelCard::of("lamport").is_none());
    }

    #[test]
    fn lines_fit_in_100_columns() {
        let cards: String = names().filter_map(OwnModelCard::of).map(|it| it.full_card()).collect();
        for line in table().lines().chain(cards.lines()) {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}
