//! Files of lessons: TOML in which a text may have `{{ … }}` of parameters.
//!
//! A text that is nothing but one `{{ formula }}` becomes the value of the formula, and of others
//! the formulas become part. A table in a list that has `each` stands for several: one for each
//! item, which is called `it`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::formula;

/// What parameters are called, and what they are.
pub(crate) type Parameters = Map<String, Value>;

/// Reads a file that was compiled in.
///
/// # Panics
///
/// When the file is broken; a test reads all of them.
pub(crate) fn read<T: DeserializeOwned>(name: &str, text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|error| panic!("docs/{name}: {error}"))
}

/// The same with parameters in their places.
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

/// What an item of a list stands for.
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

/// Prose, which goes on where a line ends.
pub(crate) fn prose<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|text| one_line(&text))
}

/// Words with a space between them.
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
    fn formulas_become_values_and_parts_of_texts() {
        let value =
            json!({ "line": "check central -n {{ n + 1 }}", "is": ["{{ n * n }}", 2, true] });
        let expected = json!({ "line": "check central -n 4", "is": [9, 2, true] });
        assert_eq!(filled(&value, &with(3)), Ok(expected));
    }

    #[test]
    fn a_table_with_each_stands_for_several() {
        let value = json!([{ "each": "{{ range(n) }}", "name": "P{{ it + 1 }}" }, "else"]);
        let expected = json!([{ "name": "P1" }, { "name": "P2" }, "else"]);
        assert_eq!(filled(&value, &with(2)), Ok(expected));
        assert!(filled(&json!([{ "each": 3 }]), &with(2)).is_err());
    }

    #[test]
    fn what_is_no_formula_says_so() {
        assert!(filled(&json!("{{ n + }}"), &with(2)).is_err());
        assert!(filled(&json!("{{ nobody + 1 }}"), &with(2)).is_err());
    }
}
