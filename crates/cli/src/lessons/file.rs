//! Lesson files. They are TOML in which `{{ … }}` contains a formula over parameters.
//!
//! If a text consists of a single `{{ formula }}`, the value of the formula replaces the text. This
//! value may have any type. In all other texts, the value of each formula is inserted as text. A
//! table with the key `each` is expanded to several tables, one per item of the list in `each`. In
//! the formulas of this table, the name `it` denotes the item.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::formula;

pub(crate) type FormulaParameters = Map<String, Value>;

/// Includes the lesson files with these names from a folder. Expands to an array with the path and
/// the text of each file.
macro_rules! lesson_files {
    ($folder:literal: $($name:literal)*) => {
        [$((
            concat!($folder, "/", $name, ".toml"),
            include_str!(concat!("../../", $folder, "/", $name, ".toml")),
        ),)*]
    };
}
pub(super) use lesson_files;

/// Parses a lesson file that was compiled into this program.
///
/// # Panics
///
/// Panics if the file is malformed. A test parses all lesson files.
pub(crate) fn parse_lesson_file<T: DeserializeOwned>(name: &str, text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|error| panic!("docs/{name}: {error}"))
}

pub(crate) fn substitute_in_value(
    value: &Value,
    with: &FormulaParameters,
) -> Result<Value, String> {
    match value {
        Value::String(text) => formula::substitute_in_text(text, with),
        Value::Array(items) => {
            let parts = items.iter().map(|item| several(item, with));
            Ok(Value::Array(parts.collect::<Result<Vec<_>, _>>()?.concat()))
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| Ok((key.clone(), substitute_in_value(value, with)?)));
            fields.collect::<Result<_, String>>().map(Value::Object)
        }
        other => Ok(other.clone()),
    }
}

/// Expands an item of a list. If the item has the key `each`, which contains a list, returns one
/// copy of the item per element of that list. Any other item is returned alone.
fn several(item: &Value, with: &FormulaParameters) -> Result<Vec<Value>, String> {
    let Some(each) = item.get("each") else { return Ok(vec![substitute_in_value(item, with)?]) };
    let Value::Array(each) = substitute_in_value(each, with)? else {
        return Err(format!("`each` is a list, and not {each}"));
    };
    let mut pattern = item.clone();
    pattern.as_object_mut().and_then(|fields| fields.remove("each"));
    let mut inner = with.clone();
    let one = |it: Value| {
        inner.insert("it".to_owned(), it);
        substitute_in_value(&pattern, &inner)
    };
    each.into_iter().map(one).collect()
}

/// Deserializes a text of several lines, and joins the lines by spaces.
pub(crate) fn deserialize_prose<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|text| collapse_whitespace(&text))
}

/// Replaces each sequence of blanks and line feeds in a text by a single blank, and removes those
/// at both ends.
pub(crate) fn collapse_whitespace(text: &str) -> String {
    text.split([' ', '\n']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(n: u32) -> FormulaParameters {
        Map::from_iter([("n".to_owned(), n.into())])
    }

    #[test]
    fn formulas_become_values_or_parts_of_text() {
        let value =
            json!({ "line": "check central -n {{ n + 1 }}", "is": ["{{ n * n }}", 2, true] });
        let expected = json!({ "line": "check central -n 4", "is": [9, 2, true] });
        assert_eq!(substitute_in_value(&value, &with(3)), Ok(expected));
    }

    #[test]
    fn table_with_each_is_repeated() {
        let value = json!([{ "each": "{{ range(n) }}", "name": "P{{ it + 1 }}" }, "else"]);
        let expected = json!([{ "name": "P1" }, { "name": "P2" }, "else"]);
        assert_eq!(substitute_in_value(&value, &with(2)), Ok(expected));
        assert!(substitute_in_value(&json!([{ "each": 3 }]), &with(2)).is_err());
    }

    #[test]
    fn rejects_invalid_formulas() {
        assert!(substitute_in_value(&json!("{{ n + }}"), &with(2)).is_err());
        assert!(substitute_in_value(&json!("{{ nobody + 1 }}"), &with(2)).is_err());
    }
}
