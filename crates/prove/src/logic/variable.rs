//! Variables of formulas, and parameters of actions.

use crate::logic::sort::Sort;

/// Variable of a formula, or parameter of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable {
    /// Name of the variable.
    pub name: &'static str,
    /// Number that distinguishes variables of the same name after a substitution has renamed them.
    /// 0 for a variable that was not renamed.
    pub index: u32,
    /// Sort of the values that the variable may have.
    pub sort: Sort,
}

impl Variable {
    /// Creates a variable.
    pub const fn new(name: &'static str, sort: Sort) -> Self {
        Variable { name, index: 0, sort }
    }

    /// Creates a variable whose values are processes.
    pub const fn process(name: &'static str) -> Self {
        Variable::new(name, Sort::Process)
    }

    /// Creates a variable whose values are integers.
    pub const fn int(name: &'static str) -> Self {
        Variable::new(name, Sort::Int)
    }

    /// Creates a variable whose values are real numbers.
    pub const fn real(name: &'static str) -> Self {
        Variable::new(name, Sort::Real)
    }

    /// Creates a variable whose values are quorums.
    pub const fn quorum(name: &'static str) -> Self {
        Variable::new(name, Sort::Quorum)
    }

    /// Returns the variable with its index replaced by `index`.
    #[must_use]
    pub fn with_rename_index(self, index: u32) -> Self {
        Variable { index, ..self }
    }
}
