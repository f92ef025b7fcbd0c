//! Structures: concrete states, on which formulas are evaluated.

pub(crate) mod evaluation;
pub(crate) mod table;
pub(crate) mod transition;
pub(crate) mod value;
