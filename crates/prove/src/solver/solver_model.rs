//! Models that a solver prints, evaluated at concrete arguments.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use num_rational::Ratio;

use crate::solver::sexpr::Sexpr;
use crate::structure::evaluation::rational_operation;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SolverValue {
    Bool(bool),
    Number(Ratio<i128>),
    /// Element of an uninterpreted sort, under the name that the solver gave it.
    Element(String),
}

/// Definition of a function in the model of a solver.
#[derive(Clone, Debug)]
struct Definition {
    parameters: Vec<String>,
    body: Sexpr,
}

/// Model of a satisfiable query.
#[derive(Clone, Debug, Default)]
pub(crate) struct SolverModel {
    definitions: BTreeMap<String, Definition>,
    /// Numbers that occur in the definitions.
    numbers: BTreeSet<Ratio<i128>>,
    /// True if a number in the definitions is too large for its type. `numbers` does not contain
    /// it.
    has_omitted_numbers: bool,
    /// True if a number was too large for its type. The values that depend on it are then unknown.
    has_overflowed: Cell<bool>,
}

type Environment = BTreeMap<String, SolverValue>;

impl SolverModel {
    /// Parses the response of a solver to `(get-model)`. Returns `None` if the text has another
    /// form.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parsed = Sexpr::parse(text)?;
        let mut model = SolverModel::default();
        for part in parsed.list()? {
            let Some([head, name, parameters, _, body]) = part.list() else { continue };
            if head.atom() != Some("define-fun") {
                continue;
            }
            let parameters = parameters.list()?.iter();
            let parameters: Option<Vec<String>> =
                parameters.map(|it| it.list()?.first()?.atom().map(str::to_owned)).collect();
            model.collect_numbers(body);
            let definition = Definition { parameters: parameters?, body: body.clone() };
            model.definitions.insert(name.atom()?.to_owned(), definition);
        }
        // No value depends on the collected numbers yet.
        model.has_omitted_numbers = model.has_overflowed.take();
        Some(model)
    }

    pub(crate) fn numbers(&self) -> &BTreeSet<Ratio<i128>> {
        &self.numbers
    }

    /// Returns true if a number in the definitions is missing in [`SolverModel::numbers`], because
    /// it is too large for its type.
    pub(crate) fn has_omitted_numbers(&self) -> bool {
        self.has_omitted_numbers
    }

    /// Returns true if a number was too large for its type so far. A counterexample that depends on
    /// such a number would be wrong.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.has_overflowed.get()
    }

    /// Records that a number is too large for its type.
    pub(crate) fn note_overflow(&self) {
        self.has_overflowed.set(true);
    }

    /// Returns the value of a symbol at these arguments. `None` if the model does not define the
    /// symbol, or defines it with an unsupported operation, or if a number is too large.
    pub(crate) fn value(&self, symbol: &str, arguments: &[SolverValue]) -> Option<SolverValue> {
        let definition = self.definitions.get(symbol)?;
        let bound = definition.parameters.iter().cloned().zip(arguments.iter().cloned());
        self.evaluate(&definition.body, &bound.collect())
    }

    fn collect_numbers(&mut self, body: &Sexpr) {
        let constant = self.evaluate(body, &Environment::new());
        if let Some(SolverValue::Number(number)) = constant {
            self.numbers.insert(number);
        }
        body.list().into_iter().flatten().for_each(|part| self.collect_numbers(part));
    }

    /// Returns the value of a term, with `values` as the values of its variables. Returns `None` if
    /// the term contains an unsupported operation, or a number that is too large.
    fn evaluate(&self, term: &Sexpr, values: &Environment) -> Option<SolverValue> {
        let parts = match term {
            Sexpr::Atom(name) => return self.atom(name, values),
            Sexpr::List(parts) => parts,
        };
        let (head, arguments) = parts.split_first()?;
        let head = match head {
            Sexpr::Atom(name) => name.as_str(),
            // The qualified name of a function: `(as f Sort)`.
            Sexpr::List(qualified) => qualified.get(1)?.atom()?,
        };
        match head {
            "as" => self.evaluate(arguments.first()?, values),
            "let" => {
                let mut inner = values.clone();
                for binding in arguments.first()?.list()? {
                    let [name, value] = binding.list()? else { return None };
                    inner.insert(name.atom()?.to_owned(), self.evaluate(value, values)?);
                }
                self.evaluate(arguments.get(1)?, &inner)
            }
            "ite" => {
                let [condition, then, otherwise] = arguments else { return None };
                match self.evaluate(condition, values)? {
                    SolverValue::Bool(true) => self.evaluate(then, values),
                    _ => self.evaluate(otherwise, values),
                }
            }
            "and" | "or" => {
                // One operand may decide the result. The operands after it are not evaluated,
                // because they may be unknown here.
                let decisive = SolverValue::Bool(head == "or");
                for part in arguments {
                    if self.evaluate(part, values)? == decisive {
                        return Some(decisive);
                    }
                }
                Some(SolverValue::Bool(head == "and"))
            }
            _ => {
                let evaluated = arguments.iter().map(|it| self.evaluate(it, values));
                let evaluated: Vec<SolverValue> = evaluated.collect::<Option<_>>()?;
                if let Some(numbers) = numbers(&evaluated)
                    && let Some(result) = arithmetic(head, &numbers)
                {
                    if result.is_none() {
                        self.note_overflow();
                    }
                    return result.map(SolverValue::Number);
                }
                operation(head, &evaluated).or_else(|| self.value(head, &evaluated))
            }
        }
    }

    fn atom(&self, name: &str, values: &Environment) -> Option<SolverValue> {
        if let Some(value) = values.get(name) {
            return Some(value.clone());
        }
        match name {
            "true" => return Some(SolverValue::Bool(true)),
            "false" => return Some(SolverValue::Bool(false)),
            _ => {}
        }
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            let number = parse_number(name);
            if number.is_none() {
                self.note_overflow();
            }
            return number.map(SolverValue::Number);
        }
        if self.definitions.contains_key(name) {
            return self.value(name, &[]);
        }
        Some(SolverValue::Element(name.to_owned()))
    }
}

/// Parses a decimal number without a sign. Returns `None` if the number is too large for the type.
fn parse_number(text: &str) -> Option<Ratio<i128>> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = fraction.trim_end_matches('0');
    let scale = 10i128.checked_pow(digits.len().try_into().ok()?)?;
    let numerator: i128 = format!("{whole}{digits}").parse().ok()?;
    Some(Ratio::new(numerator, scale))
}

/// Returns the result of an arithmetic operation. The result is `Some(None)` if it is too large for
/// the type. Returns `None` if `name` is no arithmetic operation on so many numbers, or if a number
/// is divided by 0.
fn arithmetic(name: &str, arguments: &[Ratio<i128>]) -> Option<Option<Ratio<i128>>> {
    let folded = |first: Ratio<i128>, rest: &[Ratio<i128>], operator| {
        rest.iter().try_fold(first, |sum, next| rational_operation(sum, *next, operator))
    };
    Some(match (name, arguments) {
        ("-", [number]) => folded(Ratio::ZERO, &[*number], '-'),
        ("-", [first, second]) => folded(*first, &[*second], '-'),
        ("/", [first, second]) if *second != Ratio::ZERO => {
            let is_safe = *second.numer() != i128::MIN;
            is_safe.then(|| folded(*first, &[second.recip()], '*')).flatten()
        }
        ("to_real", [number]) => Some(*number),
        ("+", numbers) => folded(Ratio::ZERO, numbers, '+'),
        ("*", numbers) => folded(Ratio::ONE, numbers, '*'),
        _ => return None,
    })
}

fn operation(name: &str, arguments: &[SolverValue]) -> Option<SolverValue> {
    use SolverValue::{Bool, Number};
    Some(match (name, arguments) {
        ("not", [Bool(value)]) => Bool(!value),
        ("=>", [Bool(a), Bool(b)]) => Bool(!a || *b),
        ("=", [first, rest @ ..]) => Bool(rest.iter().all(|other| other == first)),
        ("distinct", [a, b]) => Bool(a != b),
        ("<", [Number(a), Number(b)]) => Bool(a < b),
        ("<=", [Number(a), Number(b)]) => Bool(a <= b),
        (">", [Number(a), Number(b)]) => Bool(a > b),
        (">=", [Number(a), Number(b)]) => Bool(a >= b),
        _ => return None,
    })
}

/// Returns the numbers in `values`. `None` if one of the values is no number.
fn numbers(values: &[SolverValue]) -> Option<Vec<Ratio<i128>>> {
    let number = |value: &SolverValue| match value {
        SolverValue::Number(number) => Some(*number),
        SolverValue::Bool(_) | SolverValue::Element(_) => None,
    };
    values.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "(
      (define-fun x () Process Process!val!0)
      (define-fun clock ((x!0 Process)) Int (ite (= x!0 Process!val!1) (- 3) (k!1 x!0)))
      (define-fun k!1 ((x!0 Process)) Int 7)
      (define-fun sent ((x!0 Process) (x!1 Int)) Bool
        (or (and (= x!0 Process!val!1) (= x!1 5)) (not (<= x!1 9))))
      (define-fun half () Real (/ 1.0 2.0))
    )";

    fn element(name: &str) -> SolverValue {
        SolverValue::Element(name.to_owned())
    }

    #[test]
    fn evaluates_functions_of_a_model() {
        let model = SolverModel::parse(TEXT).unwrap();
        let number = |value| Some(SolverValue::Number(Ratio::from_integer(value)));
        assert_eq!(model.value("x", &[]), Some(element("Process!val!0")));
        assert_eq!(model.value("clock", &[element("Process!val!1")]), number(-3));
        assert_eq!(model.value("clock", &[element("Process!val!0")]), number(7));
        let five = SolverValue::Number(Ratio::from_integer(5));
        let sent = |process: &str| model.value("sent", &[element(process), five.clone()]);
        assert_eq!(sent("Process!val!1"), Some(SolverValue::Bool(true)));
        assert_eq!(sent("Process!val!0"), Some(SolverValue::Bool(false)));
        assert_eq!(model.value("half", &[]), Some(SolverValue::Number(Ratio::new(1, 2))));
        assert!(model.numbers().contains(&Ratio::from_integer(-3)));
    }

    #[test]
    fn numbers_that_are_too_large_have_no_value() {
        let largest = i128::MAX;
        for (term, overflows) in [
            (format!("(+ {largest} 0)"), false),
            (format!("(+ {largest} 1)"), true),
            (format!("(- (- {largest}) 1 )"), false),
            (format!("(- (- {largest}) 2)"), true),
            (format!("(- (- (- {largest}) 1))"), true),
            (format!("(* {largest} 2)"), true),
            (format!("(/ 1.0 (/ 1.0 {largest}.0))"), false),
            (format!("(/ {largest}.0 (/ 1.0 2.0))"), true),
            (format!("(/ 1.0 (- (- {largest}.0) 1.0))"), true),
            (format!("{largest}0"), true),
            (format!("0.{}1", "0".repeat(40)), true),
        ] {
            let model = SolverModel::parse(&format!("((define-fun f () Real {term}))")).unwrap();
            assert_eq!(model.value("f", &[]).is_none(), overflows, "{term}");
            assert_eq!(model.has_overflowed(), overflows, "{term}");
        }
    }

    #[test]
    fn large_number_in_unselected_branch_is_no_overflow() {
        let text = format!("((define-fun f () Int (ite true 6 {}0)))", i128::MAX);
        let model = SolverModel::parse(&text).unwrap();
        assert_eq!(model.value("f", &[]), Some(SolverValue::Number(Ratio::from_integer(6))));
        assert!(!model.has_overflowed());
        assert!(model.has_omitted_numbers());
    }

    #[test]
    fn unknown_operations_have_no_value() {
        let model = SolverModel::parse("((define-fun f () Int (mod 5 2)))").unwrap();
        assert_eq!(model.value("f", &[]), None);
    }
}
