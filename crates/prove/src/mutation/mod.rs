//! Mutants of models, each with one changed rule. They test whether the invariant detects a wrong
//! rule.

pub(crate) mod edits;
pub(crate) mod formula_text;
pub(crate) mod mutant;
pub(crate) mod sample;
pub(crate) mod verdict;
