//! A trace, record by record, folded into what then holds.
//!
//! Whoever judges, draws or shows a run while it lasts asks the same of its records, and asks here.

pub(crate) mod logs;
pub(crate) mod standing;
