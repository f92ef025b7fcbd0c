//! Substitution in terms: a term about the state after a step becomes a term about the state before
//! the step.

use std::collections::BTreeMap;

use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermNode};
use crate::logic::variable::Variable;

/// Definition of a symbol after a step: `symbol(parameters) := value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolUpdate {
    /// Symbol that the step defines anew.
    pub symbol: Symbol,
    /// Variables that represent the arguments of the symbol.
    pub parameters: Vec<Variable>,
    /// New value of the symbol at the arguments `parameters`. The term refers to the state before
    /// the step.
    pub value: Term,
}

/// Updates of one action, by symbol. A symbol without an update keeps its definition.
pub type SymbolUpdates = BTreeMap<Symbol, SymbolUpdate>;

type Bindings = BTreeMap<Variable, Term>;

impl Term {
    /// Returns a term whose value before a step equals the value of this term after the step.
    /// `updates` contains the changes that the step makes.
    ///
    /// If a query uses such terms, it mentions only the state before the step. The query then needs
    /// no second copy of each symbol. It also needs no frame axioms, which would state what the
    /// step leaves unchanged.
    #[must_use]
    pub fn weakest_precondition(&self, updates: &SymbolUpdates) -> Term {
        Substitution { updates, next_index: 1 }.apply(self, &Bindings::new())
    }

    /// Returns the term with the given values in place of its free variables.
    #[must_use]
    pub(crate) fn substitute(&self, values: &BTreeMap<Variable, Term>) -> Term {
        Substitution { updates: &SymbolUpdates::new(), next_index: 1 }.apply(self, values)
    }
}

struct Substitution<'u> {
    updates: &'u SymbolUpdates,
    /// Index of the next renamed variable.
    next_index: u32,
}

impl Substitution<'_> {
    /// Replaces the free variables of `term` by their `values`, and each symbol that has an update
    /// by its new value.
    fn apply(&mut self, term: &Term, values: &Bindings) -> Term {
        let node = match &*term.0 {
            TermNode::Variable(variable) => {
                return values.get(variable).cloned().unwrap_or_else(|| term.clone());
            }
            TermNode::Bool(_) | TermNode::Int(_) | TermNode::Real(..) => return term.clone(),
            TermNode::Apply(symbol, arguments) => {
                let arguments = self.each(arguments, values);
                let Some(update) = self.updates.get(symbol) else {
                    return Term::apply(*symbol, arguments);
                };
                let parameters = update.parameters.iter().copied().zip(arguments).collect();
                // The value is a term over the state before the step, so no updates apply to it.
                let mut before =
                    Substitution { updates: &SymbolUpdates::new(), next_index: self.next_index };
                let value = before.apply(&update.value, &parameters);
                self.next_index = before.next_index;
                return value;
            }
            TermNode::Not(inner) => TermNode::Not(self.apply(inner, values)),
            TermNode::And(parts) => TermNode::And(self.each(parts, values)),
            TermNode::Or(parts) => TermNode::Or(self.each(parts, values)),
            TermNode::Implies(a, b) => {
                TermNode::Implies(self.apply(a, values), self.apply(b, values))
            }
            TermNode::Equals(a, b) => {
                TermNode::Equals(self.apply(a, values), self.apply(b, values))
            }
            TermNode::Less(a, b) => TermNode::Less(self.apply(a, values), self.apply(b, values)),
            TermNode::AtMost(a, b) => {
                TermNode::AtMost(self.apply(a, values), self.apply(b, values))
            }
            TermNode::Plus(a, b) => TermNode::Plus(self.apply(a, values), self.apply(b, values)),
            TermNode::Minus(a, b) => TermNode::Minus(self.apply(a, values), self.apply(b, values)),
            TermNode::Times(a, b) => TermNode::Times(self.apply(a, values), self.apply(b, values)),
            TermNode::If(condition, then, otherwise) => TermNode::If(
                self.apply(condition, values),
                self.apply(then, values),
                self.apply(otherwise, values),
            ),
            TermNode::ForAll(variables, body) => {
                let (variables, body) = self.under_quantifier(variables, body, values);
                TermNode::ForAll(variables, body)
            }
            TermNode::Exists(variables, body) => {
                let (variables, body) = self.under_quantifier(variables, body, values);
                TermNode::Exists(variables, body)
            }
        };
        Term(std::sync::Arc::new(node))
    }

    fn each(&mut self, terms: &[Term], values: &Bindings) -> Vec<Term> {
        terms.iter().map(|term| self.apply(term, values)).collect()
    }

    /// Substitutes in the body of a quantifier. Renames the variables of the quantifier, so that
    /// they do not capture free variables of the substituted values.
    fn under_quantifier(
        &mut self,
        variables: &[Variable],
        body: &Term,
        values: &Bindings,
    ) -> (Vec<Variable>, Term) {
        let mut inner = values.clone();
        let mut renamed = Vec::with_capacity(variables.len());
        for variable in variables {
            let fresh = variable.with_rename_index(self.next_index);
            self.next_index += 1;
            inner.insert(*variable, fresh.into());
            renamed.push(fresh);
        }
        let body = self.apply(body, &inner);
        (renamed, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::sort::Sort;
    use crate::logic::term::{TermOperations, exists, for_all};

    const P: Variable = Variable::process("p");
    const Q: Variable = Variable::process("q");
    const INSIDE: Symbol = Symbol::relation("inside", &[Sort::Process]);
    const KNOWS: Symbol = Symbol::relation("knows", &[Sort::Process, Sort::Process]);

    #[test]
    fn replaces_symbol_by_its_new_definition() {
        let update = SymbolUpdate { symbol: INSIDE, parameters: vec![P], value: P.equals(Q) };
        let updates = SymbolUpdates::from([(INSIDE, update)]);
        assert_eq!(INSIDE.at(Q).weakest_precondition(&updates), Q.equals(Q));
        assert_eq!(KNOWS.at((P, Q)).weakest_precondition(&updates), KNOWS.at((P, Q)));
    }

    #[test]
    fn bound_variables_capture_nothing() {
        // inside(p) := exists q. knows(p, q); read at the argument q.
        let value = exists([Q], KNOWS.at((P, Q)));
        let update = SymbolUpdate { symbol: INSIDE, parameters: vec![P], value };
        let updates = SymbolUpdates::from([(INSIDE, update)]);
        let after = for_all([Q], INSIDE.at(Q)).weakest_precondition(&updates);
        let (outer, inner) = (Q.with_rename_index(1), Q.with_rename_index(2));
        assert_eq!(after, for_all([outer], exists([inner], KNOWS.at((outer, inner)))));
    }

    #[test]
    fn new_definition_reads_the_state_before() {
        // The step swaps `inside` and `knows`, so both updates must use the old values.
        let updates = SymbolUpdates::from([
            (INSIDE, SymbolUpdate { symbol: INSIDE, parameters: vec![P], value: KNOWS.at((P, P)) }),
            (KNOWS, SymbolUpdate { symbol: KNOWS, parameters: vec![P, Q], value: INSIDE.at(P) }),
        ]);
        assert_eq!(INSIDE.at(P).weakest_precondition(&updates), KNOWS.at((P, P)));
    }
}
