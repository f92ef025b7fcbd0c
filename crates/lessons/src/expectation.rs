//! What should come of an experiment.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::formula;

/// What a figure should be.
#[derive(Clone, Debug, PartialEq)]
enum Relation {
    /// This.
    Is(Value),
    /// A number no less than the first and no more than the second.
    Between(f64, f64),
    /// Something in which these words occur.
    Mentions(String),
}

/// Numbers that differ by less than this are the same number.
const SAME: f64 = 1e-9;

impl Relation {
    fn holds(&self, observed: &Value) -> bool {
        match self {
            Relation::Is(expected) => same(expected, observed),
            Relation::Between(least, most) => observed
                .as_f64()
                .is_some_and(|number| (*least - SAME..=*most + SAME).contains(&number)),
            Relation::Mentions(words) => mention(observed, words).is_some(),
        }
    }

    /// What the JSON has as expected.
    fn told(&self) -> Value {
        match self {
            Relation::Is(expected) => expected.clone(),
            Relation::Between(least, most) if least.is_infinite() => json!({ "at_most": most }),
            Relation::Between(least, most) if most.is_infinite() => json!({ "at_least": least }),
            Relation::Between(least, most) => json!({ "at_least": least, "at_most": most }),
            Relation::Mentions(words) => json!({ "mentions": words }),
        }
    }
}

/// Of a text that is longer than this only the words are told that were looked for.
const LONG: usize = 120;

/// Whether two values are alike; 2 and 2.0 are.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let difference = one.as_f64().zip(other.as_f64()).map(|(one, other)| one - other);
            difference.is_some_and(|difference| difference.abs() < SAME)
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

/// The text with these words, wherever it is.
fn mention<'a>(observed: &'a Value, words: &str) -> Option<&'a Value> {
    match observed {
        Value::String(text) => text.contains(words).then_some(observed),
        Value::Array(items) => items.iter().find_map(|item| mention(item, words)),
        Value::Object(fields) => fields.values().find_map(|value| mention(value, words)),
        _ => None,
    }
}

/// A figure, and what it should be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Expectation {
    pub(crate) name: String,
    /// The line that gives this figure, where each figure has a line of its own.
    pub(crate) line: Option<String>,
    /// Where it stands, as a JSON pointer, or a formula of the data.
    at: Option<String>,
    is: Option<Value>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    mentions: Option<String>,
}

/// One expectation, and what was seen.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What it is about.
    pub name: String,
    /// What it should be.
    pub expected: Value,
    /// What it is.
    pub observed: Value,
    /// Whether the one is the other.
    pub holds: bool,
}

impl Expectation {
    /// Looks at the data, where `otherwise` says if it does not say where itself.
    pub(crate) fn judge(&self, data: &Value, otherwise: &str) -> Finding {
        let mut observed = match self.at(otherwise) {
            "" => data.clone(),
            pointer if pointer.starts_with('/') => {
                data.pointer(pointer).cloned().unwrap_or_default()
            }
            formula => formula::observed(formula, data),
        };
        let relation = self.relation();
        if let Relation::Mentions(words) = &relation {
            observed = match mention(&observed, words) {
                Some(text) if text.as_str().is_some_and(|it| it.len() > LONG) => json!(words),
                Some(text) => text.clone(),
                None => Value::Null,
            };
        }
        Finding {
            name: self.name.clone(),
            expected: relation.told(),
            holds: relation.holds(&observed),
            observed,
        }
    }

    /// Where it looks.
    pub(crate) fn at<'a>(&'a self, otherwise: &'a str) -> &'a str {
        self.at.as_deref().unwrap_or(otherwise)
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

    /// Whether it expects one thing: a value, words, or something between ends.
    pub(crate) fn is_one(&self) -> bool {
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
    fn a_number_is_itself_however_it_is_written() {
        assert!(holds(Relation::Is(json!([2, 3])), json!([2.0, 3])));
        assert!(holds(Relation::Is(json!({"a": 1})), json!({"a": 1.0})));
        assert!(!holds(Relation::Is(json!([2, 3])), json!([3, 2])));
        assert!(!holds(Relation::Is(json!({"a": 1})), json!({"a": 1, "b": 2})));
        assert!(!holds(Relation::Is(json!(0)), Value::Null));
    }

    #[test]
    fn ends_belong_to_what_is_between_them_and_nothing_is_not_between() {
        let between = Relation::Between(1.0, 2.0);
        assert!([1.0, 1.5, 2.0].into_iter().all(|it| holds(between.clone(), json!(it))));
        assert!([0.9, 2.1].into_iter().all(|it| !holds(between.clone(), json!(it))));
        assert!(!holds(between, Value::Null));
    }

    #[test]
    fn words_are_found_however_deep_they_are() {
        let says = |words: &str| Relation::Mentions(words.to_owned());
        assert!(holds(says("two"), json!({"told": ["one", "one two three"]})));
        assert!(!holds(says("two"), json!({"told": ["one"], "two": 2})));
    }
}
