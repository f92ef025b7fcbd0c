//! Values of logical terms: truth values, numbers, and elements of uninterpreted sorts.

use std::fmt::{self, Display};

use num_rational::Ratio;

use crate::logic::sort::Sort;

/// Value of a term in a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// Truth value of a formula.
    Bool(bool),
    /// Integer, such as a clock reading.
    Int(i64),
    /// Rational number, which represents a real number.
    Real(Ratio<i128>),
    /// Element of an uninterpreted sort: the sort, and the index of the element from 0.
    Element(Sort, u32),
}

impl Value {
    /// Returns the element that represents the process with this index. Indices begin at 0.
    pub fn process(index: u32) -> Self {
        Value::Element(Sort::Process, index)
    }

    /// Returns the index of an element among those of its sort, from 0.
    ///
    /// # Panics
    ///
    /// Panics if the value is not an element of an uninterpreted sort.
    pub fn index(self) -> u32 {
        match self {
            Value::Element(_, index) => index,
            other => panic!("{other} is no element"),
        }
    }

    /// Returns the sort of the value: Boolean, integer or real. For an element, returns the
    /// uninterpreted sort to which it belongs.
    pub fn sort(self) -> Sort {
        match self {
            Value::Bool(_) => Sort::Bool,
            Value::Int(_) => Sort::Int,
            Value::Real(_) => Sort::Real,
            Value::Element(sort, _) => sort,
        }
    }

    /// Returns the default value of a sort: false, 0, or the first element.
    pub fn default_of(sort: Sort) -> Self {
        match sort {
            Sort::Bool => Value::Bool(false),
            Sort::Int => Value::Int(0),
            Sort::Real => Value::Real(Ratio::ZERO),
            Sort::Process | Sort::Quorum => Value::Element(sort, 0),
        }
    }

    /// Returns true if the value is the truth value *true*.
    pub fn is_true(self) -> bool {
        self == Value::Bool(true)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Int(number)
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => value.fmt(f),
            Value::Int(number) => number.fmt(f),
            Value::Real(number) => number.fmt(f),
            Value::Element(Sort::Quorum, index) => write!(f, "Q{}", index + 1),
            Value::Element(_, index) => write!(f, "P{}", index + 1),
        }
    }
}
