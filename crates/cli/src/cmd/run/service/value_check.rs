//! Checks that no acknowledged value is lost or changed, and that the history of operations is
//! linearizable.
//!
//! Each response contains the revision of its value, so the order of the operations is known. The
//! check compares this order with the times of requests and responses. Therefore, it needs no
//! search for a suitable order.

use std::collections::BTreeMap;

use super::value_record::{PutRecord, ReadRecord, ResponseRecord, ValueDigest};

/// Returns a description of the first violation that the check finds; `None` if there is none.
pub(super) fn find_violation(puts: &[PutRecord], reads: &[&ReadRecord]) -> Option<String> {
    let mut keys: BTreeMap<&str, (Vec<&PutRecord>, Vec<&ReadRecord>)> = BTreeMap::new();
    for put in puts {
        keys.entry(&put.key).or_default().0.push(put);
    }
    for read in reads.iter().copied() {
        keys.entry(&read.key).or_default().1.push(read);
    }
    let of_keys =
        || keys.iter().find_map(|(key, (puts, reads))| find_violation_at(key, puts, reads));
    find_order_violation(puts, reads).or_else(of_keys)
}

/// Checks the order of the acknowledged puts of all keys. Returns a description of a violation;
/// `None` if there is no violation. No two puts may have the same revision. The revision of a put
/// must be higher than every revision that was confirmed or read before the request of the put.
fn find_order_violation(puts: &[PutRecord], reads: &[&ReadRecord]) -> Option<String> {
    let response = || puts.iter().filter_map(|put| Some((put, put.response?)));
    let mut requested: Vec<(&PutRecord, ResponseRecord)> = response().collect();
    requested.sort_by_key(|(put, _)| put.requested);
    let confirmed = response().map(|(_, response)| response);
    let mut before: Vec<ResponseRecord> =
        confirmed.chain(reads.iter().map(|read| read.response)).collect();
    before.sort_by_key(|response| response.at);
    let (mut before, mut highest) = (before.into_iter().peekable(), 0);
    for (put, response) in &requested {
        while let Some(earlier) = before.next_if(|earlier| earlier.at < put.requested) {
            highest = highest.max(earlier.revision);
        }
        if response.revision <= highest {
            let (key, revision) = (&put.key, response.revision);
            return Some(format!(
                "{key} was put in revision {revision}, after {highest} was confirmed"
            ));
        }
    }
    requested.sort_by_key(|(_, response)| response.revision);
    let twice = requested.windows(2).find(|pair| pair[0].1.revision == pair[1].1.revision)?;
    let [one, other] = [&twice[0].0.key, &twice[1].0.key];
    Some(format!("two puts, of {one} and {other}, have revision {}", twice[0].1.revision))
}

/// Checks the reads of one key. Returns a description of a violation; `None` if there is no
/// violation. A read must not return an older revision than one that was confirmed before the
/// request of the read. A value must have been put before, and its revision must be that of the
/// put.
fn find_violation_at(key: &str, puts: &[&PutRecord], reads: &[&ReadRecord]) -> Option<String> {
    // Revisions that puts created or reads returned, in the order of the responses.
    let put = puts.iter().filter_map(|put| put.response);
    let mut known: Vec<ResponseRecord> =
        put.chain(reads.iter().map(|read| read.response)).collect();
    known.sort_by_key(|response| response.at);
    let (mut known, mut latest) = (known.into_iter().peekable(), 0);
    let mut revisions: BTreeMap<u64, ValueDigest> = BTreeMap::new();
    let response = puts.iter().filter_map(|put| Some((put.response?.revision, put.value)));
    revisions.extend(response);
    let mut in_order = reads.to_vec();
    in_order.sort_by_key(|read| read.requested);
    for read in in_order {
        let (by, revision) = (&read.by, read.response.revision);
        while let Some(earlier) = known.next_if(|earlier| earlier.at < read.requested) {
            latest = latest.max(earlier.revision);
        }
        if revision < latest {
            return Some(format!(
                "{by} has {key} at revision {revision}, although {latest} was confirmed before"
            ));
        }
        let Some(value) = read.value else { continue };
        let put = puts.iter().find(|put| put.value == value);
        let Some(put) = put else {
            return Some(format!("{by} has {} bytes at {key} that were never put", value.bytes));
        };
        if read.response.at < put.requested {
            return Some(format!("{by} has {} bytes at {key} before they were put", value.bytes));
        }
        let is_other = put.response.is_some_and(|response| response.revision != revision);
        if is_other || *revisions.entry(revision).or_insert(value) != value {
            return Some(format!(
                "{by} has {} bytes at {key} in revision {revision}, which belong to another \
                 revision",
                value.bytes
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(word: &str, requested: u64, revision: Option<u64>) -> PutRecord {
        let response = revision.map(|revision| ResponseRecord { at: requested + 5, revision });
        PutRecord { key: "a".into(), value: ValueDigest::of(word.as_bytes()), requested, response }
    }

    fn read(word: &str, requested: u64, revision: u64) -> ReadRecord {
        let value = (revision > 0).then(|| ValueDigest::of(word.as_bytes()));
        let response = ResponseRecord { at: requested + 5, revision };
        ReadRecord { key: "a".into(), by: "m1".into(), requested, response, value }
    }

    #[test]
    fn accepts_valid_histories() {
        let puts = [put("one", 10, Some(2)), put("two", 20, None), put("three", 30, Some(5))];
        let found = |reads: &[ReadRecord]| find_violation(&puts, &reads.iter().collect::<Vec<_>>());
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[read("", 1, 0), read("one", 16, 2), read("three", 36, 5)]), None);
        // The put of `two` has no confirmation. Its value may be present at any time after its
        // request.
        assert_eq!(found(&[read("two", 16, 3), read("three", 40, 5)]), None);
        assert_eq!(found(&[read("three", 36, 5), read("two", 50, 7)]), None);
        // Concurrent reads may observe either order.
        assert_eq!(found(&[read("three", 31, 5), read("one", 32, 2)]), None);
    }

    #[test]
    fn finds_lost_and_changed_values() {
        let puts = [put("one", 10, Some(2)), put("two", 20, None), put("three", 30, Some(5))];
        let found = |reads: &[ReadRecord]| {
            find_violation(&puts, &reads.iter().collect::<Vec<_>>()).unwrap_or_default()
        };
        assert!(found(&[read("", 16, 0)]).contains("at revision 0"), "lost");
        assert!(found(&[read("one", 36, 2)]).contains("5 was confirmed"), "gone back");
        assert!(found(&[read("two", 21, 4), read("one", 27, 2)]).contains("4 was confirmed"));
        assert!(found(&[read("thrxe", 36, 5)]).contains("never put"), "changed");
        assert!(found(&[read("three", 24, 3)]).contains("before they were put"));
        assert!(found(&[read("three", 36, 6)]).contains("another revision"), "done twice");
        assert!(found(&[read("two", 30, 5)]).contains("another revision"), "two in one revision");
    }

    #[test]
    fn finds_wrong_revisions() {
        let backwards = [put("one", 10, Some(5)), put("two", 20, Some(4))];
        assert!(find_violation(&backwards, &[]).unwrap().contains("after 5"));
        let later = [put("one", 10, Some(5)), put("two", 40, Some(4))];
        let seen = read("one", 20, 5);
        assert!(find_violation(&later[1..], &[&seen]).unwrap().contains("after 5"), "by a read");
        let same = [put("one", 10, Some(5)), put("two", 12, Some(5))];
        assert!(find_violation(&same, &[]).unwrap().contains("have revision 5"));
        // Concurrent puts may have either order.
        let beside = [put("one", 10, Some(5)), put("two", 12, Some(4))];
        assert_eq!(find_violation(&beside, &[]), None);
    }
}
