//! Steps of a model on structures.

use std::collections::BTreeMap;

use num_rational::Ratio;

use crate::logic::sort::Sort;
use crate::model::action::Action;
use crate::structure::evaluation::{Assignment, Evaluator, rational_operation};
use crate::structure::table::Structure;
use crate::structure::value::Value;

/// Greatest amount by which one step advances a number that is an argument of a symbol after the
/// step. In Lamport's algorithm, for example, one step may advance the clock by 2: by 1 for a
/// received request, and by 1 for the reply. The reply contains the advanced clock.
const MAX_ADVANCE: i64 = 2;

/// Returns all numbers that may be arguments of symbols after a step. Each of them is a number in
/// the structure or in `assignment`, increased by 0 to [`MAX_ADVANCE`].
pub(crate) fn possible_numbers_after(structure: &Structure, assignment: &Assignment) -> Vec<Value> {
    let mut numbers = structure.quantifier_numbers(Sort::Int);
    numbers.extend(structure.quantifier_numbers(Sort::Real));
    numbers.extend(assignment.values().copied());
    let advanced = |value: Value, by: i64| match value {
        Value::Int(number) => number.checked_add(by).map(Value::Int),
        Value::Real(number) => {
            rational_operation(number, Ratio::from_integer(i128::from(by)), '+').map(Value::Real)
        }
        Value::Bool(_) | Value::Element(..) => None,
    };
    let all = numbers.into_iter().flat_map(|value| (0..=MAX_ADVANCE).map(move |by| (value, by)));
    all.filter_map(|(value, by)| advanced(value, by)).collect()
}

/// Returns the structure after an action, with `assignment` as the values of its parameters. The
/// guard of the action is not evaluated.
///
/// # Panics
///
/// Panics if a number is too large for its type.
pub fn apply_updates(structure: &Structure, action: &Action, assignment: &Assignment) -> Structure {
    try_apply_action(structure, action, assignment).expect("numbers are not too large")
}

/// Returns the structure after an action, with `assignment` as the values of its parameters. `None`
/// if a number is too large for its type.
pub(crate) fn try_apply_action(
    structure: &Structure,
    action: &Action,
    assignment: &Assignment,
) -> Option<Structure> {
    let numbers = possible_numbers_after(structure, assignment);
    let evaluation = Evaluator::with_numbers(structure, &numbers);
    let mut after = structure.clone();
    let mut values = assignment.clone();
    for (symbol, update) in &action.updates {
        let mut entries = BTreeMap::new();
        for arguments in argument_tuples(&evaluation, symbol.domain) {
            values.extend(update.parameters.iter().copied().zip(arguments.iter().copied()));
            let value = evaluation.value(&update.value, &mut values);
            entries.insert(arguments, value);
        }
        after.replace(*symbol, entries);
    }
    (!evaluation.has_overflowed()).then_some(after)
}

/// Returns all tuples of values of these sorts, within the ranges of the evaluation.
pub(crate) fn argument_tuples(evaluation: &Evaluator<'_>, sorts: &[Sort]) -> Vec<Vec<Value>> {
    let mut tuples = vec![Vec::new()];
    for sort in sorts {
        let range = evaluation.quantifier_range(*sort);
        tuples = tuples
            .iter()
            .flat_map(|tuple| {
                range.iter().map(|value| tuple.iter().copied().chain([*value]).collect())
            })
            .collect();
    }
    tuples
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::symbol::Symbol;
    use crate::logic::term::TermOperations;
    use crate::logic::variable::Variable;

    const X: Variable = Variable::process("x");
    const Q: Variable = Variable::process("q");
    const T: Variable = Variable::int("t");
    const CLOCK: Symbol = Symbol::function("clock", &[Sort::Process], Sort::Int);
    const REQUEST: Symbol = Symbol::relation("request", &[Sort::Process, Sort::Process, Sort::Int]);

    #[test]
    fn sends_a_message_with_a_new_number() {
        let sent = REQUEST.at((X, Q, T)) | (X.differs(Q) & T.equals(CLOCK.at(X) + 1));
        let sender = Variable::process("sender");
        let mine = sender.equals(X);
        let action = Action::new("request", [X]).set(CLOCK, X, CLOCK.at(X) + 1).define(
            REQUEST,
            [sender, Q, T],
            (mine & sent) | REQUEST.at((sender, Q, T)),
        );
        let assignment = Assignment::from([(X, Value::process(0))]);
        let after = apply_updates(&Structure::new(2), &action, &assignment);
        let [first, second] = [0, 1].map(Value::process);
        assert_eq!(after.value(CLOCK, &[first]), Value::Int(1));
        assert!(after.value(REQUEST, &[first, second, Value::Int(1)]).is_true());
        assert!(!after.value(REQUEST, &[first, first, Value::Int(1)]).is_true());
        assert!(!after.value(REQUEST, &[second, first, Value::Int(1)]).is_true());
    }
}
