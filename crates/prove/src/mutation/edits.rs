//! Edits of a formula: all formulas that differ from a given one in one place.

use std::sync::Arc;

use crate::logic::sort::Sort;
use crate::logic::term::{Node, Operations, Term, conjunction, disjunction, exists};
use crate::logic::variable::Variable;
use crate::mutation::formula_text::text;
use crate::mutation::mutant::MutationOperator;

/// Direction in which edits may change a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The formula after the edit may hold in more states.
    Weaker,
    /// The formula after the edit may hold in fewer states.
    Stronger,
    Any,
}

impl Direction {
    fn reversed(self) -> Self {
        match self {
            Direction::Weaker => Direction::Stronger,
            Direction::Stronger => Direction::Weaker,
            Direction::Any => Direction::Any,
        }
    }

    fn may_weaken(self) -> bool {
        self != Direction::Stronger
    }

    fn may_strengthen(self) -> bool {
        self != Direction::Weaker
    }
}

/// A formula after one edit, and a description of the edit.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    pub(super) term: Term,
    pub(super) operator: MutationOperator,
    pub(super) change: String,
}

impl Edit {
    pub(super) fn new(term: Term, operator: MutationOperator, change: String) -> Self {
        Edit { term, operator, change }
    }

    fn within(self, whole: impl FnOnce(Term) -> Node) -> Self {
        Edit { term: Term(Arc::new(whole(self.term))), ..self }
    }
}

/// Returns all edits of a formula in `direction`, for example all edits that make the formula
/// weaker. `parameters` are the parameters of the action that contains the formula. An edit may
/// replace one process parameter by another.
pub(super) fn edits(term: &Term, direction: Direction, parameters: &[Variable]) -> Vec<Edit> {
    Editor { parameters }.edits(term, direction)
}

struct Editor<'a> {
    /// Parameters of the action to which the formula belongs.
    parameters: &'a [Variable],
}

impl Editor<'_> {
    fn edits(&self, term: &Term, direction: Direction) -> Vec<Edit> {
        let mut edits = self.at_root(term, direction);
        match &*term.0 {
            Node::Variable(_) | Node::Bool(_) | Node::Int(_) | Node::Real(..) => {}
            Node::Apply(symbol, arguments) => {
                // `at_root` has already replaced the processes among the arguments.
                let inner = self.parts(arguments, Direction::Any, |it| Node::Apply(*symbol, it));
                edits.extend(
                    inner.into_iter().filter(|edit| edit.operator != MutationOperator::Process),
                );
            }
            Node::And(parts) => edits.extend(self.parts(parts, direction, Node::And)),
            Node::Or(parts) => edits.extend(self.parts(parts, direction, Node::Or)),
            Node::Not(inner) => {
                let inner = self.edits(inner, direction.reversed());
                edits.extend(inner.into_iter().map(|edit| edit.within(Node::Not)));
            }
            Node::Implies(a, b) => {
                let before = self.edits(a, direction.reversed()).into_iter();
                edits.extend(before.map(|edit| edit.within(|it| Node::Implies(it, b.clone()))));
                let after = self.edits(b, direction).into_iter();
                edits.extend(after.map(|edit| edit.within(|it| Node::Implies(a.clone(), it))));
            }
            Node::Equals(a, b) => {
                let inner = self.operands(a, b, Node::Equals).into_iter();
                let is_new =
                    |edit: &Edit| edit.operator != MutationOperator::Process || is_number(a);
                edits.extend(inner.filter(is_new));
            }
            Node::Less(a, b) => edits.extend(self.operands(a, b, Node::Less)),
            Node::AtMost(a, b) => edits.extend(self.operands(a, b, Node::AtMost)),
            Node::Plus(a, b) => edits.extend(self.operands(a, b, Node::Plus)),
            Node::Minus(a, b) => edits.extend(self.operands(a, b, Node::Minus)),
            Node::Times(a, b) => edits.extend(self.operands(a, b, Node::Times)),
            Node::If(condition, then, otherwise) => {
                edits.extend(self.in_choice(condition, then, otherwise, direction));
            }
            Node::ForAll(variables, body) => {
                let body = self.edits(body, direction).into_iter();
                edits.extend(body.map(|it| it.within(|it| Node::ForAll(variables.clone(), it))));
            }
            Node::Exists(variables, body) => {
                let body = self.edits(body, direction).into_iter();
                edits.extend(body.map(|it| it.within(|it| Node::Exists(variables.clone(), it))));
            }
        }
        edits
    }

    fn at_root(&self, term: &Term, direction: Direction) -> Vec<Edit> {
        match &*term.0 {
            Node::And(parts) if direction.may_weaken() => without_each(parts, conjunction),
            Node::Or(parts) if direction.may_strengthen() => without_each(parts, disjunction),
            Node::Less(a, b) if direction.may_weaken() => {
                vec![replaced(term, a.clone().at_most(b), MutationOperator::Comparison)]
            }
            Node::AtMost(a, b) if direction.may_strengthen() => {
                vec![replaced(term, a.clone().less(b), MutationOperator::Comparison)]
            }
            Node::Equals(a, b) => {
                let mut edits = self.other_processes(term, &[a.clone(), b.clone()], |it| {
                    it[0].clone().equals(&it[1])
                });
                if direction.may_weaken() && is_number(a) {
                    edits.push(replaced(term, a.clone().at_most(b), MutationOperator::Comparison));
                }
                edits
            }
            Node::Apply(symbol, arguments) => {
                self.other_processes(term, arguments, |it| symbol.at(it.to_vec()))
            }
            Node::Plus(a, b) | Node::Minus(a, b) if matches!(&*b.0, Node::Int(_)) => {
                vec![replaced(term, a.clone(), MutationOperator::Value)]
            }
            Node::ForAll(variables, body) if direction.may_weaken() => {
                let some = match &*body.0 {
                    Node::Implies(condition, result) => condition.clone() & result.clone(),
                    _ => body.clone(),
                };
                let some = exists(variables.iter().copied(), some);
                vec![replaced(term, some, MutationOperator::Quantifier)]
            }
            Node::Variable(_) => {
                self.other_processes(term, std::slice::from_ref(term), |it| it[0].clone())
            }
            _ => Vec::new(),
        }
    }

    /// Returns the edits of a conditional value.
    ///
    /// `Action::set` builds a conditional value to change a function for one argument. Its
    /// condition compares this argument with the variable `place`. In such a condition, an edit may
    /// only replace a process by another process.
    fn in_choice(
        &self,
        condition: &Term,
        then: &Term,
        otherwise: &Term,
        direction: Direction,
    ) -> Vec<Edit> {
        let mut edits = Vec::new();
        let is_point = mentions_place(condition);
        if !is_point {
            let condition = text(condition);
            let (always, never) =
                (format!("always as if {condition}"), format!("never {condition}"));
            edits.push(Edit::new(then.clone(), MutationOperator::Value, always));
            edits.push(Edit::new(otherwise.clone(), MutationOperator::Value, never));
        }
        let conditions = self.edits(condition, Direction::Any).into_iter();
        let is_maximum = is_maximum(condition, then, otherwise);
        let conditions = conditions.filter(|edit| match edit.operator {
            MutationOperator::Process => true,
            // The maximum of two numbers is the same with a strict and with a weak comparison.
            MutationOperator::Comparison => !is_point && !is_maximum,
            _ => !is_point,
        });
        edits.extend(
            conditions.map(|edit| edit.within(|it| Node::If(it, then.clone(), otherwise.clone()))),
        );
        let then_edits = self.edits(then, direction).into_iter();
        edits.extend(
            then_edits
                .map(|edit| edit.within(|it| Node::If(condition.clone(), it, otherwise.clone()))),
        );
        let other_edits = self.edits(otherwise, direction).into_iter();
        edits.extend(
            other_edits.map(|edit| edit.within(|it| Node::If(condition.clone(), then.clone(), it))),
        );
        edits
    }

    /// Returns the edits of a term that change one of its `parts`. `whole` builds the term from its
    /// parts.
    fn parts(
        &self,
        parts: &[Term],
        direction: Direction,
        whole: impl Fn(Vec<Term>) -> Node,
    ) -> Vec<Edit> {
        let mut edits = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            for edit in self.edits(part, direction) {
                edits.push(edit.within(|it| {
                    let mut parts = parts.to_vec();
                    parts[index] = it;
                    whole(parts)
                }));
            }
        }
        edits
    }

    /// Returns the edits of a term with the operands `a` and `b`. Each edit changes one of the two
    /// operands. `whole` builds the term from its operands.
    fn operands(&self, a: &Term, b: &Term, whole: fn(Term, Term) -> Node) -> Vec<Edit> {
        let left = self.edits(a, Direction::Any).into_iter();
        let left = left.map(|edit| edit.within(|it| whole(it, b.clone())));
        let right = self.edits(b, Direction::Any).into_iter();
        left.chain(right.map(|edit| edit.within(|it| whole(a.clone(), it)))).collect()
    }

    /// Returns the edits that replace one process parameter among the `parts` of a term by another
    /// process parameter.
    fn other_processes(
        &self,
        term: &Term,
        parts: &[Term],
        whole: impl Fn(&[Term]) -> Term,
    ) -> Vec<Edit> {
        let is_parameter = |it: &&Variable| it.sort == Sort::Process;
        let mut edits = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let Node::Variable(variable) = &*part.0 else { continue };
            if !self.parameters.iter().filter(is_parameter).any(|it| it == variable) {
                continue;
            }
            for other in self.parameters.iter().filter(is_parameter).filter(|it| *it != variable) {
                let mut parts = parts.to_vec();
                parts[index] = (*other).into();
                edits.push(replaced(term, whole(&parts), MutationOperator::Process));
            }
        }
        edits
    }
}

fn replaced(before: &Term, after: Term, operator: MutationOperator) -> Edit {
    let change = format!("{} becomes {}", text(before), text(&after));
    Edit::new(after, operator, change)
}

/// Returns the edits that leave out one of the `parts` of a conjunction or disjunction. `whole`
/// builds the term from its parts.
fn without_each(parts: &[Term], whole: fn(Vec<Term>) -> Term) -> Vec<Edit> {
    let without = |(index, part): (usize, &Term)| {
        let mut rest = parts.to_vec();
        rest.remove(index);
        Edit::new(whole(rest), MutationOperator::Condition, format!("without {}", text(part)))
    };
    parts.iter().enumerate().map(without).collect()
}

fn is_number(term: &Term) -> bool {
    matches!(term.sort(), Sort::Int | Sort::Real)
}

/// Returns true if a conditional value is the maximum of the two numbers that its condition
/// compares.
fn is_maximum(condition: &Term, then: &Term, otherwise: &Term) -> bool {
    matches!(&*condition.0, Node::Less(low, high) if high == then && low == otherwise)
}

/// Returns true if `condition` compares the variable `place` with a term. The method `Action::set`
/// builds such conditions to change a function for one argument.
fn mentions_place(condition: &Term) -> bool {
    match &*condition.0 {
        Node::And(parts) => parts.iter().any(mentions_place),
        Node::Equals(left, _) => {
            matches!(&*left.0, Node::Variable(variable) if variable.name == "place")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::symbol::Symbol;

    const X: Variable = Variable::process("x");
    const Y: Variable = Variable::process("y");
    const M: Variable = Variable::int("m");
    const INSIDE: Symbol = Symbol::relation("inside", &[Sort::Process]);
    const STAMP: Symbol = Symbol::function("stamp", &[Sort::Process], Sort::Int);

    fn changes(term: &Term, direction: Direction) -> Vec<String> {
        edits(term, direction, &[X, M]).into_iter().map(|edit| edit.change).collect()
    }

    #[test]
    fn weakens_under_an_even_number_of_negations() {
        let guard = !INSIDE.at(X) & !STAMP.at(X).less(M);
        assert_eq!(
            changes(&guard, Direction::Weaker),
            ["without not inside(x)", "without not (stamp(x) < m)"]
        );
        assert_eq!(changes(&guard, Direction::Stronger), ["stamp(x) < m becomes stamp(x) ≤ m"]);
    }

    #[test]
    fn replaces_a_process_in_one_place() {
        let both = INSIDE.at(X) & STAMP.at(X).equals(0);
        let found = edits(&both, Direction::Stronger, &[X, Y]);
        let found: Vec<Term> = found.into_iter().map(|edit| edit.term).collect();
        let expected = [INSIDE.at(Y) & STAMP.at(X).equals(0), INSIDE.at(X) & STAMP.at(Y).equals(0)];
        assert_eq!(found, expected);
    }
}
