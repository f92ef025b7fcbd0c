//! Formulas over parameters, and over the data of an experiment.
//!
//! Formulas are Jinja expressions, such as `n * (n - 1) // 2` or `data.leaders|length`. This module
//! adds two filters that work on the lines of a transcript. `having` selects the lines that contain
//! some words. `field` extracts the value after a field name in a line.

use minijinja::value::Serde;
use minijinja::{Environment, Error, UndefinedBehavior, context};
use serde_json::Value;

use super::file::FormulaParameters;

/// Substitutes parameters in a text. If the text consists of a single formula, returns the value of
/// the formula, which may have any type. Returns an error message if a formula is invalid, or names
/// an unknown parameter.
pub(crate) fn substitute_in_text(text: &str, with: &FormulaParameters) -> Result<Value, String> {
    if !text.contains("{{") && !text.contains("{%") {
        return Ok(text.into());
    }
    let environment = environment(UndefinedBehavior::Strict);
    let with = minijinja::Value::from(Serde(with));
    let alone = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    let made = match alone.filter(|formula| !formula.contains("}}")) {
        Some(formula) => computed(&environment, formula, with),
        None => environment.render_str(text, with).map(Value::from),
    };
    made.map_err(|error| format!("{error} in {text:?}"))
}

/// Returns the value of a formula over the data of an experiment. If the evaluation fails, returns
/// the error message as the value.
pub(crate) fn evaluate_or_error_text(formula: &str, data: &Value) -> Value {
    let environment = environment(UndefinedBehavior::Chainable);
    let with = context! { data => minijinja::Value::from(Serde(data)) };
    computed(&environment, formula, with).unwrap_or_else(|error| error.to_string().into())
}

fn computed(
    environment: &Environment<'_>,
    formula: &str,
    with: minijinja::Value,
) -> Result<Value, Error> {
    let value = environment.compile_expression(formula)?.eval(with)?;
    Ok(serde_json::to_value(value).unwrap_or_default())
}

fn environment(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(undefined);
    environment.add_filter("having", |lines: Vec<String>, words: &str| {
        lines.into_iter().filter(|line| line.contains(words)).collect::<Vec<_>>()
    });
    environment.add_filter("field", |line: &str, name: &str| field(line, name));
    environment
}

/// Returns the text that follows the field `name` in a line of a transcript. The text ends before a
/// closing bracket or the next field. Returns `None` if the line does not have the field.
fn field(line: &str, name: &str) -> Option<String> {
    let (_, rest) = line.split_once(&format!("{name}: "))?;
    let mut open = 0_i32;
    let ends = |letter: char| {
        open += match letter {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        };
        open < 0 || open == 0 && letter == ','
    };
    rest.split(ends).next().map(|value| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn field_value_ends_at_closing_bracket() {
        let line = "P1 is Lock { phase: Waiting { request: (1, P1), awaited: {P3} }, clock: 3 }";
        let cases = [
            ("phase", "Waiting { request: (1, P1), awaited: {P3} }"),
            ("request", "(1, P1)"),
            ("awaited", "{P3}"),
            ("clock", "3"),
        ];
        for (name, value) in cases {
            assert_eq!(field(line, name).as_deref(), Some(value));
        }
        assert_eq!(field(line, "nothing"), None);
    }

    #[test]
    fn evaluates_formulas_of_data_and_shows_errors() {
        let data = json!({ "leaders": [3], "told": ["a", "rank: 5, hops: 2"] });
        assert_eq!(evaluate_or_error_text("data.leaders|length", &data), 1);
        assert_eq!(evaluate_or_error_text("data.told|last|field('rank')", &data), "5");
        assert_eq!(evaluate_or_error_text("data.told|having('hops')|length", &data), 1);
        assert_eq!(evaluate_or_error_text("data.nothing.at_all", &data), Value::Null);
        assert!(
            evaluate_or_error_text("data.leaders|lenth", &data).as_str().unwrap().contains("lenth")
        );
    }
}
