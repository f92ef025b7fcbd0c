//! Conformance: comparison of the states and steps of an implementation with a model.

pub(crate) mod checker_json;
pub(crate) mod comparison;
pub(crate) mod matching;
