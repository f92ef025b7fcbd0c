//! The message cost of an algorithm, and the comparison of a run with this cost.

use alloc::format;
use alloc::string::String;

use crate::label::Layer;
use crate::theory::{HarmonicQuantity, Prediction, PredictionKind};

/// Unit of work to which a [`MessageCost`] refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum CostUnit {
    /// One entry to the critical section.
    Entry,
    /// One election, from its start to the announcement of the leader.
    Election,
    /// One agreement, such as a decision, or an item that all processes deliver.
    Agreement,
    /// One message that the algorithm carries for another protocol, as a reliable channel does.
    Message,
    /// One period of a timer.
    Period,
}

impl CostUnit {
    /// Returns the protocol layer whose messages are counted for this unit. Returns `None` for
    /// agreements, messages and periods, because runs are not checked against costs in these units.
    pub const fn counted_layer(self) -> Option<Layer> {
        match self {
            CostUnit::Entry => Some(Layer::Mutex),
            CostUnit::Election => Some(Layer::Election),
            CostUnit::Agreement | CostUnit::Message | CostUnit::Period => None,
        }
    }

    /// Formats a number of elections if the unit is an election, such as `3 elections`. Otherwise
    /// formats a number of entries, such as `3 entries`.
    fn times(self, times: u64) -> String {
        match (self, times) {
            (CostUnit::Election, 1) => "an election".into(),
            (CostUnit::Election, times) => format!("{times} elections"),
            (_, 1) => "one entry".into(),
            (_, times) => format!("{times} entries"),
        }
    }
}

/// Number of messages that an algorithm sends per unit of work. Messages of a process to itself are
/// not counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MessageCost {
    /// Unit of work that the bounds refer to.
    pub per: CostUnit,
    /// Number of messages as a formula in *N*, for display.
    pub formula: &'static str,
    /// Lower bound on messages per unit.
    pub least: u64,
    /// Upper bound on messages per unit; `None` if there is no bound.
    pub most: Option<u64>,
    /// True if the bounds cover all messages. If false, the algorithm sends further messages that
    /// the bounds exclude. [`MessageCost::formula`] then names these messages after a comma.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub is_complete: bool,
}

impl MessageCost {
    /// Creates a cost per entry.
    pub const fn per_entry(formula: &'static str, least: u64, most: Option<u64>) -> Self {
        MessageCost { per: CostUnit::Entry, formula, least, most, is_complete: true }
    }

    /// Creates a cost per election.
    pub const fn per_election(formula: &'static str, least: u64, most: Option<u64>) -> Self {
        MessageCost { per: CostUnit::Election, formula, least, most, is_complete: true }
    }

    /// Creates a cost per agreement.
    pub const fn per_agreement(formula: &'static str, least: u64, most: Option<u64>) -> Self {
        MessageCost { per: CostUnit::Agreement, formula, least, most, is_complete: true }
    }

    /// Marks the cost as incomplete: the bounds do not count all messages of the algorithm.
    pub const fn marked_incomplete(self) -> Self {
        MessageCost { is_complete: false, ..self }
    }

    /// Returns true if a run can be checked against the cost. The cost must be complete, have an
    /// upper bound or a positive lower bound, and count the messages of one [`Layer`].
    pub const fn is_checkable(&self) -> bool {
        self.is_complete
            && self.per.counted_layer().is_some()
            && (self.least > 0 || self.most.is_some())
    }

    /// Returns the number of messages per unit if both bounds are equal. Otherwise returns `None`,
    /// because the number varies.
    pub fn exact_messages(&self) -> Option<u64> {
        self.most.filter(|most| *most == self.least)
    }

    /// Returns the cost with both bounds set to 0 if `size` is 1, because a single process sends no
    /// messages. Otherwise returns the cost unchanged.
    pub const fn zero_if_alone(self, size: u32) -> Self {
        if size == 1 { MessageCost { least: 0, most: Some(0), ..self } } else { self }
    }
}

/// Limits on the number of messages in a run: the cost that the algorithm's [`Card`](crate::Card)
/// states, and the number that theory predicts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CostBound {
    /// Cost that the algorithm's [`Card`](crate::Card) states.
    pub cost: MessageCost,
    /// Number of messages per unit that theory predicts for the workload of the run. `None` if
    /// there is no formula, or if the formula does not apply to the run.
    pub prediction: Option<Prediction>,
}

impl CostBound {
    /// Compares the number of messages in a run with the cost on the card and with the prediction
    /// of theory. Returns a description of the contradiction, or `None` if there is none.
    ///
    /// `sent` is the number of messages in the layer of the cost. `completed` is the number of
    /// entries or elections that have ended. `started` is the number that have begun, or an upper
    /// bound on it. If `completed` is less than `started`, only the upper bound on the card is
    /// compared.
    pub fn contradiction(&self, sent: u64, completed: u64, started: u64) -> Option<String> {
        let MessageCost { per, formula, least, most, .. } = self.cost;
        let each = match per {
            CostUnit::Election => "for each election",
            _ => "for each entry",
        };
        let measured = format!("{sent} messages for {}", per.times(started));
        if most.is_some_and(|most| u128::from(sent) > u128::from(most) * u128::from(started)) {
            let most = most.unwrap_or_default();
            return Some(format!("{measured}: the card says {formula}, at most {most} {each}"));
        }
        if completed < started {
            return None;
        }
        if u128::from(sent) < u128::from(least) * u128::from(completed) {
            return Some(format!("{measured}: the card says {formula}, at least {least} {each}"));
        }
        let expected = self.prediction.filter(|it| it.is_refuted_by(sent, completed))?;
        let HarmonicQuantity { numerator, denominator, .. } = expected.messages;
        let words = expected.precision.qualifier();
        let figure = match denominator {
            1 => format!("{numerator}"),
            _ => format!("{numerator}/{denominator}"),
        };
        Some(format!("{measured}: theory predicts {words} {figure} {each}"))
    }
}

impl Prediction {
    /// Returns true if the prediction is wrong for a run in which `completed` entries or elections
    /// took `sent` messages together. If the prediction is a mean, returns false: a single run may
    /// differ from a mean.
    pub fn is_refuted_by(&self, sent: u64, completed: u64) -> bool {
        let HarmonicQuantity { numerator, denominator, .. } = self.messages;
        let sent = u128::from(sent) * u128::from(denominator);
        let predicted = u128::from(numerator) * u128::from(completed);
        match self.precision {
            PredictionKind::Exact => sent != predicted,
            PredictionKind::Most => sent > predicted,
            PredictionKind::Least => sent < predicted,
            PredictionKind::Mean => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_run_against_card_and_theory() {
        let cost = MessageCost::per_entry("2(N−1)", 4, Some(8));
        let price = CostBound { cost, prediction: Some(Prediction::new(PredictionKind::Exact, 6)) };
        assert_eq!(price.contradiction(12, 2, 2), None);
        let description = |sent, completed, started| {
            price.contradiction(sent, completed, started).unwrap_or_default()
        };
        assert_eq!(
            description(17, 2, 2),
            "17 messages for 2 entries: the card says 2(N−1), at most 8 for each entry"
        );
        assert!(description(3, 1, 1).ends_with("at least 4 for each entry"));
        assert_eq!(
            description(7, 1, 1),
            "7 messages for one entry: theory predicts exactly 6 for each entry"
        );
        // Two entries have begun, so the upper bound is 2 · 8 = 16 messages.
        assert_eq!(price.contradiction(13, 1, 2), None);
        assert_ne!(price.contradiction(17, 1, 2), None);
    }

    #[test]
    fn compares_fractions_exactly_and_ignores_means() {
        let shared = Prediction::fraction(PredictionKind::Exact, 12, 5);
        assert!(
            !shared.is_refuted_by(24, 10)
                && shared.is_refuted_by(23, 10)
                && shared.is_refuted_by(25, 10)
        );
        assert!(!Prediction::harmonic(5, 5, 5).is_refuted_by(1000, 1));
        assert!(Prediction::new(PredictionKind::Least, 5).is_refuted_by(4, 1));
    }
}
