//! Expected results of experiments, and their comparison with observed results.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::formula;

/// Condition that the observed value of a figure must satisfy.
#[derive(Clone, Debug, PartialEq)]
enum Relation {
    Is(Value),
    /// The observed value is in this range, which includes both ends.
    Between(f64, f64),
    /// A text in the observed value, at any depth of its lists and objects, contains these words.
    Mentions(String),
}

/// Two numbers are treated as equal if their difference is smaller than this value.
const TOLERANCE: f64 = 1e-9;

impl Relation {
    fn holds(&self, observed: &Value) -> bool {
        match self {
            Relation::Is(expected) => same(expected, observed),
            Relation::Between(least, most) => observed
                .as_f64()
                .is_some_and(|number| (*least - TOLERANCE..=*most + TOLERANCE).contains(&number)),
            Relation::Mentions(words) => mention(observed, words).is_some(),
        }
    }

    fn expected(&self) -> Value {
        match self {
            Relation::Is(expected) => expected.clone(),
            Relation::Between(least, most) if least.is_infinite() => json!({ "at_most": most }),
            Relation::Between(least, most) if most.is_infinite() => json!({ "at_least": least }),
            Relation::Between(least, most) => json!({ "at_least": least, "at_most": most }),
            Relation::Mentions(words) => json!({ "mentions": words }),
        }
    }
}

/// Length in bytes above which the output does not show an observed text in full. If the text had
/// to contain certain words, the output shows only these words.
const LONG_TEXT: usize = 120;

/// Returns true if two JSON values are equal. Two numbers are equal if they differ by less than
/// [`TOLERANCE`], so the integer 2 equals 2.0.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let difference = one.as_f64().zip(other.as_f64()).map(|(one, other)| one - other);
            difference.is_some_and(|difference| difference.abs() < TOLERANCE)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let like = |(key, value)| other.get(key).is_some_and(|other| same(value, other));
            one.len() == other.len() && one.iter().all(like)
        }
        _ => one == other,
    }
}

fn mention<'a>(observed: &'a Value, words: &str) -> Option<&'a Value> {
    match observed {
        Value::String(text) => text.contains(words).then_some(observed),
        Value::Array(items) => items.iter().find_map(|item| mention(item, words)),
        Value::Object(fields) => fields.values().find_map(|value| mention(value, words)),
        _ => None,
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Expectation {
    pub(crate) name: String,
    /// Command line that produces this figure. `None` if the command line of the experiment
    /// produces it.
    pub(crate) line: Option<String>,
    /// Location of the figure in the data, as a JSON pointer or a formula. `None` for the default
    /// location of the experiment.
    at: Option<String>,
    is: Option<Value>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    mentions: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ExpectationResult {
    pub(crate) name: String,
    pub(crate) expected: Value,
    pub(crate) observed: Value,
    pub(crate) holds: bool,
}

impl Expectation {
    /// Compares a figure in `data` with the expectation. The location of the figure is that of the
    /// expectation, or else `default_location`.
    pub(crate) fn judge(&self, data: &Value, default_location: &str) -> ExpectationResult {
        let mut observed = match self.figure_location_or(default_location) {
            "" => data.clone(),
            pointer if pointer.starts_with('/') => {
                data.pointer(pointer).cloned().unwrap_or_default()
            }
            formula => formula::evaluate_or_error_text(formula, data),
        };
        let relation = self.relation();
        if let Relation::Mentions(words) = &relation {
            observed = match mention(&observed, words) {
                Some(text) if text.as_str().is_some_and(|it| it.len() > LONG_TEXT) => json!(words),
                Some(text) => text.clone(),
                None => Value::Null,
            };
        }
        ExpectationResult {
            name: self.name.clone(),
            expected: relation.expected(),
            holds: relation.holds(&observed),
            observed,
        }
    }

    pub(crate) fn figure_location_or<'a>(&'a self, default_location: &'a str) -> &'a str {
        self.at.as_deref().unwrap_or(default_location)
    }

    fn relation(&self) -> Relation {
        match (&self.is, &self.mentions) {
            (Some(value), _) => Relation::Is(value.clone()),
            (None, Some(words)) => Relation::Mentions(words.clone()),
            (None, None) => Relation::Between(
                self.at_least.unwrap_or(f64::NEG_INFINITY),
                self.at_most.unwrap_or(f64::INFINITY),
            ),
        }
    }

    /// Returns true if the expectation states exactly one relation: a value, words, or a range.
    pub(crate) fn has_one_relation(&self) -> bool {
        let between = self.at_least.is_some() || self.at_most.is_some();
        [self.is.is_some(), self.mentions.is_some(), between].into_iter().filter(|it| *it).count()
            == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(relation: Relation, observed: Value) -> bool {
        relation.holds(&observed)
    }

    #[test]
    fn integers_equal_their_floats() {
        assert!(holds(Relation::Is(json!([2, 3])), json!([2.0, 3])));
        assert!(holds(Relation::Is(json!({"a": 1})), json!({"a": 1.0})));
        assert!(!holds(Relation::Is(json!([2, 3])), json!([3, 2])));
        assert!(!holds(Relation::Is(json!({"a": 1})), json!({"a": 1, "b": 2})));
        assert!(!holds(Relation::Is(json!(0)), Value::Null));
    }

    #[test]
    fn range_includes_its_ends_and_excludes_null() {
        let between = Relation::Between(1.0, 2.0);
        assert!([1.0, 1.5, 2.0].into_iter().all(|it| holds(between.clone(), json!(it))));
        assert!([0.9, 2.1].into_iter().all(|it| !holds(between.clone(), json!(it))));
        assert!(!holds(between, Value::Null));
    }

    #[test]
    fn finds_words_at_any_depth() {
        let mentions = |words: &str| Relation::Mentions(words.to_owned());
        assert!(holds(mentions("two"), json!({"told": ["one", "one two three"]})));
        assert!(!holds(mentions("two"), json!({"told": ["one"], "two": 2})));
    }
}
