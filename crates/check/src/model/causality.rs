//! Ways in which a search can track causality.

/// Data that processes and messages carry to track causality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CausalityTracking {
    #[default]
    None,
    /// For each process, the number of its requests in the causal past.
    Requests,
    /// Length of the longest causal chain of messages.
    Chain,
}

impl CausalityTracking {
    /// Returns the number of integers that represent a causal past, for a group of `size`
    /// processes.
    pub(crate) fn past_len(self, size: u32) -> usize {
        match self {
            CausalityTracking::None => 0,
            CausalityTracking::Requests => size as usize,
            CausalityTracking::Chain => 1,
        }
    }
}
