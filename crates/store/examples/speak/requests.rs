//! Requests in the JSON of etcd's gateway, where bytes are in base64 and numbers are strings.

use serde_json::Value;
use tenure_store::{
    Bytes, Compare, CompareRelation, ComparedAttribute, Delete, KeySpan, Put, RangeRead, SortOrder,
    SortTarget, Txn, TxnOperation, WatchFilter,
};

/// Returns the number in the field `field` of the object `of`; 0 if the field is missing.
pub(crate) fn number(of: &Value, field: &str) -> u64 {
    match &of[field] {
        Value::String(text) => text.parse().unwrap_or(0),
        other => other.as_u64().unwrap_or(0),
    }
}

/// Returns the number in the field `field` of the comparison `of`. The number may be negative.
fn signed(of: &Value, field: &str) -> i64 {
    match &of[field] {
        Value::String(text) => text.parse().unwrap_or(0),
        other => other.as_i64().unwrap_or(0),
    }
}

fn flag(of: &Value, field: &str) -> bool {
    of[field].as_bool().unwrap_or(false)
}

fn bytes(of: &Value, field: &str) -> Bytes {
    unbase64(of[field].as_str().unwrap_or_default()).into()
}

fn unbase64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let mut all = Vec::new();
    for four in digits.chunks(4) {
        let shifted = (18i32, 0u32);
        let bits = four
            .iter()
            .fold(shifted, |(shift, bits), digit| (shift - 6, bits | u32::from(*digit) << shift));
        all.extend_from_slice(&bits.1.to_be_bytes()[1..four.len()]);
    }
    all
}

fn span(of: &Value) -> KeySpan {
    KeySpan { key: bytes(of, "key"), end: bytes(of, "range_end") }
}

pub(crate) fn range(of: &Value) -> RangeRead {
    RangeRead {
        span: span(of),
        revision: number(of, "revision"),
        limit: number(of, "limit"),
        order: match of["sort_order"].as_str() {
            Some("ASCEND") => SortOrder::Ascend,
            Some("DESCEND") => SortOrder::Descend,
            _ => SortOrder::None,
        },
        target: match of["sort_target"].as_str() {
            Some("VERSION") => SortTarget::Version,
            Some("CREATE") => SortTarget::Create,
            Some("MOD") => SortTarget::Mod,
            Some("VALUE") => SortTarget::Value,
            _ => SortTarget::Key,
        },
        keys_only: flag(of, "keys_only"),
        count_only: flag(of, "count_only"),
        min_mod_revision: number(of, "min_mod_revision"),
        max_mod_revision: number(of, "max_mod_revision"),
        min_create_revision: number(of, "min_create_revision"),
        max_create_revision: number(of, "max_create_revision"),
    }
}

pub(crate) fn put(of: &Value) -> Put {
    Put {
        key: bytes(of, "key"),
        value: bytes(of, "value"),
        lease: number(of, "lease"),
        prev_kv: flag(of, "prev_kv"),
        ignore_value: flag(of, "ignore_value"),
        ignore_lease: flag(of, "ignore_lease"),
    }
}

pub(crate) fn delete(of: &Value) -> Delete {
    Delete { span: span(of), prev_kv: flag(of, "prev_kv") }
}

pub(crate) fn watch(of: &Value) -> WatchFilter {
    let of = &of["create_request"];
    let (start_revision, prev_kv) = (number(of, "start_revision"), flag(of, "prev_kv"));
    WatchFilter { span: span(of), start_revision, prev_kv, ..WatchFilter::default() }
}

pub(crate) fn txn(of: &Value) -> Txn {
    let each = |field: &str| of[field].as_array().cloned().unwrap_or_default();
    Txn {
        compare: each("compare").iter().map(compare).collect(),
        success: each("success").iter().map(operation).collect(),
        failure: each("failure").iter().map(operation).collect(),
    }
}

fn operation(of: &Value) -> TxnOperation {
    if !of["request_range"].is_null() {
        TxnOperation::Range(range(&of["request_range"]))
    } else if !of["request_put"].is_null() {
        TxnOperation::Put(put(&of["request_put"]))
    } else if !of["request_delete_range"].is_null() {
        TxnOperation::Delete(delete(&of["request_delete_range"]))
    } else {
        TxnOperation::Txn(txn(&of["request_txn"]))
    }
}

fn compare(of: &Value) -> Compare {
    let relation = match of["result"].as_str() {
        Some("GREATER") => CompareRelation::Greater,
        Some("LESS") => CompareRelation::Less,
        Some("NOT_EQUAL") => CompareRelation::NotEqual,
        _ => CompareRelation::Equal,
    };
    let target = match of["target"].as_str() {
        Some("CREATE") => ComparedAttribute::Create(signed(of, "create_revision")),
        Some("MOD") => ComparedAttribute::Mod(signed(of, "mod_revision")),
        Some("VALUE") => ComparedAttribute::Value(bytes(of, "value")),
        Some("LEASE") => ComparedAttribute::Lease(signed(of, "lease")),
        _ => ComparedAttribute::Version(signed(of, "version")),
    };
    Compare { span: span(of), relation, target }
}
