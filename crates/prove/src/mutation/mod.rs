//! Mutants of models, each with one changed rule. They show that the invariant notices mistakes.

pub(crate) mod edits;
pub(crate) mod formula_text;
pub(crate) mod mutant;
pub(crate) mod sample;
pub(crate) mod verdict;
