//! What an algorithm costs in messages, and whether a run kept to it.

use alloc::format;
use alloc::string::String;

use crate::label::Layer;
use crate::theory::{Expected, Figure, Precision};

/// What the messages of [`Cost`] are counted per.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Per {
    /// One entry to the critical section.
    Entry,
    /// One election.
    Election,
    /// One agreement: a decision, an item that all deliver.
    Agreement,
    /// One message of the protocol inside.
    Message,
    /// One period of a timer.
    Period,
}

impl Per {
    /// The layer whose messages are counted; nothing where a run has no number of such things.
    pub const fn layer(self) -> Option<Layer> {
        match self {
            Per::Entry => Some(Layer::Mutex),
            Per::Election => Some(Layer::Election),
            Per::Agreement | Per::Message | Per::Period => None,
        }
    }

    /// So many of them, in words.
    fn times(self, times: u64) -> String {
        match (self, times) {
            (Per::Election, 1) => "an election".into(),
            (Per::Election, times) => format!("{times} elections"),
            (_, 1) => "one entry".into(),
            (_, times) => format!("{times} entries"),
        }
    }
}

/// The messages that an algorithm sends, not counting those to oneself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Cost {
    /// Per what.
    pub per: Per,
    /// The formula as people write it.
    pub formula: &'static str,
    /// The fewest.
    pub least: u64,
    /// The most; `None` when there is no bound.
    pub most: Option<u64>,
    /// Whether these bound all that is sent: the formula of some goes on behind a comma.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub whole: bool,
}

impl Cost {
    /// So many for one entry.
    pub const fn per_entry(formula: &'static str, least: u64, most: Option<u64>) -> Self {
        Cost { per: Per::Entry, formula, least, most, whole: true }
    }

    /// So many for one election.
    pub const fn per_election(formula: &'static str, least: u64, most: Option<u64>) -> Self {
        Cost { per: Per::Election, formula, least, most, whole: true }
    }

    /// So many for one agreement.
    pub const fn per_agreement(formula: &'static str, least: u64, most: Option<u64>) -> Self {
        Cost { per: Per::Agreement, formula, least, most, whole: true }
    }

    /// The same, and more of which the bounds do not speak.
    pub const fn in_part(self) -> Self {
        Cost { whole: false, ..self }
    }

    /// Whether a run can be held to it: it speaks of all that is sent, and bounds it.
    pub const fn is_promise(&self) -> bool {
        self.whole && self.per.layer().is_some() && (self.least > 0 || self.most.is_some())
    }

    /// The number of messages, where it is always the same.
    pub fn exactly(&self) -> Option<u64> {
        self.most.filter(|most| *most == self.least)
    }

    /// The same, but none in a group of one.
    pub const fn none_alone(self, size: u32) -> Self {
        if size == 1 { Cost { least: 0, most: Some(0), ..self } } else { self }
    }
}

/// What a run may cost: what the card says, and what the books say of such a run besides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Price {
    /// Of the card.
    pub cost: Cost,
    /// Of the books.
    pub expected: Option<Expected>,
}

impl Price {
    /// What is wrong, if anything is, with so many messages for so many entries or elections that
    /// are over; `begun` of them there were, those included that are not.
    pub fn objection(&self, sent: u64, times: u64, begun: u64) -> Option<String> {
        let Cost { per, formula, least, most, .. } = self.cost;
        let each = match per {
            Per::Election => "for each election",
            _ => "for each entry",
        };
        let said = format!("{sent} messages for {}", per.times(begun));
        if most.is_some_and(|most| u128::from(sent) > u128::from(most) * u128::from(begun)) {
            let most = most.unwrap_or_default();
            return Some(format!("{said}: the card says {formula}, at most {most} {each}"));
        }
        if times < begun {
            return None;
        }
        if u128::from(sent) < u128::from(least) * u128::from(times) {
            return Some(format!("{said}: the card says {formula}, at least {least} {each}"));
        }
        let expected = self.expected.filter(|expected| expected.excludes(sent, times))?;
        let Figure { sum, shared_by, .. } = expected.messages;
        let words = expected.precision.words();
        let figure = match shared_by {
            1 => format!("{sum}"),
            _ => format!("{sum}/{shared_by}"),
        };
        Some(format!("{said}: the books say {words} {figure} {each}"))
    }
}

impl Expected {
    /// Whether so many messages for so many entries or elections cannot be. A mean excludes
    /// nothing.
    pub fn excludes(&self, sent: u64, times: u64) -> bool {
        let Figure { sum, shared_by, .. } = self.messages;
        let sent = u128::from(sent) * u128::from(shared_by);
        let said = u128::from(sum) * u128::from(times);
        match self.precision {
            Precision::Exact => sent != said,
            Precision::Most => sent > said,
            Precision::Least => sent < said,
            Precision::Mean => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_held_to_the_card_and_to_the_books() {
        let cost = Cost::per_entry("2(N−1)", 4, Some(8));
        let price = Price { cost, expected: Some(Expected::new(Precision::Exact, 6)) };
        assert_eq!(price.objection(12, 2, 2), None);
        let says = |sent, times, begun| price.objection(sent, times, begun).unwrap_or_default();
        assert_eq!(
            says(17, 2, 2),
            "17 messages for 2 entries: the card says 2(N−1), at most 8 for each entry"
        );
        assert!(says(3, 1, 1).ends_with("at least 4 for each entry"));
        assert_eq!(
            says(7, 1, 1),
            "7 messages for one entry: the books say exactly 6 for each entry"
        );
        // Whoever still waits may be what was paid for.
        assert_eq!(price.objection(13, 1, 2), None);
        assert_ne!(price.objection(17, 1, 2), None);
    }

    #[test]
    fn a_share_is_compared_without_fractions_and_a_mean_excludes_nothing() {
        let shared = Expected::shared(Precision::Exact, 12, 5);
        assert!(!shared.excludes(24, 10) && shared.excludes(23, 10) && shared.excludes(25, 10));
        assert!(!Expected::harmonic(5, 5, 5).excludes(1000, 1));
        assert!(Expected::new(Precision::Least, 5).excludes(4, 1));
    }
}
