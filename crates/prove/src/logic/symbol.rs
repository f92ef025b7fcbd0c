//! Symbols: the relations and functions of a model.

use crate::logic::sort::Sort;
use crate::logic::term::{Arguments, Term};

/// Relation or function symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol {
    /// Name, unique in a model.
    pub name: &'static str,
    /// Sorts of the arguments.
    pub domain: &'static [Sort],
    /// Sort of the result.
    pub range: Sort,
}

impl Symbol {
    /// Creates a relation.
    pub const fn relation(name: &'static str, domain: &'static [Sort]) -> Self {
        Symbol { name, domain, range: Sort::Bool }
    }

    /// Creates a function.
    pub const fn function(name: &'static str, domain: &'static [Sort], range: Sort) -> Self {
        Symbol { name, domain, range }
    }

    /// Creates a constant: a function without arguments.
    pub const fn constant(name: &'static str, range: Sort) -> Self {
        Symbol { name, domain: &[], range }
    }

    /// Returns the application of the symbol to arguments.
    ///
    /// # Panics
    ///
    /// Panics if the number or the sorts of the arguments differ from the domain.
    #[track_caller]
    pub fn at(self, arguments: impl Arguments) -> Term {
        Term::apply(self, arguments.terms())
    }

    /// Returns the value of a constant.
    ///
    /// # Panics
    ///
    /// Panics if the symbol has arguments.
    #[track_caller]
    pub fn constant_term(self) -> Term {
        Term::apply(self, Vec::new())
    }
}
