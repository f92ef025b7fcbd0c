//! Lesson files: TOML with `{{ … }}` formulas of parameters.
//!
//! A text that consists of a single `{{ formula }}` becomes the value of the formula. In other
//! texts, formulas are inserted. A table with `each` in a list is repeated for each item, which is
//! named `it`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::formula;

/// Parameters by name.
pub(crate) type Parameters = Map<String, Value>;

/// Parses a file that was compiled in.
///
/// # Panics
///
/// Panics if the file is malformed; a test parses all of them.
pub(crate) fn read<T: DeserializeOwned>(name: &str, text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|error| panic!("docs/{name}: {error}"))
}

/// Substitutes parameters in a value.
pub(crate) fn filled(value: &Value, with: &Parameters) -> Result<Value, String> {
    match value {
        Value::String(text) => formula::filled(text, with),
        Value::Array(items) => {
            let parts = items.iter().map(|item| several(item, with));
            Ok(Value::Array(parts.collect::<Result<Vec<_>, _>>()?.concat()))
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| Ok((key.clone(), filled(value, with)?)));
            fields.collect::<Result<_, String>>().map(Value::Object)
        }
        other => Ok(other.clone()),
    }
}

/// Expands an item of a list.
fn several(item: &Value, with: &Parameters) -> Result<Vec<Value>, String> {
    let Some(each) = item.get("each") else { return Ok(vec![filled(item, with)?]) };
    let Value::Array(each) = filled(each, with)? else {
        return Err(format!("`each` is a list, and not {each}"));
    };
    let mut pattern = item.clone();
    pattern.as_object_mut().and_then(|fields| fields.remove("each"));
    let mut inner = with.clone();
    let one = |it: Value| {
        inner.insert("it".to_owned(), it);
        filled(&pattern, &inner)
    };
    each.into_iter().map(one).collect()
}

/// Deserializes prose whose lines are joined.
pub(crate) fn prose<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|text| one_line(&text))
}

/// Joins words by single spaces.
pub(crate) fn one_line(text: &str) -> String {
    text.split([' ', '\n']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(n: u32) -> Parameters {
        Map::from_iter([("n".to_owned(), n.into())])
    }

    #[test]
    fn formulas_become_values_or_parts_of_text() {
        let value =
            json!({ "line": "check central -n {{ n + 1 }}", "is": ["{{ n * n }}", 2, true] });
        let expected = json!({ "line": "check central -n 4", "is": [9, 2, true] });
        assert_eq!(filled(&value, &with(3)), Ok(expected));
    }

    #[test]
    fn table_with_each_is_repeated() {
        let value = json!([{ "each": "{{ range(n) }}", "name": "P{{ it + 1 }}" }, "else"]);
        let expected = json!([{ "name": "P1" }, { "name": "P2" }, "else"]);
        assert_eq!(filled(&value, &with(2)), Ok(expected));
        assert!(filled(&json!([{ "each": 3 }]), &with(2)).is_err());
    }

    #[test]
    fn rejects_invalid_formulas() {
        assert!(filled(&json!("{{ n + }}"), &with(2)).is_err());
        assert!(filled(&json!("{{ nobody + 1 }}"), &with(2)).is_err());
    }
}
