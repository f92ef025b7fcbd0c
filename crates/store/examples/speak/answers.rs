//! Responses in the JSON of etcd's gateway, which omits zeros and empty values.

use serde_json::{Map, Value, json};
use tenure_store::{
    CommandResult, DeleteResult, Event, EventKind, KeyValue, RangeResult, Store,
    TxnOperationResult, TxnResult, WatchFilter,
};

/// Adds a header with `revision` to the response `answer`, and returns the response.
pub(crate) fn with_header(revision: u64, mut answer: Value) -> Value {
    answer["header"] = json!({ "revision": revision.to_string() });
    answer
}

fn object(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let is_there = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty() && text != "0",
        Value::Array(list) => !list.is_empty(),
        _ => true,
    };
    let fields = fields.into_iter().filter(|(_, value)| is_there(value));
    Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

fn number(number: u64) -> Value {
    Value::String(number.to_string())
}

fn base64(bytes: &[u8]) -> Value {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let mut bits = [0; 4];
        bits[1..=three.len()].copy_from_slice(three);
        let bits = u32::from_be_bytes(bits);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    Value::String(text)
}

fn key_value(kv: &KeyValue) -> Value {
    object([
        ("key", base64(&kv.key)),
        ("create_revision", number(kv.create_revision)),
        ("mod_revision", number(kv.mod_revision)),
        ("version", number(kv.version)),
        ("value", base64(&kv.value)),
        ("lease", number(kv.lease)),
    ])
}

pub(crate) fn found(found: &RangeResult) -> Value {
    let kvs = found.kvs.iter().map(|kv| key_value(kv)).collect();
    object([("kvs", kvs), ("more", found.more.into()), ("count", number(found.count))])
}

fn deleted(deleted: &DeleteResult) -> Value {
    let prev = deleted.prev.iter().map(|kv| key_value(kv)).collect();
    object([("deleted", number(deleted.count)), ("prev_kvs", prev)])
}

fn txn_result(txn_result: &TxnResult) -> Value {
    let reply = |reply: &TxnOperationResult| match reply {
        TxnOperationResult::Range(range) => {
            json!({ "response_range": with_header(range.revision, found(range)) })
        }
        TxnOperationResult::Put(put) => {
            let prev = put.prev.as_ref().map_or(Value::Null, |kv| key_value(kv));
            json!({ "response_put": with_header(put.revision, object([("prev_kv", prev)])) })
        }
        TxnOperationResult::Delete(delete) => {
            json!({ "response_delete_range": with_header(delete.revision, deleted(delete)) })
        }
        // etcd sends no header for nested transactions.
        TxnOperationResult::Txn(txn) => json!({ "response_txn": self::txn_result(txn) }),
    };
    let replies = txn_result.results.iter().map(reply).collect();
    object([("succeeded", txn_result.succeeded.into()), ("responses", replies)])
}

/// Returns the JSON form of the result of a command, without the header of the response.
pub(crate) fn result_without_header(result: &CommandResult) -> Value {
    match result {
        CommandResult::Put(put) => {
            object([("prev_kv", put.prev.as_ref().map_or(Value::Null, |kv| key_value(kv)))])
        }
        CommandResult::Delete(delete) => deleted(delete),
        CommandResult::Txn(txn) => txn_result(&txn.clone().finish()),
        CommandResult::Granted { lease, ttl } => {
            object([("ID", number(*lease)), ("TTL", number(*ttl))])
        }
        _ => object([]),
    }
}

pub(crate) fn lease(store: &Store, lease: u64) -> Value {
    let known = store.lease(lease);
    let keys = known.map(|lease| lease.keys.iter().map(|key| base64(key)).collect());
    let granted = known.map_or(Value::Null, |lease| number(lease.ttl));
    let fields =
        [("ID", number(lease)), ("grantedTTL", granted), ("keys", keys.unwrap_or(Value::Null))];
    with_header(store.revision(), object(fields))
}

pub(crate) fn leases(store: &Store) -> Value {
    let leases = store.leases().map(|(lease, _)| json!({ "ID": number(lease) })).collect();
    with_header(store.revision(), object([("leases", leases)]))
}

fn event(event: &Event) -> Value {
    let kind = if event.kind == EventKind::Delete { "DELETE".into() } else { Value::Null };
    let prev = event.prev.as_ref().map_or(Value::Null, |kv| key_value(kv));
    object([("type", kind), ("kv", key_value(&event.kv)), ("prev_kv", prev)])
}

/// Returns the past events that match a watch, as JSON.
pub(crate) fn past_events(store: &Store, watch: &WatchFilter) -> Value {
    match store.past_events(watch, watch.start_revision, usize::MAX) {
        Ok(past) => object([("events", past.events.iter().map(event).collect())]),
        Err(compacted) => json!({ "compact_revision": number(compacted.oldest_revision) }),
    }
}
