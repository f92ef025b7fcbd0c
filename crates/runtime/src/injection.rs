//! Fault injection between a node and its transport.

/// Source of random faults for tests. For each message of a node, it decides whether the message
/// is dropped or duplicated before the transport sends it.
///
/// A seed makes the decisions repeatable. The order of events still depends on the network.
#[derive(Debug)]
pub struct FaultInjection {
    loss_probability: f64,
    duplicate_probability: f64,
    random: fastrand::Rng,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendAction {
    Send,
    Drop,
    Duplicate,
}

impl FaultInjection {
    /// Creates an injection without faults.
    pub fn none() -> Self {
        FaultInjection::new(0.0, 0.0, 0)
    }

    /// Creates an injection that drops each message with probability `loss_probability`. Of
    /// the other messages, it duplicates each with probability `duplicate_probability`. `seed`
    /// determines the random decisions.
    pub fn new(loss_probability: f64, duplicate_probability: f64, seed: u64) -> Self {
        FaultInjection {
            loss_probability,
            duplicate_probability,
            random: fastrand::Rng::with_seed(seed),
        }
    }

    pub(crate) fn next_send_action(&mut self) -> SendAction {
        if self.loss_probability > 0.0 && self.random.f64() < self.loss_probability {
            SendAction::Drop
        } else if self.duplicate_probability > 0.0 && self.random.f64() < self.duplicate_probability
        {
            SendAction::Duplicate
        } else {
            SendAction::Send
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_occur_with_given_probability() {
        let mut injection = FaultInjection::new(0.25, 0.5, 7);
        let actions: Vec<SendAction> = (0..10_000).map(|_| injection.next_send_action()).collect();
        let count = |action| actions.iter().filter(|it| **it == action).count();
        assert!((2_200..2_800).contains(&count(SendAction::Drop)), "{}", count(SendAction::Drop));
        assert!(
            (3_400..4_100).contains(&count(SendAction::Duplicate)),
            "{}",
            count(SendAction::Duplicate)
        );
        let mut none = FaultInjection::none();
        assert!((0..10_000).all(|_| none.next_send_action() == SendAction::Send));
    }
}
