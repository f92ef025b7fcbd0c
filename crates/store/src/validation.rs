//! Validation of commands, as far as it does not depend on the state of the store.

use alloc::collections::{BTreeMap, BTreeSet};
use core::ops::Bound;

use crate::claim::is_valid_name;
use crate::command::{Command, Put, Txn, TxnOperation};
use crate::error::Error;
use crate::span::KeySpan;

/// Bound on the size of a transaction, as a multiple of `max_operations`. The size is the number of
/// operations and comparisons in all branches of the transaction and of its nested transactions.
///
/// Without this bound, nested transactions could have as many operations as fit into a request.
const MAX_NESTED_FACTOR: usize = 8;

impl Command {
    /// Checks the properties of the command that do not depend on the state of the store. The store
    /// performs this check when it applies the command. A server may check a transaction earlier
    /// with [`Txn::validate`], before it proposes the command. `max_operations` is
    /// [`StoreLimits::max_operations`](crate::StoreLimits::max_operations).
    ///
    /// # Errors
    ///
    /// [`Error::EmptyKey`], [`Error::ValueProvided`], [`Error::LeaseProvided`],
    /// [`Error::NameTooDeep`], or the errors of [`Txn::validate`].
    pub fn validate(&self, max_operations: usize) -> Result<(), Error> {
        match self {
            Command::Put(put) => put.validate(),
            Command::Delete(delete) => check_first_key_not_empty(&delete.span),
            Command::Txn(txn) => txn.validate(max_operations),
            Command::AcquireLock(it) if !is_valid_name(&it.name) => Err(Error::NameTooDeep),
            _ => Ok(()),
        }
    }
}

impl Put {
    fn validate(&self) -> Result<(), Error> {
        match self {
            put if put.key.is_empty() => Err(Error::EmptyKey),
            put if put.ignore_value && !put.value.is_empty() => Err(Error::ValueProvided),
            put if put.ignore_lease && put.lease != 0 => Err(Error::LeaseProvided),
            _ => Ok(()),
        }
    }
}

impl Txn {
    /// Checks the properties of the transaction that do not depend on the state of the store.
    /// `max_operations` is [`StoreLimits::max_operations`](crate::StoreLimits::max_operations), or
    /// a lower limit of a server. The lengths of the longest lists of a transaction and of all
    /// transactions around it must together not exceed this limit.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyOperations`], [`Error::DuplicateKey`], [`Error::EmptyKey`],
    /// [`Error::ValueProvided`] or [`Error::LeaseProvided`].
    pub fn validate(&self, max_operations: usize) -> Result<(), Error> {
        if self.size() > MAX_NESTED_FACTOR * max_operations {
            return Err(Error::TooManyOperations);
        }
        self.check_sizes(max_operations)?;
        Writes::of(&self.success)?;
        Writes::of(&self.failure).map(drop)
    }

    /// Returns the number of comparisons and operations in all branches, including those of nested
    /// transactions.
    fn size(&self) -> usize {
        let size = |operation: &TxnOperation| match operation {
            TxnOperation::Txn(txn) => 1 + txn.size(),
            TxnOperation::Range(_) | TxnOperation::Put(_) | TxnOperation::Delete(_) => 1,
        };
        self.compare.len() + self.success.iter().chain(&self.failure).map(size).sum::<usize>()
    }

    /// Checks that each nested transaction has few enough operations. The length of a transaction
    /// is that of its longest list: its comparisons, `success` or `failure`. The lengths of a
    /// transaction and of all transactions around it must together not exceed `max_operations`.
    /// Also checks the keys and options of all comparisons and operations.
    fn check_sizes(&self, max_operations: usize) -> Result<(), Error> {
        let size = self.compare.len().max(self.success.len()).max(self.failure.len());
        let left = max_operations.checked_sub(size).ok_or(Error::TooManyOperations)?;
        self.compare.iter().try_for_each(|compare| check_first_key_not_empty(&compare.span))?;
        let operations = self.success.iter().chain(&self.failure);
        operations.into_iter().try_for_each(|operation| match operation {
            TxnOperation::Range(range) => check_first_key_not_empty(&range.span),
            TxnOperation::Put(put) => put.validate(),
            TxnOperation::Delete(delete) => check_first_key_not_empty(&delete.span),
            TxnOperation::Txn(txn) => txn.check_sizes(left),
        })
    }
}

/// Returns an error if the first key of the span is empty.
pub(crate) fn check_first_key_not_empty(span: &KeySpan) -> Result<(), Error> {
    if span.key.is_empty() { Err(Error::EmptyKey) } else { Ok(()) }
}

/// Keys that a transaction writes.
///
/// The cost of a check is almost linear in the number of operations: of two sets of keys, a check
/// looks up the smaller set in the larger set, or moves it there.
#[derive(Debug, Default)]
struct Writes<'a> {
    puts: BTreeSet<&'a [u8]>,
    /// Keys of deletions of a single key.
    deleted_keys: BTreeSet<&'a [u8]>,
    deleted_ranges: KeyRanges<'a>,
}

impl<'a> Writes<'a> {
    /// Returns the writes of `operations`, including those of nested transactions.
    ///
    /// Returns an error if a key is put twice, or put and deleted, in any order and at any level of
    /// nesting. All operations of a transaction share one revision, so a key can have only one
    /// change. The two branches of a nested transaction may write the same key, because only one of
    /// them runs.
    fn of(operations: &'a [TxnOperation]) -> Result<Self, Error> {
        let mut all = Writes::default();
        for operation in operations {
            let mut next = Writes::default();
            match operation {
                TxnOperation::Range(_) => continue,
                TxnOperation::Put(put) => drop(next.puts.insert(&put.key)),
                TxnOperation::Delete(delete) => next.add_deletion(&delete.span),
                TxnOperation::Txn(txn) => {
                    next = Writes::of(&txn.success)?;
                    next.merge(Writes::of(&txn.failure)?);
                }
            }
            if all.conflicts_with(&next) {
                return Err(Error::DuplicateKey);
            }
            all.merge(next);
        }
        Ok(all)
    }

    fn add_deletion(&mut self, span: &'a KeySpan) {
        let Some((_, end)) = span.bounds() else { return };
        match end {
            Bound::Included(key) => drop(self.deleted_keys.insert(key)),
            Bound::Excluded(end) => self.deleted_ranges.insert(&span.key, Some(end)),
            Bound::Unbounded => self.deleted_ranges.insert(&span.key, None),
        }
    }

    fn conflicts_with(&self, other: &Self) -> bool {
        have_common_key(&self.puts, &other.puts)
            || self.deletes_any(&other.puts)
            || other.deletes_any(&self.puts)
    }

    fn deletes_any(&self, keys: &BTreeSet<&[u8]>) -> bool {
        have_common_key(&self.deleted_keys, keys) || self.deleted_ranges.contain_any(keys)
    }

    fn merge(&mut self, other: Self) {
        merge_keys(&mut self.puts, other.puts);
        merge_keys(&mut self.deleted_keys, other.deleted_keys);
        self.deleted_ranges.merge(other.deleted_ranges);
    }
}

fn have_common_key(one: &BTreeSet<&[u8]>, other: &BTreeSet<&[u8]>) -> bool {
    let (small, large) = if one.len() < other.len() { (one, other) } else { (other, one) };
    small.iter().any(|key| large.contains(key))
}

fn merge_keys<'a>(keys: &mut BTreeSet<&'a [u8]>, mut others: BTreeSet<&'a [u8]>) {
    if keys.len() < others.len() {
        core::mem::swap(keys, &mut others);
    }
    keys.extend(others);
}

/// Union of ranges of keys. Ranges that overlap or touch are stored as one range.
#[derive(Debug, Default)]
struct KeyRanges<'a>(
    /// Exclusive end of each range by its first key; `None` if the range has no end.
    BTreeMap<&'a [u8], Option<&'a [u8]>>,
);

impl<'a> KeyRanges<'a> {
    fn insert(&mut self, mut start: &'a [u8], mut end: Option<&'a [u8]>) {
        if let Some((first, last)) = self.last_until(start)
            && last.is_none_or(|last| last >= start)
        {
            (start, end) = (first, later_end(end, last));
        }
        while let Some((first, last)) = self.first_from(start)
            && end.is_none_or(|end| first <= end)
        {
            self.0.remove(first);
            end = later_end(end, last);
        }
        self.0.insert(start, end);
    }

    fn merge(&mut self, mut other: Self) {
        if self.0.len() < other.0.len() {
            core::mem::swap(self, &mut other);
        }
        other.0.into_iter().for_each(|(start, end)| self.insert(start, end));
    }

    fn contain_any(&self, keys: &BTreeSet<&[u8]>) -> bool {
        if keys.len() < self.0.len() {
            return keys.iter().any(|key| self.contains(key));
        }
        self.0.iter().any(|(start, end)| {
            let end = end.map_or(Bound::Unbounded, Bound::Excluded);
            keys.range::<[u8], _>((Bound::Included(*start), end)).next().is_some()
        })
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.last_until(key).is_some_and(|(_, end)| end.is_none_or(|end| key < end))
    }

    /// Returns the last range that begins at or before `key`.
    fn last_until(&self, key: &[u8]) -> Option<(&'a [u8], Option<&'a [u8]>)> {
        let ranges = self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(key)));
        ranges.map(|(start, end)| (*start, *end)).next_back()
    }

    /// Returns the first range that begins at or after `key`.
    fn first_from(&self, key: &[u8]) -> Option<(&'a [u8], Option<&'a [u8]>)> {
        let mut ranges = self.0.range::<[u8], _>((Bound::Included(key), Bound::Unbounded));
        ranges.next().map(|(start, end)| (*start, *end))
    }
}

/// Returns the later of two ends of ranges. `None` means that a range has no end.
fn later_end<'a>(one: Option<&'a [u8]>, other: Option<&'a [u8]>) -> Option<&'a [u8]> {
    Some(one?.max(other?))
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::command::Delete;
    use crate::range::RangeRead;

    #[test]
    fn rejects_duplicate_puts_and_deleted_keys() {
        let put = |key: &str| TxnOperation::Put(Put { key: key.into(), ..Put::default() });
        let delete = |span| TxnOperation::Delete(Delete { span, ..Delete::default() });
        let nested = |success| TxnOperation::Txn(Txn { success, ..Txn::default() });
        let others = || vec![delete(KeySpan::single("b")), delete(KeySpan::prefix("c/"))];
        let check = |failure| Txn { failure, ..Txn::default() }.validate(128);
        let with = |more: Vec<TxnOperation>| check([others(), more].concat());
        for fine in [vec![], vec![put("a")], vec![put("a"), put("d")], vec![nested(vec![put("a")])]]
        {
            assert_eq!(with(fine), Ok(()));
        }
        for twice in [
            vec![put("b")],
            vec![put("c/1")],
            vec![put("a"), put("a")],
            vec![put("a"), put("b")],
            vec![nested(vec![put("c/1")])],
            vec![put("a"), nested(vec![put("a")])],
        ] {
            assert_eq!(with(twice.clone()), Err(Error::DuplicateKey), "{twice:?}");
        }
    }

    #[test]
    fn rejects_put_and_delete_of_one_key_in_either_order() {
        let put = || TxnOperation::Put(Put { key: "k5".into(), ..Put::default() });
        let span = KeySpan { key: "k1".into(), end: "k9".into() };
        let delete = || TxnOperation::Delete(Delete { span: span.clone(), ..Delete::default() });
        let txn = |success, failure| TxnOperation::Txn(Txn { success, failure, ..Txn::default() });
        let deep = |operation| txn(vec![txn(vec![operation], vec![])], vec![]);
        let puts = || [put(), txn(vec![put()], vec![]), txn(vec![], vec![put()]), deep(put())];
        let deletes =
            || [delete(), txn(vec![delete()], vec![]), txn(vec![], vec![delete()]), deep(delete())];
        let check = |success| Txn { success, ..Txn::default() }.validate(128);
        for (put, delete) in puts().iter().flat_map(|put| deletes().map(|it| (put.clone(), it))) {
            for both in [vec![put.clone(), delete.clone()], vec![delete, put]] {
                assert_eq!(check(both.clone()), Err(Error::DuplicateKey), "{both:?}");
                let nested = vec![txn(both.clone(), vec![])];
                assert_eq!(check(nested), Err(Error::DuplicateKey), "nested {both:?}");
            }
        }
        // Only one branch of a nested transaction runs.
        assert_eq!(check(vec![txn(vec![put()], vec![delete()])]), Ok(()));
        assert_eq!(check(vec![txn(vec![delete()], vec![put()])]), Ok(()));
        let other = TxnOperation::Put(Put { key: "k9".into(), ..Put::default() });
        assert_eq!(check(vec![txn(vec![other], vec![]), txn(vec![], vec![delete()])]), Ok(()));
    }

    #[test]
    fn nested_operations_share_one_limit() {
        let read = || TxnOperation::Range(RangeRead::at_current_revision(KeySpan::single("a")));
        let txn = |success| Txn { success, ..Txn::default() };
        let nested = |many, each| txn(vec![TxnOperation::Txn(txn(vec![read(); each])); many]);
        assert_eq!(nested(8, 120).validate(128), Ok(()));
        assert_eq!(nested(8, 121).validate(128), Err(Error::TooManyOperations), "of one branch");
        assert_eq!(nested(9, 119).validate(128), Err(Error::TooManyOperations), "of all branches");
    }

    #[test]
    fn union_of_ranges_contains_the_keys_of_each_range() {
        let keys = ["a", "b", "c", "d", "e"].map(str::as_bytes);
        let ends = [Some(&b"b"[..]), Some(b"c"), Some(b"d"), Some(b"e"), None];
        let pairs = || keys.iter().flat_map(|start| ends.map(|end| (*start, end)));
        let ranges: Vec<_> =
            pairs().filter(|(start, end)| end.is_none_or(|end| *start < end)).collect();
        for first in &ranges {
            for second in &ranges {
                for third in &ranges {
                    let mut union = KeyRanges::default();
                    let all = [first, second, third];
                    all.iter().for_each(|(start, end)| union.insert(start, *end));
                    for key in keys {
                        let is_in = |(start, end): &&(&[u8], Option<&[u8]>)| {
                            *start <= key && end.is_none_or(|end| key < end)
                        };
                        let expected = all.iter().any(is_in);
                        assert_eq!(union.contains(key), expected, "{key:?} in {all:?}");
                        assert_eq!(union.contain_any(&BTreeSet::from([key])), expected);
                    }
                    let (mut ends, mut starts) = (union.0.values(), union.0.keys().skip(1));
                    let is_before = |end: &Option<&[u8]>, start| end.is_some_and(|it| it < start);
                    assert!(starts.all(|start| is_before(ends.next().expect("an end"), *start)));
                }
            }
        }
    }

    /// With a quadratic cost, this test would take many minutes.
    #[test]
    fn many_operations_are_checked_in_almost_linear_time() {
        const MAX: usize = 65_536;
        let key = |number: usize| format!("d{number:06}").into_bytes();
        let delete = |span| TxnOperation::Delete(Delete { span, ..Delete::default() });
        let single = |number| delete(KeySpan::single(key(number)));
        let range =
            |number| delete(KeySpan { key: key(number).into(), end: key(number + 1).into() });
        let put = |number: usize| {
            let key = format!("p{number:06}").into_bytes().into();
            TxnOperation::Put(Put { key, ..Put::default() })
        };
        let nested = |part: usize| {
            let numbers = (0..MAX - 100).map(|number| part * MAX + number);
            let success = match part % 4 {
                0 => numbers.map(single).collect(),
                // Ranges that do not touch each other stay separate.
                1 => numbers.map(|number| range(2 * number)).collect(),
                _ => numbers.map(put).collect(),
            };
            TxnOperation::Txn(Txn { success, ..Txn::default() })
        };
        let largest = Txn { success: (0..8).map(nested).collect(), ..Txn::default() };
        assert_eq!(largest.validate(MAX), Ok(()));
    }
}
