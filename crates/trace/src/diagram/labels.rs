//! Labels that show selected fields of messages.

use serde_json::Value;

/// Formats the values of the message fields whose names are in `fields`, separated by commas. Finds
/// a field at any depth, because a message of one protocol may contain a message of another
/// protocol. If the name occurs several times, formats only the first field. Omits names that do
/// not occur.
pub(super) fn format_selected_fields(content: &Value, fields: &[String]) -> String {
    let found = fields.iter().filter_map(|field| find(content, field)).map(short);
    found.collect::<Vec<_>>().join(", ")
}

fn find<'v>(content: &'v Value, field: &str) -> Option<&'v Value> {
    match content {
        Value::Object(fields) => {
            fields.get(field).or_else(|| fields.values().find_map(|inner| find(inner, field)))
        }
        Value::Array(items) => items.iter().find_map(|inner| find(inner, field)),
        _ => None,
    }
}

/// Formats the value of a field in a short form. For example, a timestamp with the clock 7 and the
/// process index 2 becomes `(7, P3)`. A rank, which has a weight and an id, becomes only its id if
/// the weight is 0.
fn short(value: &Value) -> String {
    let number = |field: &str| value.get(field).and_then(Value::as_u64);
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(short).collect::<Vec<_>>().join("."),
        Value::Object(fields) => match (number("clock"), number("process"), number("id")) {
            (Some(clock), Some(process), _) => format!("({clock}, P{})", process + 1),
            (.., Some(id)) if number("weight") == Some(0) => id.to_string(),
            _ => fields.values().map(short).collect::<Vec<_>>().join("."),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_fields_at_any_depth_and_shortens_them() {
        let stamp = json!({"clock": 7, "process": 2});
        let wrapped = json!({"Data": {"number": 4, "item": {"Request": {"stamp": stamp}}}});
        let fields = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(format_selected_fields(&wrapped, &fields(&["stamp"])), "(7, P3)");
        assert_eq!(
            format_selected_fields(&wrapped, &fields(&["number", "stamp", "rank"])),
            "4, (7, P3)"
        );
        assert_eq!(format_selected_fields(&json!("Reply"), &fields(&["stamp"])), "");
        assert_eq!(
            format_selected_fields(&json!({"Probe": {"fence": [1, 2]}}), &fields(&["fence"])),
            "1.2"
        );
        let rank = json!({"Election": {"rank": {"weight": 0, "id": 5}}});
        assert_eq!(format_selected_fields(&rank, &fields(&["rank"])), "5");
    }
}
