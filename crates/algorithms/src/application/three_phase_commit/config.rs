//! Configuration of three-phase commit.

use crate::variants::{Variants, variant_ids};

/// Configuration of one process.
pub type Config = Variants<VariantId>;

variant_ids! {
    TwoPhases = "two-phases", unsound,
        "the coordinator commits as soon as all have voted yes";
    CommitDirectly = "commit-directly", unsound,
        "a new leader commits a transaction for which any process is ready, before the others are";
    ReturnedCount = "returned-count", unsound,
        "a restarted process takes part as if nothing could have been decided without it";
}
