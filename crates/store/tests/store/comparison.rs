//! Comparisons of a transaction, evaluated on the keys of the model.

use tenure_store::{Compare, CompareRelation, ComparedAttribute, KeyValue};

use super::model::Keys;

/// Returns true if the comparison holds for every key of the span. If the span contains no key, a
/// comparison of values does not hold, and any other comparison uses the number 0.
pub(crate) fn holds(keys: &Keys, Compare { span, relation, target }: &Compare) -> bool {
    let found: Vec<&KeyValue> = keys.values().filter(|kv| span.contains(&kv.key)).collect();
    let nothing = KeyValue::default();
    let found = match (found.is_empty(), target) {
        (true, ComparedAttribute::Value(_)) => return false,
        (true, _) => vec![&nothing],
        _ => found,
    };
    found.iter().all(|kv| {
        let order = match target {
            ComparedAttribute::Version(number) => kv.version.cast_signed().cmp(number),
            ComparedAttribute::Create(number) => kv.create_revision.cast_signed().cmp(number),
            ComparedAttribute::Mod(number) => kv.mod_revision.cast_signed().cmp(number),
            ComparedAttribute::Lease(number) => kv.lease.cast_signed().cmp(number),
            ComparedAttribute::Value(value) => kv.value.cmp(value),
        };
        match relation {
            CompareRelation::Equal => order.is_eq(),
            CompareRelation::NotEqual => order.is_ne(),
            CompareRelation::Greater => order.is_gt(),
            CompareRelation::Less => order.is_lt(),
        }
    })
}
