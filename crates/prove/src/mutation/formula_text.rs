//! Formulas in the usual notation, for descriptions of changes.

use crate::logic::term::{Node, Term};
use crate::logic::variable::Variable;

/// Returns a formula in infix notation, such as `stamp(x) < m and not inside(x)`.
pub(super) fn text(term: &Term) -> String {
    match &*term.0 {
        Node::Variable(variable) => variable.to_string(),
        Node::Apply(symbol, arguments) if arguments.is_empty() => symbol.name.to_owned(),
        Node::Apply(symbol, arguments) => format!("{}({})", symbol.name, joined(arguments, ", ")),
        Node::Bool(value) => value.to_string(),
        Node::Int(number) => number.to_string(),
        Node::Real(numerator, 1) => numerator.to_string(),
        Node::Real(numerator, denominator) => format!("{numerator}/{denominator}"),
        Node::Not(inner) => match &*inner.0 {
            Node::Equals(a, b) => infix(a, "≠", b),
            _ => format!("not {}", part(inner)),
        },
        Node::And(parts) => parts.iter().map(part).collect::<Vec<_>>().join(" and "),
        Node::Or(parts) => parts.iter().map(part).collect::<Vec<_>>().join(" or "),
        Node::Implies(a, b) => infix(a, "implies", b),
        Node::Equals(a, b) => infix(a, "=", b),
        Node::Less(a, b) => infix(a, "<", b),
        Node::AtMost(a, b) => infix(a, "≤", b),
        Node::Plus(a, b) => infix(a, "+", b),
        Node::Minus(a, b) => infix(a, "−", b),
        Node::Times(a, b) => infix(a, "·", b),
        Node::If(condition, then, otherwise) => {
            format!("if {} then {} else {}", part(condition), part(then), part(otherwise))
        }
        Node::ForAll(variables, body) => quantified("for all", variables, body),
        Node::Exists(variables, body) => quantified("for some", variables, body),
    }
}

fn joined(terms: &[Term], separator: &str) -> String {
    terms.iter().map(text).collect::<Vec<_>>().join(separator)
}

fn infix(left: &Term, operator: &str, right: &Term) -> String {
    format!("{} {operator} {}", part(left), part(right))
}

fn quantified(quantifier: &str, variables: &[Variable], body: &Term) -> String {
    let variables: Vec<String> = variables.iter().map(ToString::to_string).collect();
    format!("{quantifier} {}: {}", variables.join(", "), text(body))
}

/// Returns an operand of a formula as text. Puts the text in parentheses if the operand itself
/// consists of an operator and its operands.
fn part(term: &Term) -> String {
    match &*term.0 {
        Node::Variable(_) | Node::Apply(..) | Node::Bool(_) | Node::Int(_) | Node::Real(..) => {
            text(term)
        }
        Node::Not(inner) if matches!(&*inner.0, Node::Apply(..)) => text(term),
        _ => format!("({})", text(term)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::sort::Sort;
    use crate::logic::symbol::Symbol;
    use crate::logic::term::{Operations, for_all};

    #[test]
    fn prints_infix_notation() {
        const CLOCK: Symbol = Symbol::function("clock", &[Sort::Process], Sort::Int);
        const INSIDE: Symbol = Symbol::relation("inside", &[Sort::Process]);
        let (p, q) = (Variable::process("p"), Variable::process("q"));
        let formula = for_all([q], q.differs(p).implies(CLOCK.at(p).less(CLOCK.at(q) + 1)));
        assert_eq!(text(&formula), "for all q: (q ≠ p) implies (clock(p) < (clock(q) + 1))");
        assert_eq!(text(&(!INSIDE.at(p) & INSIDE.at(q))), "not inside(p) and inside(q)");
    }
}
