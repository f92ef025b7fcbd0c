//! Actions: guarded updates of the state.

use crate::logic::substitution::{SymbolUpdate, SymbolUpdates};
use crate::logic::symbol::Symbol;
use crate::logic::term::{Arguments, Term, TermOperations, conjunction, if_then_else};
use crate::logic::variable::Variable;

/// Step of a model: a guard, and updates that are made at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Name, unique in the model.
    pub name: &'static str,
    /// True if the action is the loss of a message. `name` is then the name of the message.
    pub is_loss: bool,
    /// Variables with arbitrary values, such as the process that takes the step and the number in
    /// the received message.
    pub parameters: Vec<Variable>,
    /// Functions that have new arbitrary values in each step, for example the advance of each
    /// clock. Neither inputs nor parameters belong to the state.
    pub inputs: Vec<Symbol>,
    /// Condition under which the step is possible.
    pub guard: Term,
    /// New definitions of the symbols that the step changes, over the state before the step.
    pub updates: SymbolUpdates,
}

impl Action {
    /// Creates an action that is always possible and changes nothing.
    pub fn new(name: &'static str, parameters: impl IntoIterator<Item = Variable>) -> Self {
        Action {
            name,
            is_loss: false,
            parameters: parameters.into_iter().collect(),
            inputs: Vec::new(),
            guard: Term::truth(),
            updates: SymbolUpdates::new(),
        }
    }

    /// Returns the name of the action. For the loss of a message, the name of the message follows
    /// the word `lose`.
    pub fn display_name(&self) -> String {
        if self.is_loss { format!("lose {}", self.name) } else { self.name.to_owned() }
    }

    /// Marks this action as the loss of a message.
    pub(crate) fn into_loss(mut self) -> Self {
        self.is_loss = true;
        self
    }

    /// Adds an input: a function with new arbitrary values in each step. The guard and the updates
    /// may mention the function.
    #[must_use]
    pub fn with_input(mut self, function: Symbol) -> Self {
        self.inputs.push(function);
        self
    }

    /// Adds a condition to the guard.
    #[must_use]
    pub fn when(mut self, condition: Term) -> Self {
        self.guard = match self.guard == Term::truth() {
            true => condition,
            false => self.guard & condition,
        };
        self
    }

    /// Changes the value of a function for one list of arguments: `symbol(arguments) := value`.
    /// Later changes of the same symbol take precedence. The term `value` refers to the state
    /// before the step.
    ///
    /// # Panics
    ///
    /// Panics if the sorts differ from the declaration of the symbol.
    #[must_use]
    #[track_caller]
    pub fn set(self, symbol: Symbol, arguments: impl Arguments, value: impl Into<Term>) -> Self {
        let parameters = argument_variables(symbol);
        let arguments = arguments.terms();
        assert_eq!(arguments.len(), parameters.len(), "arguments of `{}`", symbol.name);
        let is_there = parameters.iter().zip(arguments).map(|(place, it)| place.equals(it));
        let earlier = self.value_after_updates(symbol, &parameters);
        let value = if_then_else(conjunction(is_there), value, earlier);
        self.with_update(SymbolUpdate { symbol, parameters, value })
    }

    /// Adds a tuple to a relation.
    ///
    /// # Panics
    ///
    /// Panics if the sorts differ from the declaration of the symbol.
    #[must_use]
    #[track_caller]
    pub fn add_tuple(self, relation: Symbol, arguments: impl Arguments) -> Self {
        self.set(relation, arguments, true)
    }

    /// Removes a tuple from a relation.
    ///
    /// # Panics
    ///
    /// Panics if the sorts differ from the declaration of the symbol.
    #[must_use]
    #[track_caller]
    pub fn remove_tuple(self, relation: Symbol, arguments: impl Arguments) -> Self {
        self.set(relation, arguments, false)
    }

    /// Defines a symbol anew at all arguments: `symbol(parameters) := value`. The term `value`
    /// refers to the state before the step.
    ///
    /// # Panics
    ///
    /// Panics if the sorts differ from the declaration of the symbol, or if the action has changed
    /// the symbol already.
    #[must_use]
    #[track_caller]
    pub fn define(
        self,
        symbol: Symbol,
        parameters: impl IntoIterator<Item = Variable>,
        value: impl Into<Term>,
    ) -> Self {
        let (parameters, value): (Vec<Variable>, Term) =
            (parameters.into_iter().collect(), value.into());
        let sorts = parameters.iter().map(|variable| variable.sort);
        assert!(sorts.eq(symbol.domain.iter().copied()), "parameters of `{}`", symbol.name);
        assert_eq!(value.sort(), symbol.range, "value of `{}`", symbol.name);
        assert!(!self.updates.contains_key(&symbol), "`{}` is defined once", symbol.name);
        self.with_update(SymbolUpdate { symbol, parameters, value })
    }

    fn with_update(mut self, update: SymbolUpdate) -> Self {
        self.updates.insert(update.symbol, update);
        self
    }

    /// Returns the value of `symbol` at the arguments `parameters` after all updates that the
    /// action contains so far. The value is a term over the state before the step.
    pub(crate) fn value_after_updates(&self, symbol: Symbol, parameters: &[Variable]) -> Term {
        let places: Vec<Term> = parameters.iter().map(|place| (*place).into()).collect();
        match self.updates.get(&symbol) {
            Some(update) => {
                let values = update.parameters.iter().copied().zip(places).collect();
                update.value.substitute(&values)
            }
            None => symbol.at(places),
        }
    }
}

/// Returns one variable for each argument of `symbol`. All these variables have the name `place`.
pub(crate) fn argument_variables(symbol: Symbol) -> Vec<Variable> {
    let place = |(index, sort)| Variable::new("place", sort).with_rename_index(index);
    (0u32..).zip(symbol.domain.iter().copied()).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::sort::Sort;
    use crate::structure::evaluation::{Assignment, Evaluator};
    use crate::structure::table::Structure;
    use crate::structure::value::Value;

    const X: Variable = Variable::process("x");
    const Y: Variable = Variable::process("y");
    const INSIDE: Symbol = Symbol::relation("inside", &[Sort::Process]);

    #[test]
    fn later_changes_take_precedence() {
        let action = Action::new("swap", [X, Y]).remove_tuple(INSIDE, X).add_tuple(INSIDE, Y);
        let after = INSIDE.at(X).weakest_precondition(&action.updates);
        let mut before = Structure::new(2);
        before.add_tuple(INSIDE, [Value::process(0)]);
        let holds = |x, y| {
            let assignment = Assignment::from([(X, Value::process(x)), (Y, Value::process(y))]);
            Evaluator::new(&before).holds(&after, &assignment)
        };
        assert!(!holds(0, 1), "removed from x");
        assert!(holds(0, 0), "the addition comes last");
    }
}
