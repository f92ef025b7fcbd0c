//! Terms in SMT-LIB 2.

use std::fmt::{self, Display};

use crate::logic::symbol::Symbol;
use crate::logic::term::{Node, Term};
use crate::logic::variable::Variable;

impl Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            0 => f.write_str(self.name),
            index => write!(f, "{}!{index}", self.name),
        }
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Node::Variable(variable) => write!(f, "{variable}"),
            Node::Apply(symbol, arguments) if arguments.is_empty() => {
                write!(f, "|{}|", symbol.name)
            }
            Node::Apply(symbol, arguments) => list(f, &format!("|{}|", symbol.name), arguments),
            Node::Bool(value) => write!(f, "{value}"),
            Node::Int(number) => integer(f, *number),
            Node::Real(numerator, denominator) => {
                f.write_str("(/ ")?;
                real(f, *numerator)?;
                write!(f, " {denominator}.0)")
            }
            Node::Not(inner) => list(f, "not", std::slice::from_ref(inner)),
            Node::And(parts) => list(f, "and", parts),
            Node::Or(parts) => list(f, "or", parts),
            Node::Implies(a, b) => write!(f, "(=> {a} {b})"),
            Node::Equals(a, b) => write!(f, "(= {a} {b})"),
            Node::Less(a, b) => write!(f, "(< {a} {b})"),
            Node::AtMost(a, b) => write!(f, "(<= {a} {b})"),
            Node::Plus(a, b) => write!(f, "(+ {a} {b})"),
            Node::Minus(a, b) => write!(f, "(- {a} {b})"),
            Node::Times(a, b) => write!(f, "(* {a} {b})"),
            Node::If(condition, then, otherwise) => {
                write!(f, "(ite {condition} {then} {otherwise})")
            }
            Node::ForAll(variables, body) => quantified(f, "forall", variables, body),
            Node::Exists(variables, body) => quantified(f, "exists", variables, body),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, head: &str, terms: &[Term]) -> fmt::Result {
    write!(f, "({head}")?;
    terms.iter().try_for_each(|term| write!(f, " {term}"))?;
    f.write_str(")")
}

fn integer(f: &mut fmt::Formatter<'_>, number: i64) -> fmt::Result {
    if number < 0 { write!(f, "(- {})", number.unsigned_abs()) } else { write!(f, "{number}") }
}

fn real(f: &mut fmt::Formatter<'_>, number: i64) -> fmt::Result {
    if number < 0 { write!(f, "(- {}.0)", number.unsigned_abs()) } else { write!(f, "{number}.0") }
}

fn quantified(
    f: &mut fmt::Formatter<'_>,
    quantifier: &str,
    variables: &[Variable],
    body: &Term,
) -> fmt::Result {
    write!(f, "({quantifier} (")?;
    for variable in variables {
        write!(f, "({variable} {})", variable.sort.name())?;
    }
    write!(f, ") {body})")
}

pub(crate) fn symbol_declaration(symbol: Symbol) -> String {
    let domain: Vec<&str> = symbol.domain.iter().map(|sort| sort.name()).collect();
    format!("(declare-fun |{}| ({}) {})", symbol.name, domain.join(" "), symbol.range.name())
}

/// Returns the SMT-LIB command that declares a constant in place of `variable`, a parameter of an
/// action.
pub(crate) fn constant_declaration(variable: Variable) -> String {
    format!("(declare-fun {variable} () {})", variable.sort.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::sort::Sort;
    use crate::logic::term::{Operations, for_all};

    #[test]
    fn prints_smt_lib() {
        const CLOCK: Symbol = Symbol::function("clock", &[Sort::Process], Sort::Int);
        let (p, q) = (Variable::process("p"), Variable::process("q"));
        let formula = for_all([p, q], CLOCK.at(p).less(CLOCK.at(q) + -1) & !p.equals(q));
        assert_eq!(
            formula.to_string(),
            "(forall ((p Process)(q Process)) (and (< (|clock| p) (+ (|clock| q) (- 1))) \
             (not (= p q))))"
        );
        assert_eq!(symbol_declaration(CLOCK), "(declare-fun |clock| (Process) Int)");
        assert_eq!(Term::real(-1, 3).to_string(), "(/ (- 1.0) 3.0)");
    }
}
