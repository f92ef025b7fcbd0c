//! Terms and formulas. A formula is a term of the sort [`Sort::Bool`].

use std::ops::{Add, BitAnd, BitOr, Mul, Not, Sub};
use std::sync::Arc;

use crate::logic::sort::Sort;
use crate::logic::symbol::Symbol;
use crate::logic::variable::Variable;

/// Term: an immutable tree that is cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term(pub(crate) Arc<TermNode>);

/// Operator or constant at the root of a term, with its operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TermNode {
    Variable(Variable),
    Apply(Symbol, Vec<Term>),
    Bool(bool),
    Int(i64),
    /// A rational number: its numerator and its positive denominator.
    Real(i64, i64),
    Not(Term),
    And(Vec<Term>),
    Or(Vec<Term>),
    Implies(Term, Term),
    Equals(Term, Term),
    Less(Term, Term),
    AtMost(Term, Term),
    Plus(Term, Term),
    Minus(Term, Term),
    Times(Term, Term),
    If(Term, Term, Term),
    ForAll(Vec<Variable>, Term),
    Exists(Vec<Variable>, Term),
}

impl Term {
    fn new(node: TermNode) -> Self {
        Term(Arc::new(node))
    }

    /// Returns the formula *true*.
    pub fn truth() -> Self {
        Term::new(TermNode::Bool(true))
    }

    /// Returns the formula *false*.
    pub fn falsehood() -> Self {
        Term::new(TermNode::Bool(false))
    }

    /// Returns a rational constant.
    ///
    /// # Panics
    ///
    /// Panics if the denominator is not positive.
    pub fn real(numerator: i64, denominator: i64) -> Self {
        assert!(denominator > 0, "a denominator is positive");
        Term::new(TermNode::Real(numerator, denominator))
    }

    #[track_caller]
    pub(crate) fn apply(symbol: Symbol, arguments: Vec<Term>) -> Self {
        let sorts: Vec<Sort> = arguments.iter().map(Term::sort).collect();
        assert_eq!(sorts, symbol.domain, "arguments of `{}`", symbol.name);
        Term::new(TermNode::Apply(symbol, arguments))
    }

    /// Returns the sort of the term.
    pub fn sort(&self) -> Sort {
        match &*self.0 {
            TermNode::Variable(variable) => variable.sort,
            TermNode::Apply(symbol, _) => symbol.range,
            TermNode::Int(_) => Sort::Int,
            TermNode::Real(..) => Sort::Real,
            TermNode::Plus(left, _) | TermNode::Minus(left, _) | TermNode::Times(left, _) => {
                left.sort()
            }
            TermNode::If(_, then, _) => then.sort(),
            TermNode::Bool(_)
            | TermNode::Not(_)
            | TermNode::And(_)
            | TermNode::Or(_)
            | TermNode::Implies(..)
            | TermNode::Equals(..)
            | TermNode::Less(..)
            | TermNode::AtMost(..)
            | TermNode::ForAll(..)
            | TermNode::Exists(..) => Sort::Bool,
        }
    }

    #[track_caller]
    fn binary(node: fn(Term, Term) -> TermNode, left: Term, right: Term) -> Self {
        assert_eq!(left.sort(), right.sort(), "{left:?} and {right:?}");
        Term::new(node(left, right))
    }

    /// Returns the conjuncts of a conjunction, or the term itself.
    fn conjuncts(self) -> Vec<Term> {
        match &*self.0 {
            TermNode::And(parts) => parts.clone(),
            _ => vec![self],
        }
    }

    /// Returns the disjuncts of a disjunction, or the term itself.
    fn disjuncts(self) -> Vec<Term> {
        match &*self.0 {
            TermNode::Or(parts) => parts.clone(),
            _ => vec![self],
        }
    }
}

/// Returns the conjunction of `formulas`. Returns the formula *true* if there are none.
pub fn conjunction(formulas: impl IntoIterator<Item = Term>) -> Term {
    let mut formulas: Vec<Term> = formulas.into_iter().collect();
    match formulas.len() {
        0 => Term::truth(),
        1 => formulas.remove(0),
        _ => Term::new(TermNode::And(formulas)),
    }
}

/// Returns the disjunction of `formulas`. Returns the formula *false* if there are none.
pub fn disjunction(formulas: impl IntoIterator<Item = Term>) -> Term {
    let mut formulas: Vec<Term> = formulas.into_iter().collect();
    match formulas.len() {
        0 => Term::falsehood(),
        1 => formulas.remove(0),
        _ => Term::new(TermNode::Or(formulas)),
    }
}

/// Returns a formula that is true if `body` is true for all values of `variables`.
pub fn for_all(variables: impl IntoIterator<Item = Variable>, body: Term) -> Term {
    Term::new(TermNode::ForAll(variables.into_iter().collect(), body))
}

/// Returns a formula that is true if `body` is true for at least one choice of values of
/// `variables`.
pub fn exists(variables: impl IntoIterator<Item = Variable>, body: Term) -> Term {
    Term::new(TermNode::Exists(variables.into_iter().collect(), body))
}

/// Returns a term with one of two values. If `condition` is true, the value of the term is `then`.
/// Otherwise, the value is `otherwise`.
///
/// # Panics
///
/// Panics if the sorts of the two terms differ.
#[track_caller]
pub fn if_then_else(condition: Term, then: impl Into<Term>, otherwise: impl Into<Term>) -> Term {
    let (then, otherwise) = (then.into(), otherwise.into());
    assert_eq!(then.sort(), otherwise.sort(), "both values of a condition have one sort");
    Term::new(TermNode::If(condition, then, otherwise))
}

/// Relations and arithmetic between terms. Each method panics if the sorts of the operands differ.
pub trait TermOperations: Into<Term> {
    /// Returns a formula that is true if this term equals `other`.
    #[track_caller]
    fn equals(self, other: impl Into<Term>) -> Term {
        Term::binary(TermNode::Equals, self.into(), other.into())
    }

    /// Returns a formula that is true if this term differs from `other`.
    #[track_caller]
    fn differs(self, other: impl Into<Term>) -> Term {
        !self.equals(other)
    }

    /// Returns a formula that is true if this number is less than `other`.
    #[track_caller]
    fn less(self, other: impl Into<Term>) -> Term {
        Term::binary(TermNode::Less, self.into(), other.into())
    }

    /// Returns a formula that is true if this number is at most `other`.
    #[track_caller]
    fn at_most(self, other: impl Into<Term>) -> Term {
        Term::binary(TermNode::AtMost, self.into(), other.into())
    }

    /// Returns a formula that is true if this formula is false or `other` is true.
    #[track_caller]
    fn implies(self, other: impl Into<Term>) -> Term {
        Term::binary(TermNode::Implies, self.into(), other.into())
    }

    /// Returns the sum of this number and `other`.
    #[track_caller]
    fn plus(self, other: impl Into<Term>) -> Term {
        Term::binary(TermNode::Plus, self.into(), other.into())
    }

    /// Returns this number minus `other`.
    #[track_caller]
    fn minus(self, other: impl Into<Term>) -> Term {
        Term::binary(TermNode::Minus, self.into(), other.into())
    }

    /// Returns the product of this number and `other`.
    #[track_caller]
    fn times(self, other: impl Into<Term>) -> Term {
        Term::binary(TermNode::Times, self.into(), other.into())
    }
}

impl TermOperations for Term {}
impl TermOperations for Variable {}
impl TermOperations for Symbol {}

impl From<Variable> for Term {
    fn from(variable: Variable) -> Self {
        Term::new(TermNode::Variable(variable))
    }
}

impl From<&Term> for Term {
    fn from(term: &Term) -> Self {
        term.clone()
    }
}

impl From<i64> for Term {
    fn from(number: i64) -> Self {
        Term::new(TermNode::Int(number))
    }
}

impl From<bool> for Term {
    fn from(value: bool) -> Self {
        Term::new(TermNode::Bool(value))
    }
}

impl From<Symbol> for Term {
    fn from(constant: Symbol) -> Self {
        constant.constant_term()
    }
}

impl BitAnd for Term {
    type Output = Term;

    fn bitand(self, other: Term) -> Term {
        let mut parts = self.conjuncts();
        parts.extend(other.conjuncts());
        Term::new(TermNode::And(parts))
    }
}

impl BitOr for Term {
    type Output = Term;

    fn bitor(self, other: Term) -> Term {
        let mut parts = self.disjuncts();
        parts.extend(other.disjuncts());
        Term::new(TermNode::Or(parts))
    }
}

impl Not for Term {
    type Output = Term;

    fn not(self) -> Term {
        Term::new(TermNode::Not(self))
    }
}

impl<T: Into<Term>> Add<T> for Term {
    type Output = Term;

    #[track_caller]
    fn add(self, other: T) -> Term {
        self.plus(other)
    }
}

impl<T: Into<Term>> Sub<T> for Term {
    type Output = Term;

    #[track_caller]
    fn sub(self, other: T) -> Term {
        self.minus(other)
    }
}

impl<T: Into<Term>> Mul<T> for Term {
    type Output = Term;

    #[track_caller]
    fn mul(self, other: T) -> Term {
        self.times(other)
    }
}

/// Arguments of a symbol: a term or a variable, a tuple or a vector of terms, or `()`.
pub trait Arguments {
    /// Returns the arguments in order.
    fn terms(self) -> Vec<Term>;
}

impl Arguments for Variable {
    fn terms(self) -> Vec<Term> {
        vec![self.into()]
    }
}

impl Arguments for Term {
    fn terms(self) -> Vec<Term> {
        vec![self]
    }
}

impl Arguments for Vec<Term> {
    fn terms(self) -> Vec<Term> {
        self
    }
}

impl Arguments for () {
    fn terms(self) -> Vec<Term> {
        Vec::new()
    }
}

macro_rules! arguments_of_tuples {
    ($($kind:ident)*) => {
        impl<$($kind: Into<Term>),*> Arguments for ($($kind,)*) {
            #[allow(non_snake_case, reason = "each name stands for a type and for its value")]
            fn terms(self) -> Vec<Term> {
                let ($($kind,)*) = self;
                vec![$($kind.into()),*]
            }
        }
    };
}

arguments_of_tuples!(A B);
arguments_of_tuples!(A B C);
arguments_of_tuples!(A B C D);
arguments_of_tuples!(A B C D E);
