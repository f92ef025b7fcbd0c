//! Formulas in the usual notation, for descriptions of changes.

use crate::logic::term::{Term, TermNode};
use crate::logic::variable::Variable;

/// Returns a formula in infix notation, such as `(stamp(x) < m) and not inside(x)`.
pub(super) fn infix_text(term: &Term) -> String {
    match &*term.0 {
        TermNode::Variable(variable) => variable.to_string(),
        TermNode::Apply(symbol, arguments) if arguments.is_empty() => symbol.name.to_owned(),
        TermNode::Apply(symbol, arguments) => {
            format!("{}({})", symbol.name, joined(arguments, ", "))
        }
        TermNode::Bool(value) => value.to_string(),
        TermNode::Int(number) => number.to_string(),
        TermNode::Real(numerator, 1) => numerator.to_string(),
        TermNode::Real(numerator, denominator) => format!("{numerator}/{denominator}"),
        TermNode::Not(inner) => match &*inner.0 {
            TermNode::Equals(a, b) => infix(a, "≠", b),
            _ => format!("not {}", part(inner)),
        },
        TermNode::And(parts) => parts.iter().map(part).collect::<Vec<_>>().join(" and "),
        TermNode::Or(parts) => parts.iter().map(part).collect::<Vec<_>>().join(" or "),
        TermNode::Implies(a, b) => infix(a, "implies", b),
        TermNode::Equals(a, b) => infix(a, "=", b),
        TermNode::Less(a, b) => infix(a, "<", b),
        TermNode::AtMost(a, b) => infix(a, "≤", b),
        TermNode::Plus(a, b) => infix(a, "+", b),
        TermNode::Minus(a, b) => infix(a, "−", b),
        TermNode::Times(a, b) => infix(a, "·", b),
        TermNode::If(condition, then, otherwise) => {
            format!("if {} then {} else {}", part(condition), part(then), part(otherwise))
        }
        TermNode::ForAll(variables, body) => quantified("for all", variables, body),
        TermNode::Exists(variables, body) => quantified("for some", variables, body),
    }
}

fn joined(terms: &[Term], separator: &str) -> String {
    terms.iter().map(infix_text).collect::<Vec<_>>().join(separator)
}

fn infix(left: &Term, operator: &str, right: &Term) -> String {
    format!("{} {operator} {}", part(left), part(right))
}

fn quantified(quantifier: &str, variables: &[Variable], body: &Term) -> String {
    let variables: Vec<String> = variables.iter().map(ToString::to_string).collect();
    format!("{quantifier} {}: {}", variables.join(", "), infix_text(body))
}

/// Returns an operand of a formula as text. Puts the text in parentheses if the operand itself
/// consists of an operator and its operands.
fn part(term: &Term) -> String {
    match &*term.0 {
        TermNode::Variable(_)
        | TermNode::Apply(..)
        | TermNode::Bool(_)
        | TermNode::Int(_)
        | TermNode::Real(..) => infix_text(term),
        TermNode::Not(inner) if matches!(&*inner.0, TermNode::Apply(..)) => infix_text(term),
        _ => format!("({})", infix_text(term)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::sort::Sort;
    use crate::logic::symbol::Symbol;
    use crate::logic::term::{TermOperations, for_all};

    #[test]
    fn prints_infix_notation() {
        const CLOCK: Symbol = Symbol::function("clock", &[Sort::Process], Sort::Int);
        const INSIDE: Symbol = Symbol::relation("inside", &[Sort::Process]);
        let (p, q) = (Variable::process("p"), Variable::process("q"));
        let formula = for_all([q], q.differs(p).implies(CLOCK.at(p).less(CLOCK.at(q) + 1)));
        assert_eq!(infix_text(&formula), "for all q: (q ≠ p) implies (clock(p) < (clock(q) + 1))");
        assert_eq!(infix_text(&(!INSIDE.at(p) & INSIDE.at(q))), "not inside(p) and inside(q)");
    }
}
