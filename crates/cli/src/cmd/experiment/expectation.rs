//! What should come of an experiment.

use serde_json::{Value, json};

use super::Finding;

/// Where in the data a figure is.
pub(crate) enum Observable {
    /// Where it stands, as a JSON pointer; empty for all of it.
    At(String),
    /// How it is found.
    Found(Box<dyn Fn(&Value) -> Value>),
}

impl Observable {
    /// Looks at the data with a function.
    pub(crate) fn found<V: Into<Value>>(find: impl Fn(&Value) -> V + 'static) -> Self {
        Observable::Found(Box::new(move |data| find(data).into()))
    }

    pub(super) fn is(&self, pointer: &str) -> bool {
        matches!(self, Observable::At(at) if at == pointer)
    }

    fn of(&self, data: &Value) -> Value {
        match self {
            Observable::At(pointer) => data.pointer(pointer).cloned().unwrap_or_default(),
            Observable::Found(find) => find(data),
        }
    }
}

impl From<&str> for Observable {
    fn from(pointer: &str) -> Self {
        Observable::At(pointer.to_owned())
    }
}

impl From<String> for Observable {
    fn from(pointer: String) -> Self {
        Observable::At(pointer)
    }
}

/// What a figure should be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Relation {
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
pub(super) struct Expectation {
    pub(super) name: String,
    pub(super) at: Observable,
    pub(super) relation: Relation,
}

impl Expectation {
    pub(super) fn judge(&self, data: &Value) -> Finding {
        let mut observed = self.at.of(data);
        if let Relation::Mentions(words) = &self.relation {
            observed = match mention(&observed, words) {
                Some(text) if text.as_str().is_some_and(|it| it.len() > LONG) => json!(words),
                Some(text) => text.clone(),
                None => Value::Null,
            };
        }
        Finding {
            name: self.name.clone(),
            expected: self.relation.told(),
            holds: self.relation.holds(&observed),
            observed,
        }
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
