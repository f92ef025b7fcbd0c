//! Evaluation of logical terms in a structure, which is one concrete state of a model.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use num_rational::Ratio;

use crate::logic::sort::Sort;
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermNode};
use crate::logic::variable::Variable;
use crate::structure::table::Structure;
use crate::structure::value::Value;

/// Map from variables to their values.
pub type Assignment = BTreeMap<Variable, Value>;

/// Evaluator of formulas on a structure. Each quantifier ranges over a finite list of values.
#[derive(Clone, Debug)]
pub struct Evaluator<'s> {
    structure: &'s Structure,
    ranges: BTreeMap<Sort, Vec<Value>>,
    has_overflowed: Cell<bool>,
}

impl<'s> Evaluator<'s> {
    /// Creates an evaluator of `structure`. Quantifiers over numbers range over 0 and the numbers
    /// that occur in the structure.
    ///
    /// Results are exact if each number variable `n` of the formula occurs in a term such as
    /// `holder(p, n)` or `number(p) = n`, where `p` is a process or a quorum. All conjuncts and
    /// axioms of the models that are compared with the code satisfy this condition.
    pub fn new(structure: &'s Structure) -> Self {
        Evaluator::with_numbers(structure, &[])
    }

    /// Creates an evaluator of `structure`. Quantifiers over numbers range over 0, the numbers
    /// that occur in the structure, and the numbers in `extra_numbers`.
    pub fn with_numbers(structure: &'s Structure, extra_numbers: &[Value]) -> Self {
        let mut ranges = BTreeMap::new();
        for sort in Sort::UNINTERPRETED {
            ranges.insert(sort, structure.elements(sort).collect());
        }
        for sort in [Sort::Int, Sort::Real] {
            let mut numbers = structure.quantifier_numbers(sort);
            numbers.extend(extra_numbers.iter().copied().filter(|value| value.sort() == sort));
            ranges.insert(sort, numbers.into_iter().collect());
        }
        ranges.insert(Sort::Bool, vec![Value::Bool(false), Value::Bool(true)]);
        Evaluator { structure, ranges, has_overflowed: Cell::new(false) }
    }

    /// Returns true if a number was too large for its type in an evaluation so far. The results of
    /// this evaluator are then meaningless.
    pub fn has_overflowed(&self) -> bool {
        self.has_overflowed.get()
    }

    /// Returns the values over which a quantifier of this sort ranges.
    pub fn quantifier_range(&self, sort: Sort) -> &[Value] {
        &self.ranges[&sort]
    }

    /// Returns true if a formula holds under an assignment of its free variables.
    ///
    /// # Panics
    ///
    /// Panics if a free variable has no value.
    pub fn holds(&self, formula: &Term, assignment: &Assignment) -> bool {
        self.is_true(formula, &mut assignment.clone())
    }

    /// Returns the value of a term under an assignment of its free variables.
    ///
    /// # Panics
    ///
    /// Panics if a free variable has no value.
    pub fn value(&self, term: &Term, assignment: &mut Assignment) -> Value {
        match &*term.0 {
            TermNode::Variable(variable) => *assignment
                .get(variable)
                .unwrap_or_else(|| panic!("the variable `{variable}` has a value")),
            TermNode::Apply(symbol, arguments) => {
                let arguments: Vec<Value> =
                    arguments.iter().map(|term| self.value(term, assignment)).collect();
                self.structure.value(*symbol, &arguments)
            }
            TermNode::Bool(value) => Value::Bool(*value),
            TermNode::Int(number) => Value::Int(*number),
            TermNode::Real(numerator, denominator) => {
                Value::Real(Ratio::new(i128::from(*numerator), i128::from(*denominator)))
            }
            TermNode::Not(inner) => Value::Bool(!self.is_true(inner, assignment)),
            TermNode::And(parts) => {
                Value::Bool(parts.iter().all(|it| self.is_true(it, assignment)))
            }
            TermNode::Or(parts) => Value::Bool(parts.iter().any(|it| self.is_true(it, assignment))),
            TermNode::Implies(a, b) => {
                Value::Bool(!self.is_true(a, assignment) || self.is_true(b, assignment))
            }
            TermNode::Equals(a, b) => {
                Value::Bool(self.value(a, assignment) == self.value(b, assignment))
            }
            TermNode::Less(a, b) => {
                Value::Bool(self.value(a, assignment) < self.value(b, assignment))
            }
            TermNode::AtMost(a, b) => {
                Value::Bool(self.value(a, assignment) <= self.value(b, assignment))
            }
            TermNode::Plus(a, b) => self.arithmetic([a, b], '+', assignment),
            TermNode::Minus(a, b) => self.arithmetic([a, b], '-', assignment),
            TermNode::Times(a, b) => self.arithmetic([a, b], '*', assignment),
            TermNode::If(condition, then, otherwise) => {
                let holds = self.is_true(condition, assignment);
                self.value(if holds { then } else { otherwise }, assignment)
            }
            TermNode::ForAll(variables, body) => {
                Value::Bool(!self.some(variables, body, false, assignment))
            }
            TermNode::Exists(variables, body) => {
                Value::Bool(self.some(variables, body, true, assignment))
            }
        }
    }

    fn is_true(&self, formula: &Term, assignment: &mut Assignment) -> bool {
        self.value(formula, assignment).is_true()
    }

    fn arithmetic(
        &self,
        operands: [&Term; 2],
        operator: char,
        assignment: &mut Assignment,
    ) -> Value {
        let [left, right] = operands.map(|operand| self.value(operand, assignment));
        let result = match (left, right) {
            (Value::Int(a), Value::Int(b)) => integer_operation(a, b, operator).map(Value::Int),
            (Value::Real(a), Value::Real(b)) => rational_operation(a, b, operator).map(Value::Real),
            _ => panic!("{left} and {right} are numbers of one sort"),
        };
        result.unwrap_or_else(|| {
            self.has_overflowed.set(true);
            Value::default_of(left.sort())
        })
    }

    /// Returns true if `body` has the truth value `wanted` for some values of `variables`.
    fn some(
        &self,
        variables: &[Variable],
        body: &Term,
        wanted: bool,
        assignment: &mut Assignment,
    ) -> bool {
        let outer = assignment.clone();
        let found = self.for_each_assignment(variables, body, wanted, assignment, &mut |_| {
            ControlFlow::Break(())
        });
        *assignment = outer;
        found.is_break()
    }

    /// Calls `on_found` for each assignment of values to `variables` with which `formula` has the
    /// truth value `wanted_truth`.
    ///
    /// If `formula` can have this truth value only where some relation holds, the search tries only
    /// the tuples of the relation. For example, `for all p, t: request(p, t) implies …` can be
    /// false only where `request` holds.
    pub(crate) fn for_each_assignment(
        &self,
        variables: &[Variable],
        formula: &Term,
        wanted_truth: bool,
        assignment: &mut Assignment,
        on_found: &mut dyn FnMut(&Assignment) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some((first, rest)) = variables.split_first() else {
            return match self.is_true(formula, assignment) == wanted_truth {
                true => on_found(assignment),
                false => ControlFlow::Continue(()),
            };
        };
        if let Some((symbol, places)) = required(formula, wanted_truth, variables) {
            let Some(table) = self.structure.explicit_table(symbol) else {
                return ControlFlow::Continue(());
            };
            let others = variables.iter().copied().filter(|it| !places.contains(it));
            let others: Vec<Variable> = others.collect();
            for (arguments, _) in table.entries() {
                assignment.extend(places.iter().copied().zip(arguments.iter().copied()));
                self.for_each_assignment(&others, formula, wanted_truth, assignment, on_found)?;
            }
            return ControlFlow::Continue(());
        }
        for value in &self.ranges[&first.sort] {
            assignment.insert(*first, *value);
            self.for_each_assignment(rest, formula, wanted_truth, assignment, on_found)?;
        }
        ControlFlow::Continue(())
    }
}

/// Searches `formula` for a relation that must hold whenever `formula` has the truth value
/// `wanted`. Returns the relation and its arguments. Considers only relations whose arguments are
/// different variables from `variables`. Returns `None` if there is no such relation.
fn required(
    formula: &Term,
    wanted: bool,
    variables: &[Variable],
) -> Option<(Symbol, Vec<Variable>)> {
    match (&*formula.0, wanted) {
        (TermNode::Apply(symbol, arguments), true) if symbol.range == Sort::Bool => {
            let mut places: Vec<Variable> = Vec::new();
            for argument in arguments {
                match &*argument.0 {
                    TermNode::Variable(it) if variables.contains(it) && !places.contains(it) => {
                        places.push(*it);
                    }
                    _ => return None,
                }
            }
            (!places.is_empty()).then_some((*symbol, places))
        }
        (TermNode::And(parts), true) | (TermNode::Or(parts), false) => {
            parts.iter().find_map(|part| required(part, wanted, variables))
        }
        (TermNode::Not(inner), _) => required(inner, !wanted, variables),
        (TermNode::Implies(condition, conclusion), false) => {
            required(condition, true, variables).or_else(|| required(conclusion, false, variables))
        }
        _ => None,
    }
}

/// Returns the result of `+`, `-` or `*` on integers. `None` if the result is too large for the
/// type.
fn integer_operation(a: i64, b: i64, operator: char) -> Option<i64> {
    match operator {
        '+' => a.checked_add(b),
        '-' => a.checked_sub(b),
        _ => a.checked_mul(b),
    }
}

/// Returns the result of `+`, `-` or `*` on rational numbers. `None` if the result is too large for
/// the type.
pub(crate) fn rational_operation(
    a: Ratio<i128>,
    b: Ratio<i128>,
    operator: char,
) -> Option<Ratio<i128>> {
    // Only a sum needs the numerators over the common denominator. They may be too large although a
    // product is not.
    let expanded = || {
        let left = a.numer().checked_mul(*b.denom())?;
        Some((left, b.numer().checked_mul(*a.denom())?))
    };
    let numerator = match operator {
        '+' => expanded().and_then(|(left, right)| left.checked_add(right))?,
        '-' => expanded().and_then(|(left, right)| left.checked_sub(right))?,
        _ => a.numer().checked_mul(*b.numer())?,
    };
    Some(Ratio::new(numerator, a.denom().checked_mul(*b.denom())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::term::{TermOperations, exists, for_all};

    const P: Variable = Variable::process("p");
    const Q: Variable = Variable::process("q");
    const T: Variable = Variable::int("t");
    const INSIDE: Symbol = Symbol::relation("inside", &[Sort::Process]);
    const CLOCK: Symbol = Symbol::function("clock", &[Sort::Process], Sort::Int);
    const SENT: Symbol = Symbol::relation("sent", &[Sort::Process, Sort::Int]);

    fn structure() -> Structure {
        let mut structure = Structure::new(3);
        structure.add_tuple(INSIDE, [Value::process(1)]);
        structure.set(CLOCK, [Value::process(1)], 7);
        structure.add_tuple(SENT, [Value::process(1), Value::Int(5)]);
        structure
    }

    fn holds(formula: Term) -> bool {
        Evaluator::new(&structure()).holds(&formula, &Assignment::new())
    }

    #[test]
    fn evaluates_quantifiers_over_processes() {
        let exclusive = |left: Term, right: Term| (left & right).implies(P.equals(Q));
        assert!(holds(for_all([P, Q], exclusive(INSIDE.at(P), INSIDE.at(Q)))));
        assert!(!holds(for_all([P, Q], exclusive(!INSIDE.at(P), !INSIDE.at(Q)))));
        assert!(holds(exists([P], INSIDE.at(P) & CLOCK.at(P).equals(7))));
    }

    #[test]
    fn quantifiers_over_numbers_range_over_those_that_occur() {
        assert!(holds(for_all([P, T], SENT.at((P, T)).implies(T.less(CLOCK.at(P))))));
        assert!(!holds(for_all([P, T], SENT.at((P, T)).implies(T.less(5)))));
    }

    #[test]
    fn computes_with_numbers() {
        let mut assignment = Assignment::from([(P, Value::process(1))]);
        let structure = structure();
        let value = Evaluator::new(&structure).value(&(CLOCK.at(P) + 1), &mut assignment);
        assert_eq!(value, Value::Int(8));
    }

    #[test]
    fn multiplies_large_number_by_small_fraction() {
        let large = Ratio::from_integer(1i128 << 100);
        let small = Ratio::new(1, 1i128 << 100);
        assert_eq!(rational_operation(large, small, '*'), Some(Ratio::ONE));
        assert_eq!(rational_operation(large, small, '+'), None);
    }

    #[test]
    fn notices_numbers_that_are_too_large() {
        let structure = structure();
        for (factor, overflows) in [(1i64 << 40, false), (1i64 << 50, true)] {
            let fraction = Term::real(1, factor);
            let power = fraction.clone() * fraction.clone() * fraction;
            let evaluation = Evaluator::new(&structure);
            evaluation.value(&power, &mut Assignment::new());
            assert_eq!(evaluation.has_overflowed(), overflows);
        }
    }
}
