//! Validation of commands, as far as it does not depend on the state of the store.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use crate::command::{Command, Put, Txn, TxnOperation};
use crate::error::Error;
use crate::span::KeySpan;

/// Bound on the size of a transaction, as a multiple of `max_operations`. All branches of the
/// transaction and of its nested transactions are counted together. Operations and comparisons both
/// count.
///
/// Without this bound, nested transactions could have as many operations as fit into a request. The
/// cost would be high, because each operation is compared with all others.
const MAX_NESTED_FACTOR: usize = 8;

impl Command {
    /// Checks the properties of the command that do not depend on the state of the store. A server
    /// checks each command before it proposes the command. The store checks the command again when
    /// it applies the command.
    pub fn validate(&self, max_operations: usize) -> Result<(), Error> {
        match self {
            Command::Put(put) => put.validate(),
            Command::Delete(delete) => check_has_key(&delete.span),
            Command::Txn(txn) => txn.validate(max_operations),
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
    pub fn validate(&self, max_operations: usize) -> Result<(), Error> {
        if self.size() > MAX_NESTED_FACTOR * max_operations {
            return Err(Error::TooManyOperations);
        }
        self.check_sizes(max_operations)?;
        writes(&self.success)?;
        writes(&self.failure).map(drop)
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

    /// Checks that no branch has too many operations, including the branches of nested
    /// transactions.
    fn check_sizes(&self, max_operations: usize) -> Result<(), Error> {
        let size = self.compare.len().max(self.success.len()).max(self.failure.len());
        let left = max_operations.checked_sub(size).ok_or(Error::TooManyOperations)?;
        self.compare.iter().try_for_each(|compare| check_has_key(&compare.span))?;
        let operations = self.success.iter().chain(&self.failure);
        operations.into_iter().try_for_each(|operation| match operation {
            TxnOperation::Range(range) => check_has_key(&range.span),
            TxnOperation::Put(put) => put.validate(),
            TxnOperation::Delete(delete) => check_has_key(&delete.span),
            TxnOperation::Txn(txn) => txn.check_sizes(left),
        })
    }
}

/// Returns an error if the first key of the span is empty.
pub(crate) fn check_has_key(span: &KeySpan) -> Result<(), Error> {
    if span.key.is_empty() { Err(Error::EmptyKey) } else { Ok(()) }
}

/// Writes of a transaction: the keys that are put, and the spans that are deleted.
type Writes<'a> = (BTreeSet<&'a [u8]>, Vec<&'a KeySpan>);

/// Returns the writes of `operations`, including those of nested transactions.
///
/// Returns an error if a key is put twice, or put and deleted, in any order and at any level of
/// nesting. All operations of a transaction share one revision, so a key can have only one change.
/// The two branches of a nested transaction may write the same key, because only one of them runs.
fn writes(operations: &[TxnOperation]) -> Result<Writes<'_>, Error> {
    let contains = |spans: &[&KeySpan], key: &[u8]| spans.iter().any(|span| span.contains(key));
    let (mut written, mut deleted) = Writes::default();
    for operation in operations {
        let (puts, spans) = match operation {
            TxnOperation::Range(_) => continue,
            TxnOperation::Put(put) => (BTreeSet::from([&put.key[..]]), Vec::new()),
            TxnOperation::Delete(delete) => (BTreeSet::new(), vec![&delete.span]),
            TxnOperation::Txn(txn) => {
                let (mut puts, mut spans) = writes(&txn.success)?;
                let (other_puts, other_spans) = writes(&txn.failure)?;
                puts.extend(other_puts);
                spans.extend(other_spans);
                (puts, spans)
            }
        };
        if spans.iter().any(|span| contains_any(span, &written))
            || puts.iter().any(|key| written.contains(key) || contains(&deleted, key))
        {
            return Err(Error::DuplicateKey);
        }
        written.extend(puts);
        deleted.extend(spans);
    }
    Ok((written, deleted))
}

fn contains_any(span: &KeySpan, keys: &BTreeSet<&[u8]>) -> bool {
    span.bounds().is_some_and(|bounds| keys.range::<[u8], _>(bounds).next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Delete;
    use crate::range::Range;

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
        let read = || TxnOperation::Range(Range::of(KeySpan::single("a")));
        let txn = |success| Txn { success, ..Txn::default() };
        let nested = |many, each| txn(vec![TxnOperation::Txn(txn(vec![read(); each])); many]);
        assert_eq!(nested(8, 120).validate(128), Ok(()));
        assert_eq!(nested(8, 121).validate(128), Err(Error::TooManyOperations), "of one branch");
        assert_eq!(nested(9, 119).validate(128), Err(Error::TooManyOperations), "of all branches");
    }
}
