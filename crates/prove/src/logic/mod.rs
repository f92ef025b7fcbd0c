//! A small many-sorted first-order logic. Formulas are data: they are printed for a solver and
//! evaluated on structures.

pub(crate) mod smt;
pub(crate) mod sort;
pub(crate) mod substitution;
pub(crate) mod symbol;
pub(crate) mod term;
pub(crate) mod variable;
