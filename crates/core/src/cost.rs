//! The message cost of an algorithm, and the check of a run against it.

use alloc::format;
use alloc::string::String;

use crate::label::Layer;
use crate::theory::{Precision, Prediction, Quantity};

/// Unit of work to which a [`Cost`] refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Per {
    /// One entry to the critical section.
    Entry,
    /// One election, from its start to the announcement of the leader.
    Election,
    /// One agreement: a decision, or an item that all processes deliver.
    Agreement,
    /// One message of the protocol that the algorithm carries, such as a message of a reliable
    /// channel's user.
    Message,
    /// One period of a timer.
    Period,
}

impl Per {
    /// Returns the layer whose messages count towards one such unit. `None` if no run is checked
    /// against a cost in this unit.
    pub const fn layer(self) -> Option<Layer> {
        match self {
            Per::Entry => Some(Layer::Mutex),
            Per::Election => Some(Layer::Election),
            Per::Agreement | Per::Message | Per::Period => None,
        }
    }

    /// Formats a number of units in words, such as `3 entries`.
    fn times(self, times: u64) -> String {
        match (self, times) {
            (Per::Election, 1) => "an election".into(),
            (Per::Election, times) => format!("{times} elections"),
            (_, 1) => "one entry".into(),
            (_, times) => format!("{times} entries"),
        }
    }
}

/// Message cost of an algorithm, without messages of a process to itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Cost {
    /// Unit of work that the bounds refer to.
    pub per: Per,
    /// Number of messages as a formula in *N*, for display.
    pub formula: &'static str,
    /// Lower bound on messages per unit.
    pub least: u64,
    /// Upper bound on messages per unit; `None` if there is no bound.
    pub most: Option<u64>,
    /// True if the bounds cover all messages. If false, the formula has further terms after a
    /// comma, which the bounds leave out.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub whole: bool,
}

impl Cost {
    /// Creates a cost per entry.
    pub const fn per_entry(formula: &'static str, least: u64, most: Option<u64>) -> Self {
        Cost { per: Per::Entry, formula, least, most, whole: true }
    }

    /// Creates a cost per election.
    pub const fn per_election(formula: &'static str, least: u64, most: Option<u64>) -> Self {
        Cost { per: Per::Election, formula, least, most, whole: true }
    }

    /// Creates a cost per agreement.
    pub const fn per_agreement(formula: &'static str, least: u64, most: Option<u64>) -> Self {
        Cost { per: Per::Agreement, formula, least, most, whole: true }
    }

    /// Marks the cost as incomplete: there are more messages than the bounds cover.
    pub const fn in_part(self) -> Self {
        Cost { whole: false, ..self }
    }

    /// Returns true if a run can be checked against the cost: it is complete and has a bound.
    pub const fn is_checkable(&self) -> bool {
        self.whole && self.per.layer().is_some() && (self.least > 0 || self.most.is_some())
    }

    /// Returns the number of messages, if it is constant.
    pub fn exactly(&self) -> Option<u64> {
        self.most.filter(|most| *most == self.least)
    }

    /// Sets the cost to 0 in a group of one process.
    pub const fn zero_if_alone(self, size: u32) -> Self {
        if size == 1 { Cost { least: 0, most: Some(0), ..self } } else { self }
    }
}

/// Upper and lower limits for the cost of a run: the card's cost and the prediction of theory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CostBound {
    /// Cost according to the card.
    pub cost: Cost,
    /// Number of messages that theory predicts for such a run; `None` if there is no formula.
    pub expected: Option<Prediction>,
}

impl CostBound {
    /// Compares the messages of a run with the limits. Returns an error message if `sent` messages
    /// contradict them. `times` entries or elections are complete, and `started` have begun,
    /// including the complete ones.
    pub fn objection(&self, sent: u64, times: u64, started: u64) -> Option<String> {
        let Cost { per, formula, least, most, .. } = self.cost;
        let each = match per {
            Per::Election => "for each election",
            _ => "for each entry",
        };
        let measured = format!("{sent} messages for {}", per.times(started));
        if most.is_some_and(|most| u128::from(sent) > u128::from(most) * u128::from(started)) {
            let most = most.unwrap_or_default();
            return Some(format!("{measured}: the card says {formula}, at most {most} {each}"));
        }
        if times < started {
            return None;
        }
        if u128::from(sent) < u128::from(least) * u128::from(times) {
            return Some(format!("{measured}: the card says {formula}, at least {least} {each}"));
        }
        let expected = self.expected.filter(|expected| expected.excludes(sent, times))?;
        let Quantity { numerator, denominator, .. } = expected.messages;
        let words = expected.precision.words();
        let figure = match denominator {
            1 => format!("{numerator}"),
            _ => format!("{numerator}/{denominator}"),
        };
        Some(format!("{measured}: theory predicts {words} {figure} {each}"))
    }
}

impl Prediction {
    /// Returns true if `sent` messages for `times` entries or elections contradict the prediction.
    /// False for a mean, from which a single run may differ.
    pub fn excludes(&self, sent: u64, times: u64) -> bool {
        let Quantity { numerator, denominator, .. } = self.messages;
        let sent = u128::from(sent) * u128::from(denominator);
        let predicted = u128::from(numerator) * u128::from(times);
        match self.precision {
            Precision::Exact => sent != predicted,
            Precision::Most => sent > predicted,
            Precision::Least => sent < predicted,
            Precision::Mean => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_run_against_card_and_theory() {
        let cost = Cost::per_entry("2(N−1)", 4, Some(8));
        let price = CostBound { cost, expected: Some(Prediction::new(Precision::Exact, 6)) };
        assert_eq!(price.objection(12, 2, 2), None);
        let description =
            |sent, times, started| price.objection(sent, times, started).unwrap_or_default();
        assert_eq!(
            description(17, 2, 2),
            "17 messages for 2 entries: the card says 2(N−1), at most 8 for each entry"
        );
        assert!(description(3, 1, 1).ends_with("at least 4 for each entry"));
        assert_eq!(
            description(7, 1, 1),
            "7 messages for one entry: theory predicts exactly 6 for each entry"
        );
        // Messages beyond the complete entries may belong to the request that still waits.
        assert_eq!(price.objection(13, 1, 2), None);
        assert_ne!(price.objection(17, 1, 2), None);
    }

    #[test]
    fn compares_fractions_exactly_and_ignores_means() {
        let shared = Prediction::shared(Precision::Exact, 12, 5);
        assert!(!shared.excludes(24, 10) && shared.excludes(23, 10) && shared.excludes(25, 10));
        assert!(!Prediction::harmonic(5, 5, 5).excludes(1000, 1));
        assert!(Prediction::new(Precision::Least, 5).excludes(4, 1));
    }
}
