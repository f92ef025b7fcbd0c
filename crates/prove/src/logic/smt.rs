//! Terms in SMT-LIB 2.

use std::fmt::{self, Display};

use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermNode};
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
            TermNode::Variable(variable) => write!(f, "{variable}"),
            TermNode::Apply(symbol, arguments) if arguments.is_empty() => {
                write!(f, "|{}|", symbol.name)
            }
            TermNode::Apply(symbol, arguments) => list(f, &format!("|{}|", symbol.name), arguments),
            TermNode::Bool(value) => write!(f, "{value}"),
            TermNode::Int(number) => integer(f, *number),
            TermNode::Real(numerator, denominator) => {
                f.write_str("(/ ")?;
                real(f, *numerator)?;
                write!(f, " {denominator}.0)")
            }
            TermNode::Not(inner) => list(f, "not", std::slice::from_ref(inner)),
            TermNode::And(parts) => list(f, "and", parts),
            TermNode::Or(parts) => list(f, "or", parts),
            TermNode::Implies(a, b) => write!(f, "(=> {a} {b})"),
            TermNode::Equals(a, b) => write!(f, "(= {a} {b})"),
            TermNode::Less(a, b) => write!(f, "(< {a} {b})"),
            TermNode::AtMost(a, b) => write!(f, "(<= {a} {b})"),
            TermNode::Plus(a, b) => write!(f, "(+ {a} {b})"),
            TermNode::Minus(a, b) => write!(f, "(- {a} {b})"),
            TermNode::Times(a, b) => write!(f, "(* {a} {b})"),
            TermNode::If(condition, then, otherwise) => {
                write!(f, "(ite {condition} {then} {otherwise})")
            }
            TermNode::ForAll(variables, body) => quantified(f, "forall", variables, body),
            TermNode::Exists(variables, body) => quantified(f, "exists", variables, body),
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
        write!(f, "({variable} {})", variable.sort.smt_name())?;
    }
    write!(f, ") {body})")
}

/// Returns the SMT-LIB command that declares `symbol`.
pub(crate) fn symbol_declaration(symbol: Symbol) -> String {
    let domain: Vec<&str> = symbol.domain.iter().map(|sort| sort.smt_name()).collect();
    format!("(declare-fun |{}| ({}) {})", symbol.name, domain.join(" "), symbol.range.smt_name())
}

/// Returns the SMT-LIB command that declares `variable` as a constant. The variable is free in the
/// formulas of the query.
pub(crate) fn constant_declaration(variable: Variable) -> String {
    format!("(declare-fun {variable} () {})", variable.sort.smt_name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::sort::Sort;
    use crate::logic::term::{TermOperations, for_all};

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
