//! Why a check was not run.

use tenure_core::{ProcessId, Weakness};

use crate::tell::story::Story;

/// Why a check gives no report: it was not run, or the protocol broke down.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Too few processes, or too many.
    #[error("a check takes 1 to {most} processes, not {size}")]
    Size {
        /// How many were asked for.
        size: u32,
        /// The most.
        most: u32,
    },
    /// Too many monitors.
    #[error("a check of so many processes takes at most {most} monitors, not {monitors}")]
    Monitors {
        /// How many were asked for.
        monitors: usize,
        /// The most.
        most: usize,
    },
    /// A process that does not exist was named.
    #[error("{process} is not one of the {size} processes")]
    Stranger {
        /// Who was named.
        process: ProcessId,
        /// How many there are.
        size: u32,
    },
    /// It was to begin after a step that is not possible there.
    #[error("the search cannot begin there: {says}")]
    After {
        /// Which, and why.
        says: String,
    },
    /// As many entries as processes are needed.
    #[error("entries were given for {given} processes, where there are {size}")]
    Entries {
        /// For how many they were given.
        given: usize,
        /// How many processes there are.
        size: u32,
    },
    /// The protocol cannot be checked without an end: it does not say how its stamps shift, or
    /// was not asked.
    #[error(
        "the stamps of {algorithm} are not shifted, so endless requests would be endlessly many \
         states; give a number of entries"
    )]
    Endless {
        /// Which one.
        algorithm: String,
    },
    /// The protocol could be checked without an end, but not so.
    #[error(
        "where processes come back, or applications stamp their messages, stamps are not \
         shifted, so endless requests would be endlessly many states; give a number of entries"
    )]
    Unshifted,
    /// Names matter to what shall be judged.
    #[error("where names are exchanged, only mutual exclusion is judged, and no liveness")]
    Symmetric,
    /// A handler panicked, which a protocol must never do.
    #[error("a handler panicked: {says}\n{story}")]
    Panicked {
        /// What the panic said.
        says: String,
        /// The shortest run that leads there; its last step is the handler's.
        story: Story,
    },
    /// More may happen than the card assumes.
    #[error("{algorithm}: {weakness}; change it or assume no card")]
    Weaker {
        /// Which one.
        algorithm: String,
        /// What its card demands, and what may happen.
        weakness: Weakness,
    },
    /// Causality counts requests.
    #[error("the order of requests is checked with a number of entries, not without bound")]
    EndlessOrder,
}
