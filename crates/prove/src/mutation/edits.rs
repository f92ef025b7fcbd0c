//! Edits of a formula: formulas that differ from a given formula in one place.

use std::sync::Arc;

use crate::logic::sort::Sort;
use crate::logic::term::{Term, TermNode, TermOperations, conjunction, disjunction, exists};
use crate::logic::variable::Variable;
use crate::mutation::formula_text::infix_text;
use crate::mutation::mutant::MutationOperator;

/// Direction in which edits may change a formula. Some edits neither weaken nor strengthen a
/// formula, for example the replacement of one process by another. These edits belong to every
/// direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditDirection {
    /// Omits edits after which the formula holds in fewer states.
    Weaker,
    /// Omits edits after which the formula holds in more states.
    Stronger,
    Any,
}

impl EditDirection {
    fn reversed(self) -> Self {
        match self {
            EditDirection::Weaker => EditDirection::Stronger,
            EditDirection::Stronger => EditDirection::Weaker,
            EditDirection::Any => EditDirection::Any,
        }
    }

    fn may_weaken(self) -> bool {
        self != EditDirection::Stronger
    }

    fn may_strengthen(self) -> bool {
        self != EditDirection::Weaker
    }
}

/// A formula after one edit, and a description of the edit.
#[derive(Clone, Debug)]
pub(super) struct FormulaEdit {
    pub(super) term: Term,
    pub(super) operator: MutationOperator,
    pub(super) change: String,
}

impl FormulaEdit {
    pub(super) fn new(term: Term, operator: MutationOperator, change: String) -> Self {
        FormulaEdit { term, operator, change }
    }

    fn within(self, whole: impl FnOnce(Term) -> TermNode) -> Self {
        FormulaEdit { term: Term(Arc::new(whole(self.term))), ..self }
    }
}

/// Returns the edits of a formula in `direction`. `parameters` are the parameters of the action
/// that contains the formula. An edit may replace one process among the parameters by another.
pub(super) fn formula_edits(
    term: &Term,
    direction: EditDirection,
    parameters: &[Variable],
) -> Vec<FormulaEdit> {
    Editor { parameters }.edits(term, direction)
}

struct Editor<'a> {
    /// Parameters of the action to which the formula belongs.
    parameters: &'a [Variable],
}

impl Editor<'_> {
    fn edits(&self, term: &Term, direction: EditDirection) -> Vec<FormulaEdit> {
        let mut edits = self.at_root(term, direction);
        match &*term.0 {
            TermNode::Variable(_) | TermNode::Bool(_) | TermNode::Int(_) | TermNode::Real(..) => {}
            TermNode::Apply(symbol, arguments) => {
                let inner =
                    self.parts(arguments, EditDirection::Any, |it| TermNode::Apply(*symbol, it));
                edits.extend(inner);
            }
            TermNode::And(parts) => edits.extend(self.parts(parts, direction, TermNode::And)),
            TermNode::Or(parts) => edits.extend(self.parts(parts, direction, TermNode::Or)),
            TermNode::Not(inner) => {
                let inner = self.edits(inner, direction.reversed());
                edits.extend(inner.into_iter().map(|edit| edit.within(TermNode::Not)));
            }
            TermNode::Implies(a, b) => {
                let before = self.edits(a, direction.reversed()).into_iter();
                edits.extend(before.map(|edit| edit.within(|it| TermNode::Implies(it, b.clone()))));
                let after = self.edits(b, direction).into_iter();
                edits.extend(after.map(|edit| edit.within(|it| TermNode::Implies(a.clone(), it))));
            }
            TermNode::Equals(a, b) => edits.extend(self.operands(a, b, TermNode::Equals)),
            TermNode::Less(a, b) => edits.extend(self.operands(a, b, TermNode::Less)),
            TermNode::AtMost(a, b) => edits.extend(self.operands(a, b, TermNode::AtMost)),
            TermNode::Plus(a, b) => edits.extend(self.operands(a, b, TermNode::Plus)),
            TermNode::Minus(a, b) => edits.extend(self.operands(a, b, TermNode::Minus)),
            TermNode::Times(a, b) => edits.extend(self.operands(a, b, TermNode::Times)),
            TermNode::If(condition, then, otherwise) => {
                edits.extend(self.in_choice(condition, then, otherwise, direction));
            }
            TermNode::ForAll(variables, body) => {
                let body = self.edits(body, direction).into_iter();
                edits
                    .extend(body.map(|it| it.within(|it| TermNode::ForAll(variables.clone(), it))));
            }
            TermNode::Exists(variables, body) => {
                let body = self.edits(body, direction).into_iter();
                edits
                    .extend(body.map(|it| it.within(|it| TermNode::Exists(variables.clone(), it))));
            }
        }
        edits
    }

    /// Returns the edits that change the root of the term, or a process that is a direct operand of
    /// the root.
    fn at_root(&self, term: &Term, direction: EditDirection) -> Vec<FormulaEdit> {
        match &*term.0 {
            TermNode::And(parts) if direction.may_weaken() => without_each(parts, conjunction),
            TermNode::Or(parts) if direction.may_strengthen() => without_each(parts, disjunction),
            TermNode::Less(a, b) if direction.may_weaken() => {
                vec![replaced(term, a.clone().at_most(b), MutationOperator::Comparison)]
            }
            TermNode::AtMost(a, b) if direction.may_strengthen() => {
                vec![replaced(term, a.clone().less(b), MutationOperator::Comparison)]
            }
            TermNode::Equals(a, b) => {
                let mut edits = self.other_processes(term, &[a.clone(), b.clone()], |it| {
                    it[0].clone().equals(&it[1])
                });
                if direction.may_weaken() && is_number(a) {
                    edits.push(replaced(term, a.clone().at_most(b), MutationOperator::Comparison));
                }
                edits
            }
            TermNode::Apply(symbol, arguments) => {
                self.other_processes(term, arguments, |it| symbol.at(it.to_vec()))
            }
            TermNode::Plus(a, b) | TermNode::Minus(a, b) if matches!(&*b.0, TermNode::Int(_)) => {
                vec![replaced(term, a.clone(), MutationOperator::Value)]
            }
            TermNode::ForAll(variables, body) if direction.may_weaken() => {
                let some = match &*body.0 {
                    TermNode::Implies(condition, result) => condition.clone() & result.clone(),
                    _ => body.clone(),
                };
                let some = exists(variables.iter().copied(), some);
                vec![replaced(term, some, MutationOperator::Quantifier)]
            }
            TermNode::Variable(_) => {
                self.other_processes(term, std::slice::from_ref(term), |it| it[0].clone())
            }
            _ => Vec::new(),
        }
    }

    /// Returns the edits of a conditional value.
    ///
    /// To change a function for one argument, `Action::set` builds a conditional value. The
    /// condition of this value compares the argument with the variable `place`. If a condition has
    /// this form, an edit of the condition may only replace one process by another.
    fn in_choice(
        &self,
        condition: &Term,
        then: &Term,
        otherwise: &Term,
        direction: EditDirection,
    ) -> Vec<FormulaEdit> {
        let mut edits = Vec::new();
        let is_point = mentions_place(condition);
        if !is_point {
            let condition = infix_text(condition);
            let (always, never) =
                (format!("always as if {condition}"), format!("never {condition}"));
            edits.push(FormulaEdit::new(then.clone(), MutationOperator::Value, always));
            edits.push(FormulaEdit::new(otherwise.clone(), MutationOperator::Value, never));
        }
        let conditions = self.edits(condition, EditDirection::Any).into_iter();
        let is_maximum = is_maximum(condition, then, otherwise);
        let conditions = conditions.filter(|edit| match edit.operator {
            MutationOperator::Process => true,
            // The maximum of two numbers is the same whether they are compared with `<` or with
            // `≤`.
            MutationOperator::Comparison => !is_point && !is_maximum,
            _ => !is_point,
        });
        edits.extend(
            conditions
                .map(|edit| edit.within(|it| TermNode::If(it, then.clone(), otherwise.clone()))),
        );
        let then_edits = self.edits(then, direction).into_iter();
        edits.extend(
            then_edits.map(|edit| {
                edit.within(|it| TermNode::If(condition.clone(), it, otherwise.clone()))
            }),
        );
        let other_edits = self.edits(otherwise, direction).into_iter();
        edits.extend(
            other_edits
                .map(|edit| edit.within(|it| TermNode::If(condition.clone(), then.clone(), it))),
        );
        edits
    }

    /// Returns the edits of a term that change one of its `parts`. `whole` builds the term from its
    /// parts.
    fn parts(
        &self,
        parts: &[Term],
        direction: EditDirection,
        whole: impl Fn(Vec<Term>) -> TermNode,
    ) -> Vec<FormulaEdit> {
        let mut edits = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            for edit in self.part_edits(part, direction) {
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
    fn operands(&self, a: &Term, b: &Term, whole: fn(Term, Term) -> TermNode) -> Vec<FormulaEdit> {
        let left = self.part_edits(a, EditDirection::Any).into_iter();
        let left = left.map(|edit| edit.within(|it| whole(it, b.clone())));
        let right = self.part_edits(b, EditDirection::Any).into_iter();
        left.chain(right.map(|edit| edit.within(|it| whole(a.clone(), it)))).collect()
    }

    /// Returns the edits of a part of a term. Returns none for a variable: the edits of the whole
    /// term at its root already replace a process that is a direct part.
    fn part_edits(&self, part: &Term, direction: EditDirection) -> Vec<FormulaEdit> {
        match &*part.0 {
            TermNode::Variable(_) => Vec::new(),
            _ => self.edits(part, direction),
        }
    }

    /// Returns the edits that replace one process parameter among the `parts` of a term by another
    /// process parameter.
    fn other_processes(
        &self,
        term: &Term,
        parts: &[Term],
        whole: impl Fn(&[Term]) -> Term,
    ) -> Vec<FormulaEdit> {
        let is_parameter = |it: &&Variable| it.sort == Sort::Process;
        let mut edits = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let TermNode::Variable(variable) = &*part.0 else { continue };
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

fn replaced(before: &Term, after: Term, operator: MutationOperator) -> FormulaEdit {
    let change = format!("{} becomes {}", infix_text(before), infix_text(&after));
    FormulaEdit::new(after, operator, change)
}

/// Returns the edits that leave out one of the `parts` of a conjunction or disjunction. `whole`
/// builds the term from its parts.
fn without_each(parts: &[Term], whole: fn(Vec<Term>) -> Term) -> Vec<FormulaEdit> {
    let without = |(index, part): (usize, &Term)| {
        let mut rest = parts.to_vec();
        rest.remove(index);
        FormulaEdit::new(
            whole(rest),
            MutationOperator::Condition,
            format!("without {}", infix_text(part)),
        )
    };
    parts.iter().enumerate().map(without).collect()
}

fn is_number(term: &Term) -> bool {
    matches!(term.sort(), Sort::Int | Sort::Real)
}

/// Returns true if a conditional value is the maximum of the two numbers that its condition
/// compares.
fn is_maximum(condition: &Term, then: &Term, otherwise: &Term) -> bool {
    matches!(&*condition.0, TermNode::Less(low, high) if high == then && low == otherwise)
}

/// Returns true if `condition` compares the variable `place` with a term. The method `Action::set`
/// builds such conditions to change a function for one argument.
fn mentions_place(condition: &Term) -> bool {
    match &*condition.0 {
        TermNode::And(parts) => parts.iter().any(mentions_place),
        TermNode::Equals(left, _) => {
            matches!(&*left.0, TermNode::Variable(variable) if variable.name == "place")
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

    fn changes(term: &Term, direction: EditDirection) -> Vec<String> {
        formula_edits(term, direction, &[X, M]).into_iter().map(|edit| edit.change).collect()
    }

    #[test]
    fn weakens_under_an_even_number_of_negations() {
        let guard = !INSIDE.at(X) & !STAMP.at(X).less(M);
        assert_eq!(
            changes(&guard, EditDirection::Weaker),
            ["without not inside(x)", "without not (stamp(x) < m)"]
        );
        assert_eq!(changes(&guard, EditDirection::Stronger), ["stamp(x) < m becomes stamp(x) ≤ m"]);
    }

    #[test]
    fn replaces_a_process_in_one_place() {
        let both = INSIDE.at(X) & STAMP.at(X).equals(0);
        let found = formula_edits(&both, EditDirection::Stronger, &[X, Y]);
        let found: Vec<Term> = found.into_iter().map(|edit| edit.term).collect();
        let expected = [INSIDE.at(Y) & STAMP.at(X).equals(0), INSIDE.at(X) & STAMP.at(Y).equals(0)];
        assert_eq!(found, expected);
    }

    #[test]
    fn replaces_each_process_in_nested_arguments_once() {
        const NEXT: Symbol = Symbol::function("next", &[Sort::Process], Sort::Process);
        let cases = [
            (INSIDE.at(NEXT.at(X)), vec![INSIDE.at(NEXT.at(Y))]),
            (INSIDE.at(NEXT.at(NEXT.at(X))), vec![INSIDE.at(NEXT.at(NEXT.at(Y)))]),
            (NEXT.at(X).equals(X), vec![NEXT.at(X).equals(Y), NEXT.at(Y).equals(X)]),
        ];
        for (term, expected) in cases {
            let found = formula_edits(&term, EditDirection::Stronger, &[X, Y]);
            let found: Vec<Term> = found.into_iter().map(|edit| edit.term).collect();
            assert_eq!(found, expected);
        }
    }
}
