//! Conformance: the states and steps of the code, compared with a model.

pub(crate) mod comparison;
pub(crate) mod matching;
pub(crate) mod shown_value;
