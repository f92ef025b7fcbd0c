//! Mutants of models: one changed rule each. They show that the invariant notices mistakes.

pub(crate) mod edits;
pub(crate) mod formula_text;
pub(crate) mod mutant;
pub(crate) mod sample;
pub(crate) mod verdict;
