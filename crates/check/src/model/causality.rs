//! Causality that a search tracks.

/// Data that processes and messages carry to track causality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Causality {
    #[default]
    None,
    /// For each process, the number of its requests in the causal past.
    Requests,
    /// Length of the longest causal chain of messages.
    Chain,
}

impl Causality {
    /// Returns the number of integers that represent a causal past, for a group of `size`
    /// processes.
    pub(crate) fn parts(self, size: u32) -> usize {
        match self {
            Causality::None => 0,
            Causality::Requests => size as usize,
            Causality::Chain => 1,
        }
    }
}
